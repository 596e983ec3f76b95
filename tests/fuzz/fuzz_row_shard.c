/*
 * Fuzz target: shards of rows of embeddings. The first byte decides whether checksums are put right, so that what
 * stands behind them is reached. What is read into a store of the same shape has distinct keys in their order. Seeds:
 * tests/fuzz/make_seeds DIR.
 */
#include "embed/rows/row_shard.h"
#include "embed/rows/row_shard_layout.h"
#include "fuzz/fuzz_support.h"

enum { STATED_LIMIT = 96 << 20 };

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
    (void)argc;
    (void)argv;
    log_set_level(LOG_QUIET);
    return 0;
}

/* Checksums of the blocks of a section from `at` on; returns where it ends, or `size`. */
static size_t repair_blocks(uint8_t *data, size_t size, size_t at, int64_t n, int64_t record_bytes, uint64_t *number)
{
    for (int64_t done = 0; done < n && size - at >= sizeof(shard_block);) {
        const int64_t records = smaller(n - done, shard_block_records(record_bytes));
        const size_t bytes = (size_t)(records * record_bytes), begin = at + sizeof(shard_block);
        if (size - begin < bytes) {
            return size;
        }
        const uint64_t checksum = file_checksum(data + begin, bytes, (*number)++);
        memcpy(data + at + offsetof(shard_block, checksum), &checksum, sizeof checksum);
        at = begin + bytes;
        done += records;
    }
    return at;
}

static void repair(uint8_t *data, size_t size)
{
    shard_header header;
    uint64_t number = 0;
    if (size < sizeof header) {
        return;
    }
    memcpy(&header, data, sizeof header);
    header.checksum = file_checksum(data, offsetof(shard_header, checksum), 0);
    memcpy(data, &header, sizeof header);
    const size_t head = (size_t)shard_head_bytes(header.version);
    if (size < head) {
        return;
    }
    if (head > sizeof header) {
        const uint64_t checksum = file_checksum(data + sizeof header, offsetof(shard_room, checksum), 0);
        memcpy(data + head - sizeof checksum, &checksum, sizeof checksum);
    }
    if (header.width < 0 || header.width > ROW_STRIDE_MOST || header.state < 0 || header.state > 3 * ROW_STRIDE_MOST) {
        return;
    }
    const int64_t row_bytes = shard_row_bytes((int64_t)header.width + (header.linear != 0), header.state);
    const size_t at = repair_blocks(data, size, head, header.rows, row_bytes, &number);
    (void)repair_blocks(data, size, at, header.waiting, SHARD_WAITING_BYTES, &number);
}

typedef struct visit {
    int64_t rows;
    uint64_t last;
} visit;

static weft_status see(const uint64_t *key, const float *number, int64_t rows, void *context)
{
    visit *v = context;
    (void)number;
    for (int64_t i = 0; i < rows; i++) {
        if (v->rows > 0 && key[i] <= v->last) {
            abort();
        }
        v->last = key[i];
        v->rows++;
    }
    return WEFT_OK;
}

static void read_file(const char *path)
{
    row_shard_facts facts;
    row_store *store = NULL;
    visit v = {0};
    const weft_status seen = row_shard_visit(path, see, &v);
    if (row_shard_look(path, &facts) != WEFT_OK) {
        if (seen == WEFT_OK) {
            abort();
        }
        return;
    }
    const embed_desc desc = {.fields = 1,
                             .width = facts.width,
                             .linear = facts.linear,
                             .rule = facts.rule,
                             .number = facts.rows % 2 != 0 ? EMBED_BF16 : EMBED_F32,
                             .memory_most = facts.rows % 3 != 0 ? 8 << 20 : 0,
                             .expire_after = 3};
    bool taken = false;
    if (row_store_open(&desc, &store) == WEFT_OK && row_shard_take_room(path, store, &taken) == WEFT_OK &&
        row_shard_read(path, 0, NULL, NULL, store) == WEFT_OK) {
        const row_figures figures = row_store_figures(store);
        if (seen != WEFT_OK || figures.rows != v.rows || figures.waiting != facts.waiting) {
            abort();
        }
        (void)row_store_expire(store);
    }
    row_store_close(store);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size == 0) {
        return 0;
    }
    uint8_t *copy = malloc(size);
    if (copy == NULL) {
        abort();
    }
    memcpy(copy, data + 1, size - 1);
    if (data[0] % 4 != 0) {
        repair(copy, size - 1);
    }
    fuzz_file file = fuzz_file_make(copy, size - 1);
    read_file(file.path);
    close(file.fd);
    free(copy);
    fuzz_check_memory(STATED_LIMIT);
    return 0;
}
