/* embed/rows/row_shard_write.c: writes the rows of a store in the order of keys. */
#include <stddef.h>
#include <string.h>

#include "base/file.h"
#include "embed/pool/key_sort.h"
#include "embed/rows/row_shard.h"
#include "embed/rows/row_shard_layout.h"
#include "embed/rows/row_store_state.h"

typedef struct shard_writer {
    const row_store *store;
    file_writer file;
    char *block;
    uint64_t number; /* of the next block */
} shard_writer;

key_pair *shard_sorted_keys(const row_store *store, key_pair *pair, int64_t rows, int64_t keys)
{
    int64_t next[2] = {0, rows};
    for (int s = 0; s < ROW_STRIPES; ++s) {
        for (int64_t i = 0; i < store->index.stripe[s].capacity; ++i) {
            const row_slot *slot = &store->index.stripe[s].slot[i];
            if (slot->mark != 0) {
                const int waits = row_what(slot) >= ROW_WAITING;
                pair[next[waits]++] = (key_pair){.key = slot->key, .value = (int64_t)slot->mark};
            }
        }
    }
    key_pair *other = pair + keys;
    const key_pair *sorted = key_sort(pair, other, rows);
    if (sorted != pair && rows > 0) {
        memcpy(pair, sorted, (size_t)rows * sizeof *pair);
    }
    sorted = key_sort(pair + rows, other + rows, keys - rows);
    if (sorted != pair + rows && keys > rows) {
        memcpy(pair + rows, sorted, (size_t)(keys - rows) * sizeof *pair);
    }
    return pair;
}

shard_record shard_record_of(const row_store *store, const key_pair *pair)
{
    const row_slot slot = {.key = pair->key, .mark = (uint64_t)pair->value};
    return (shard_record){.key = slot.key, .seen = store->batch - row_age(&slot, store->batch)};
}

/* Numbers of a row as float32. */
static void put_numbers(const row_store *store, int64_t row, char *to)
{
    const int64_t stride = store->rule.stride;
    const void *from = row_at(&store->slabs, ROW_NUMBERS, row);
    if (store->rule.number == EMBED_F32) {
        memcpy(to, from, (size_t)stride * sizeof(float));
        return;
    }
    const uint16_t *upper = from, *lower = row_at(&store->slabs, ROW_LOWER, row);
    for (int64_t j = 0; j < stride; ++j) {
        const float value = row_join(upper[j], lower[j]);
        memcpy(to + j * (int64_t)sizeof value, &value, sizeof value);
    }
}

void shard_put_row(const row_store *store, const key_pair *pair, char *to)
{
    const shard_record record = shard_record_of(store, pair);
    const int64_t row = (int64_t)((uint64_t)pair->value >> ROW_STAMP_BITS) - 1;
    const int64_t state = store->slabs.row_bytes[ROW_STATE];
    memcpy(to, &record, sizeof record);
    put_numbers(store, row, to + sizeof record);
    if (state > 0) {
        memcpy(to + sizeof record + 4 * (size_t)store->rule.stride, row_at(&store->slabs, ROW_STATE, row),
               (size_t)state);
    }
}

static void put_waiting(const row_store *store, const key_pair *pair, char *to)
{
    const shard_record record = shard_record_of(store, pair);
    const uint64_t count = ((uint64_t)pair->value >> ROW_STAMP_BITS) - ROW_WAITING;
    memcpy(to, &record, sizeof record);
    memcpy(to + sizeof record, &count, sizeof count);
}

/* One section: `put` makes a record of each pair. */
static weft_status write_section(shard_writer *w, const key_pair *pair, int64_t n, int64_t record_bytes,
                                 void (*put)(const row_store *store, const key_pair *pair, char *to))
{
    const int64_t most = shard_block_records(record_bytes);
    for (int64_t first = 0; first < n; first += most) {
        const int64_t records = smaller(most, n - first);
        const size_t bytes = (size_t)(records * record_bytes);
#pragma omp parallel for schedule(static) num_threads(row_threads(records))
        for (int64_t i = 0; i < records; ++i) {
            put(w->store, &pair[first + i], w->block + i * record_bytes);
        }
        const shard_block head = {.records = records, .checksum = file_checksum(w->block, bytes, w->number++)};
        WEFT_TRY(file_write(&w->file, &head, sizeof head));
        WEFT_TRY(file_write(&w->file, w->block, bytes));
    }
    return WEFT_OK;
}

static shard_header header_of(const row_store *store, uint64_t mark)
{
    shard_header header = {.magic = SHARD_MAGIC,
                           .version = SHARD_VERSION,
                           .width = store->rule.width,
                           .linear = store->desc.linear,
                           .rule = (int32_t)store->rule.rule,
                           .state = (int32_t)(store->slabs.row_bytes[ROW_STATE] / 4),
                           .rows = store->slabs.rows,
                           .waiting = store->waiting,
                           .batches = store->batch,
                           .mark = mark};
    header.checksum = file_checksum(&header, offsetof(shard_header, checksum), 0);
    return header;
}

weft_status row_shard_write(const row_store *store, uint64_t mark, const char *path)
{
    const shard_header header = header_of(store, mark);
    const int64_t row_bytes = shard_row_bytes(store->rule.stride, header.state);
    const int64_t keys = header.rows + header.waiting;
    const int64_t block = larger(shard_block_records(row_bytes) * row_bytes, SHARD_BLOCK_MOST * SHARD_WAITING_BYTES);
    shard_writer w = {.store = store};
    key_pair *pair = NULL;
    weft_status status = WEFT_OK;
    WEFT_TRY(file_writer_open(path, &w.file));
    WEFT_TRY_GOTO(WEFT_NEW(&pair, 2 * keys, WEFT_MEM_WORKSPACE), status, done);
    WEFT_TRY_GOTO(WEFT_NEW(&w.block, block, WEFT_MEM_WORKSPACE), status, done);
    WEFT_TRY_GOTO(file_write(&w.file, &header, sizeof header), status, done);
    if (keys > 0) {
        const key_pair *sorted = shard_sorted_keys(store, pair, header.rows, keys);
        WEFT_TRY_GOTO(write_section(&w, sorted, header.rows, row_bytes, shard_put_row), status, done);
        WEFT_TRY_GOTO(write_section(&w, sorted + header.rows, header.waiting, SHARD_WAITING_BYTES, put_waiting), status,
                      done);
    }
    status = file_writer_commit(&w.file);
done:
    file_writer_discard(&w.file);
    WEFT_FREE_ALL(pair, w.block);
    return status;
}
