/* embed/rows/row_shard_write.c: writes the rows of a store in the order of keys. */
#include <stddef.h>
#include <string.h>

#include "base/file.h"
#include "embed/pool/key_sort.h"
#include "embed/rows/row_shard.h"
#include "embed/rows/row_shard_layout.h"
#include "embed/rows/row_store_state.h"

/* Keys are sorted a part at a time, by ranges of their numbers: a pass over the index for each part. */
enum { RANGE_BITS = 16, RANGES = 1 << RANGE_BITS, PARTS = 16, PART_LEAST = 1 << 18 };

typedef struct shard_writer {
    const row_store *store;
    file_writer file;
    char *block;
    uint64_t number; /* of the next block */
    int64_t *range;  /* [RANGES] keys of each, of the section that is written */
    key_pair *pair;  /* [2 * room] */
    int64_t room;
} shard_writer;

static int range_of(uint64_t key)
{
    return (int)(key >> (64 - RANGE_BITS));
}

/* pair [n], and as many behind them to sort with. */
static void sort_pairs(key_pair *pair, key_pair *other, int64_t n)
{
    const key_pair *sorted = key_sort(pair, other, n);
    if (sorted != pair && n > 0) {
        memcpy(pair, sorted, (size_t)n * sizeof *pair);
    }
}

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
    sort_pairs(pair, pair + keys, rows);
    sort_pairs(pair + rows, pair + keys + rows, keys - rows);
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

/* Records of a section: those of rows, or of keys that wait. */
typedef struct shard_kind {
    bool waits;
    int64_t bytes; /* of a record */
    void (*put)(const row_store *store, const key_pair *pair, char *to);
} shard_kind;

static weft_status write_blocks(shard_writer *w, const shard_kind *kind, const key_pair *pair, int64_t n)
{
    const int64_t most = shard_block_records(kind->bytes);
    for (int64_t first = 0; first < n; first += most) {
        const int64_t records = smaller(most, n - first);
        const size_t bytes = (size_t)(records * kind->bytes);
#pragma omp parallel for schedule(static) num_threads(row_threads(records))
        for (int64_t i = 0; i < records; ++i) {
            kind->put(w->store, &pair[first + i], w->block + i * kind->bytes);
        }
        const shard_block head = {.records = records, .checksum = file_checksum(w->block, bytes, w->number++)};
        WEFT_TRY(file_write(&w->file, &head, sizeof head));
        WEFT_TRY(file_write(&w->file, w->block, bytes));
    }
    return WEFT_OK;
}

/* Calls for each key of the section: counts its range, or, from `first` to before `last`, lists it behind pair + n.
 * Returns how many are listed. */
static int64_t visit_keys(shard_writer *w, bool waits, bool counts, int first, int last, int64_t n)
{
    for (int s = 0; s < ROW_STRIPES; ++s) {
        const row_stripe *stripe = &w->store->index.stripe[s];
        for (int64_t i = 0; i < stripe->capacity; ++i) {
            const row_slot *slot = &stripe->slot[i];
            const int range = range_of(slot->key);
            if (slot->mark == 0 || (row_what(slot) >= ROW_WAITING) != waits) {
                continue;
            }
            if (counts) {
                w->range[range] += 1;
            } else if (range >= first && range < last) {
                w->pair[n++] = (key_pair){.key = slot->key, .value = (int64_t)slot->mark};
            }
        }
    }
    return n;
}

static weft_status make_pairs(shard_writer *w, int64_t n)
{
    if (n > w->room) {
        WEFT_TRY(weft_realloc((void **)&w->pair, (size_t)n, 2 * sizeof *w->pair, WEFT_MEM_WORKSPACE));
        w->room = n;
    }
    return WEFT_OK;
}

static weft_status write_section(shard_writer *w, const shard_kind *kind, int64_t records)
{
    const int64_t most = larger(records / PARTS, PART_LEAST), block = shard_block_records(kind->bytes);
    int64_t kept = 0; /* keys of the parts before that fill no block */
    memset(w->range, 0, RANGES * sizeof *w->range);
    (void)visit_keys(w, kind->waits, true, 0, 0, 0);
    WEFT_TRY(make_pairs(w, smaller(records, most + block))); /* a range of more keys than a part needs more */
    for (int first = 0, last = 0; first < RANGES && records > 0; first = last) {
        int64_t n = 0;
        for (; last < RANGES && (n == 0 || n + w->range[last] <= most); ++last) {
            n += w->range[last];
        }
        WEFT_TRY(make_pairs(w, kept + n));
        const int64_t all = visit_keys(w, kind->waits, false, first, last, kept);
        sort_pairs(w->pair + kept, w->pair + all, n);
        const int64_t whole_blocks = last == RANGES ? all : all / block * block;
        WEFT_TRY(write_blocks(w, kind, w->pair, whole_blocks));
        kept = all - whole_blocks;
        memmove(w->pair, w->pair + whole_blocks, (size_t)kept * sizeof *w->pair);
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
                           .mark = mark,
                           .made = smaller(store->made, SHARD_COUNT_MOST),
                           .refused = smaller(store->refused, SHARD_COUNT_MOST),
                           .expired = smaller(store->expired, SHARD_COUNT_MOST)};
    header.checksum = file_checksum(&header, offsetof(shard_header, checksum), 0);
    return header;
}

static shard_room room_of(const row_store *store)
{
    shard_room room = {.rows = 0};
    if (store->desc.memory_most > 0) {
        room.rows = store->slabs.capacity;
        room.swept = store->swept;
        for (int g = 0; g < ROW_GROUPS; ++g) {
            room.slots[g] = row_lookup_group_slots(&store->index, g);
        }
    }
    room.checksum = file_checksum(&room, offsetof(shard_room, checksum), 0);
    return room;
}

weft_status row_shard_write(const row_store *store, uint64_t mark, const char *path)
{
    const shard_header header = header_of(store, mark);
    const shard_room room = room_of(store);
    const int64_t row_bytes = shard_row_bytes(store->rule.stride, header.state);
    const int64_t block = larger(shard_block_records(row_bytes) * row_bytes, SHARD_BLOCK_MOST * SHARD_WAITING_BYTES);
    const shard_kind rows = {.bytes = row_bytes, .put = shard_put_row},
                     waiting = {.waits = true, .bytes = SHARD_WAITING_BYTES, .put = put_waiting};
    shard_writer w = {.store = store};
    weft_status status = WEFT_OK;
    WEFT_TRY(file_writer_open(path, &w.file));
    WEFT_TRY_GOTO(WEFT_NEW(&w.range, RANGES, WEFT_MEM_WORKSPACE), status, done);
    WEFT_TRY_GOTO(WEFT_NEW(&w.block, block, WEFT_MEM_WORKSPACE), status, done);
    WEFT_TRY_GOTO(file_write(&w.file, &header, sizeof header), status, done);
    WEFT_TRY_GOTO(file_write(&w.file, &room, sizeof room), status, done);
    WEFT_TRY_GOTO(write_section(&w, &rows, header.rows), status, done);
    WEFT_TRY_GOTO(write_section(&w, &waiting, header.waiting), status, done);
    status = file_writer_commit(&w.file);
done:
    file_writer_discard(&w.file);
    WEFT_FREE_ALL(w.pair, w.range, w.block);
    return status;
}

int64_t row_shard_bytes(int64_t rows)
{
    const int64_t part = smaller(rows, larger(rows / PARTS, PART_LEAST));
    return part * 2 * (int64_t)sizeof(key_pair) + RANGES * (int64_t)sizeof(int64_t) + SHARD_BLOCK_BYTES;
}
