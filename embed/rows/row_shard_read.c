/* embed/rows/row_shard_read.c: reads shards, whose every number is a claim until a checksum and a rule agree with it.
 * */
#include <errno.h>
#include <stddef.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "embed/rows/row_shard.h"
#include "embed/rows/row_shard_layout.h"
#include "embed/rows/row_store_state.h"

enum { READ_SLACK = 8 }; /* of memory_most: an eighth more for reading */

typedef struct shard_reader {
    const char *path;
    int fd;
    shard_header header;
    shard_room room;
    int64_t offset;
    uint64_t number; /* of the next block */
    uint64_t last;   /* key of the section's last record so far */
    char *block;
} shard_reader;

static weft_status damaged(const shard_reader *r, const char *what)
{
    return weft_fail(WEFT_ERR_DATA, "%s: %s at byte %lld: the file is damaged, take another copy or checkpoint",
                     r->path, what, (long long)r->offset);
}

static weft_status read_bytes(shard_reader *r, void *to, int64_t bytes)
{
    const ssize_t got = file_read_at(r->fd, r->offset, to, (size_t)bytes);
    if (got < 0) {
        return weft_fail_errno(errno, r->path);
    }
    if (got != bytes) {
        return damaged(r, "the file ends");
    }
    r->offset += bytes;
    return WEFT_OK;
}

static int64_t stride_of(const shard_header *h)
{
    return (int64_t)h->width + h->linear;
}

/* Bytes of a section of n records; -1: more than can be addressed. */
static int64_t section_bytes(int64_t n, int64_t record_bytes)
{
    const int64_t most = shard_block_records(record_bytes);
    int64_t bytes, heads;
    if (__builtin_mul_overflow(n, record_bytes, &bytes) ||
        __builtin_mul_overflow(n / most + (n % most > 0), (int64_t)sizeof(shard_block), &heads) ||
        __builtin_add_overflow(bytes, heads, &bytes)) {
        return -1;
    }
    return bytes;
}

static bool is_count(int64_t n)
{
    return n >= 0 && n <= SHARD_COUNT_MOST;
}

static weft_status check_header(shard_reader *r, int64_t size)
{
    const shard_header *h = &r->header;
    WEFT_CHECK(memcmp(h->magic, SHARD_MAGIC, sizeof h->magic) == 0, WEFT_ERR_DATA,
               "%s: this is no file of rows of embeddings", r->path);
    WEFT_CHECK(h->version >= 1 && h->version <= SHARD_VERSION, WEFT_ERR_DATA,
               "%s: version %u of rows of embeddings, this program reads 1 to %d", r->path, h->version, SHARD_VERSION);
    const bool sound = h->checksum == file_checksum(h, offsetof(shard_header, checksum), 0) && h->width >= 0 &&
                       (h->linear == 0 || h->linear == 1) && stride_of(h) >= 1 && stride_of(h) <= ROW_STRIDE_MOST &&
                       h->rule >= EMBED_SGD && h->rule <= EMBED_LAZY_ADAM &&
                       h->state == row_rule_state((embed_rule)h->rule, h->width, h->linear != 0) && h->rows >= 0 &&
                       h->waiting >= 0 && h->batches >= 0 && h->batches <= INT64_MAX / 2 && is_count(h->made) &&
                       is_count(h->refused) && is_count(h->expired);
    if (!sound) {
        return damaged(r, "the header is not as it was written");
    }
    const int64_t rows = section_bytes(h->rows, shard_row_bytes(stride_of(h), h->state));
    const int64_t waiting = section_bytes(h->waiting, SHARD_WAITING_BYTES);
    int64_t whole_size = shard_head_bytes(h->version);
    const bool whole_file = rows >= 0 && waiting >= 0 && !__builtin_add_overflow(whole_size, rows, &whole_size) &&
                            !__builtin_add_overflow(whole_size, waiting, &whole_size) && whole_size == size;
    WEFT_CHECK(
        whole_file, WEFT_ERR_DATA,
        "%s: %lld bytes, which is not the length of %lld rows and %lld waiting keys: it was cut short or changed, "
        "take another copy or checkpoint",
        r->path, (long long)size, (long long)h->rows, (long long)h->waiting);
    return WEFT_OK;
}

static weft_status read_room(shard_reader *r)
{
    shard_room *room = &r->room;
    if (shard_head_bytes(r->header.version) == (int64_t)sizeof r->header) {
        return WEFT_OK;
    }
    WEFT_TRY(read_bytes(r, room, sizeof *room));
    bool sound = room->checksum == file_checksum(room, offsetof(shard_room, checksum), 0) && room->rows >= 0 &&
                 room->swept >= 0 && room->swept <= r->header.batches;
    for (int g = 0; g < ROW_GROUPS; ++g) {
        sound = sound && room->slots[g] >= 0;
    }
    return sound ? WEFT_OK : damaged(r, "the room of its rows is not as it was written");
}

static void close_reader(shard_reader *r)
{
    weft_free(r->block);
    if (r->fd >= 0) {
        close(r->fd);
    }
}

static weft_status open_reader(const char *path, shard_reader *r)
{
    struct stat facts;
    weft_status status = WEFT_OK;
    *r = (shard_reader){.path = path, .fd = -1};
    WEFT_TRY(file_open(path, &r->fd, &facts));
    WEFT_TRY_GOTO(read_bytes(r, &r->header, sizeof r->header), status, failed);
    WEFT_TRY_GOTO(check_header(r, facts.st_size), status, failed);
    WEFT_TRY_GOTO(read_room(r), status, failed);
    const int64_t row_bytes = shard_row_bytes(stride_of(&r->header), r->header.state);
    const int64_t most = larger(shard_block_records(row_bytes) * row_bytes, SHARD_BLOCK_MOST * SHARD_WAITING_BYTES);
    status = WEFT_NEW(&r->block, smaller(most, facts.st_size), WEFT_MEM_WORKSPACE);
    if (status == WEFT_OK) {
        return WEFT_OK;
    }
failed:
    close_reader(r);
    return status;
}

static shard_record record_at(const shard_reader *r, int64_t i, int64_t record_bytes)
{
    shard_record record;
    memcpy(&record, r->block + i * record_bytes, sizeof record);
    return record;
}

/* The next block of a section in r->block; done: records of the section so far, n: all of them. */
static weft_status next_block(shard_reader *r, int64_t done, int64_t n, int64_t record_bytes, int64_t *records)
{
    shard_block head;
    *records = smaller(n - done, shard_block_records(record_bytes));
    WEFT_TRY(read_bytes(r, &head, sizeof head));
    if (head.records != *records) {
        return damaged(r, "a block has another number of rows");
    }
    WEFT_TRY(read_bytes(r, r->block, *records * record_bytes));
    if (head.checksum != file_checksum(r->block, (size_t)(*records * record_bytes), r->number++)) {
        return damaged(r, "the checksum differs");
    }
    for (int64_t i = 0; i < *records; ++i) {
        const shard_record record = record_at(r, i, record_bytes);
        if ((done + i > 0 && record.key <= r->last) || record.seen < 0 || record.seen > r->header.batches) {
            return damaged(r, "a key is out of order or its age is impossible");
        }
        r->last = record.key;
    }
    return WEFT_OK;
}

/* ---- into a store ---- */

static weft_status check_store(const shard_reader *r, uint64_t mark, const row_store *store)
{
    static const char *const names[] = {EMBED_RULES(CHOICE_NAME)};
    const shard_header *h = &r->header;
    const bool linear = store->rule.whole_stride > store->rule.whole_width;
    WEFT_CHECK(h->width == store->rule.whole_width && (h->linear != 0) == linear, WEFT_ERR_DATA,
               "%s: rows of %d numbers%s, the model has %d%s: it belongs to another model", r->path, h->width,
               h->linear != 0 ? " and a linear weight" : "", store->rule.whole_width,
               linear ? " and a linear weight" : "");
    WEFT_CHECK(h->mark == mark || h->mark == 0 || mark == 0, WEFT_ERR_DATA,
               "%s: these rows were not trained together with the weights beside them: take weights and rows of one "
               "run or checkpoint",
               r->path);
    WEFT_CHECK(h->rule == (int32_t)store->rule.rule, WEFT_ERR_DATA,
               "%s: rows that were updated by %s, not by %s: go on with the same rule", r->path, names[h->rule],
               names[store->rule.rule]);
    WEFT_CHECK(h->batches == store->batch || (store->batch == 0 && store->slabs.rows + store->waiting == 0),
               WEFT_ERR_DATA,
               "%s: written after %lld batches, the rows before after %lld: parts of different checkpoints", r->path,
               (long long)h->batches, (long long)store->batch);
    return WEFT_OK;
}

/* Room for the records of a block that the store takes, none of which it has: their numbers in `mine` [*count]. */
static weft_status choose(const shard_reader *r, row_shard_filter *filter, const void *context, row_store *store,
                          int64_t records, int64_t record_bytes, bool rows, int32_t *mine, int *count)
{
    row_wants wants = {0};
    bool enough = false;
    *count = 0;
    for (int64_t i = 0; i < records; ++i) {
        row_slot *slot;
        const uint64_t key = record_at(r, i, record_bytes).key;
        if (filter != NULL && !filter(key, context)) {
            continue;
        }
        row_lookup_find(&store->index, &key, 1, &slot);
        WEFT_CHECK(slot->mark == 0, WEFT_ERR_DATA,
                   "%s: key %llu is there already: the file was read before, or two files hold the same rows", r->path,
                   (unsigned long long)key);
        wants.slots[row_stripe_of(row_hash(&store->index, key))] += 1;
        mine[(*count)++] = (int32_t)i;
    }
    wants.rows = rows ? *count : 0;
    /* Stripes and slabs grow in other steps than in training: a full store may take a little more when read. */
    const int64_t bound = store->desc.memory_most;
    store->desc.memory_most += bound / READ_SLACK;
    const weft_status status = row_store_make_room(store, &wants, &enough);
    store->desc.memory_most = bound;
    WEFT_TRY(status);
    WEFT_CHECK(enough, WEFT_ERR_RESOURCE,
               "%s: its rows need more memory than the %lld bytes that rows may take: allow more, or use more ranks",
               r->path, (long long)store->desc.memory_most);
    return WEFT_OK;
}

static void put_key(row_store *store, const shard_record *record, uint64_t what)
{
    const int64_t age = smaller(store->batch - record->seen, ROW_EXPIRE_MOST);
    const uint64_t mark = row_mark(what, store->batch - age);
    row_lookup_put(&store->index, row_stripe_of(row_hash(&store->index, record->key)), &record->key, &mark, 1);
}

/* State of this store's columns, of that of whole rows. */
static void take_state(row_store *store, int64_t row, const char *from)
{
    const int64_t words = store->slabs.row_bytes[ROW_STATE] / 4, own = store->rule.stride;
    const int64_t whole = store->rule.whole_stride, arrays = shard_state_arrays(words, own);
    if (words == 0) {
        return;
    }
    char *to = row_at(&store->slabs, ROW_STATE, row);
    if (own == whole) {
        memcpy(to, from, (size_t)words * 4);
        return;
    }
    for (int64_t a = 0; a < arrays; ++a) {
        memcpy(to + a * own * 4, from + (a * whole + store->rule.first) * 4, (size_t)own * 4);
    }
    memcpy(to + arrays * own * 4, from + arrays * whole * 4, (size_t)(words - arrays * own) * 4);
}

void shard_take_row(row_store *store, const shard_record *record, const char *from)
{
    const int64_t stride = store->rule.stride, row = row_slabs_take(&store->slabs);
    const char *number = from + (size_t)store->rule.first * sizeof(float);
    void *numbers = row_at(&store->slabs, ROW_NUMBERS, row);
    if (store->rule.number == EMBED_F32) {
        memcpy(numbers, number, (size_t)stride * sizeof(float));
    } else {
        uint16_t *upper = numbers, *lower = row_at(&store->slabs, ROW_LOWER, row);
        for (int64_t j = 0; j < stride; ++j) {
            float value;
            memcpy(&value, number + j * (int64_t)sizeof value, sizeof value);
            row_split(value, upper + j, lower + j);
        }
    }
    take_state(store, row, from + (size_t)store->rule.whole_stride * sizeof(float));
    put_key(store, record, (uint64_t)row + 1);
}

void shard_take_waiting(row_store *store, const shard_record *record, uint64_t count)
{
    store->waiting += 1;
    put_key(store, record, ROW_WAITING + count);
}

static weft_status take_waiting(const shard_reader *r, row_store *store, const shard_record *record, const char *from)
{
    uint64_t count;
    memcpy(&count, from, sizeof count);
    if (count > ROW_COUNT_MOST) {
        return damaged(r, "a count is impossible");
    }
    shard_take_waiting(store, record, count);
    return WEFT_OK;
}

static weft_status read_section(shard_reader *r, row_shard_filter *filter, const void *context, row_store *store,
                                bool rows)
{
    const int64_t n = rows ? r->header.rows : r->header.waiting;
    const int64_t record_bytes =
        rows ? shard_row_bytes(stride_of(&r->header), r->header.state) : (int64_t)SHARD_WAITING_BYTES;
    int32_t mine[SHARD_BLOCK_MOST];
    int64_t records = 0;
    for (int64_t done = 0; done < n; done += records) {
        int count = 0;
        WEFT_TRY(next_block(r, done, n, record_bytes, &records));
        WEFT_TRY(choose(r, filter, context, store, records, record_bytes, rows, mine, &count));
        for (int i = 0; i < count; ++i) {
            const shard_record record = record_at(r, mine[i], record_bytes);
            const char *rest = r->block + mine[i] * record_bytes + (int64_t)sizeof record;
            if (rows) {
                shard_take_row(store, &record, rest);
            } else {
                WEFT_TRY(take_waiting(r, store, &record, rest));
            }
        }
    }
    return WEFT_OK;
}

weft_status row_shard_read(const char *path, uint64_t mark, row_shard_filter *mine, const void *context,
                           row_store *store)
{
    shard_reader r;
    weft_status status = WEFT_OK;
    WEFT_TRY(open_reader(path, &r));
    WEFT_TRY_GOTO(check_store(&r, mark, store), status, done);
    if (store->batch != r.header.batches) { /* else an earlier shard, or its room, has said when the last sweep was */
        store->batch = r.header.batches;
        store->swept = store->batch;
    }
    WEFT_TRY_GOTO(read_section(&r, mine, context, store, true), status, done);
    WEFT_TRY_GOTO(read_section(&r, mine, context, store, false), status, done);
done:
    close_reader(&r);
    return status;
}

/* Bytes that memory_most leaves for more. */
static int64_t bytes_left(const row_store *store)
{
    return store->desc.memory_most - row_store_held(store);
}

/* Slots of groups, where there is memory for all of them. */
static weft_status take_slots(const shard_room *room, row_store *store, bool *taken)
{
    int64_t left = bytes_left(store) / (ROW_GROW_TOGETHER * (int64_t)sizeof(row_slot));
    for (int g = 0; g < ROW_GROUPS && left >= 0; ++g) {
        const int64_t more = room->slots[g] - row_lookup_group_slots(&store->index, g);
        left = more > left ? -1 : left - larger(more, 0);
    }
    *taken = left >= 0;
    return *taken ? row_lookup_grow(&store->index, room->slots) : WEFT_OK;
}

weft_status row_shard_take_room(const char *path, row_store *store, bool *taken)
{
    shard_reader r;
    weft_status status = WEFT_OK;
    *taken = false;
    WEFT_TRY(open_reader(path, &r));
    WEFT_TRY_GOTO(check_store(&r, 0, store), status, done);
    bool fits = store->desc.memory_most > 0 && r.room.rows + r.room.slots[0] > 0;
    while (fits && store->slabs.capacity < r.room.rows) {
        fits = row_slabs_next_bytes(&store->slabs) <= bytes_left(store);
        WEFT_TRY_GOTO(fits ? row_slabs_grow(&store->slabs) : WEFT_OK, status, done);
    }
    WEFT_TRY_GOTO(fits ? take_slots(&r.room, store, taken) : WEFT_OK, status, done);
    if (*taken) {
        store->batch = r.header.batches;
        store->swept = r.room.swept;
    }
done:
    close_reader(&r);
    return status;
}

/* ---- by themselves ---- */

weft_status row_shard_look(const char *path, row_shard_facts *facts)
{
    shard_reader r;
    WEFT_TRY(open_reader(path, &r));
    *facts = (row_shard_facts){.width = r.header.width,
                               .linear = r.header.linear != 0,
                               .rule = (embed_rule)r.header.rule,
                               .rows = r.header.rows,
                               .waiting = r.header.waiting,
                               .batches = r.header.batches,
                               .mark = r.header.mark,
                               .counts = {r.header.made, r.header.refused, r.header.expired}};
    close_reader(&r);
    return WEFT_OK;
}

weft_status row_shard_visit(const char *path, row_shard_take *take, void *context)
{
    shard_reader r;
    uint64_t *key = NULL;
    float *number = NULL;
    int64_t records = 0;
    weft_status status = WEFT_OK;
    WEFT_TRY(open_reader(path, &r));
    const int64_t stride = stride_of(&r.header), record_bytes = shard_row_bytes(stride, r.header.state);
    const int64_t most = smaller(shard_block_records(record_bytes), r.header.rows);
    WEFT_TRY_GOTO(WEFT_NEW(&key, most, WEFT_MEM_WORKSPACE), status, done);
    WEFT_TRY_GOTO(WEFT_NEW(&number, most * stride, WEFT_MEM_WORKSPACE), status, done);
    for (int64_t done = 0; done < r.header.rows; done += records) {
        WEFT_TRY_GOTO(next_block(&r, done, r.header.rows, record_bytes, &records), status, done);
        for (int64_t i = 0; i < records; ++i) {
            key[i] = record_at(&r, i, record_bytes).key;
            memcpy(number + i * stride, r.block + i * record_bytes + (int64_t)sizeof(shard_record),
                   (size_t)stride * sizeof *number);
        }
        WEFT_TRY_GOTO(take(key, number, records, context), status, done);
    }
done:
    WEFT_FREE_ALL(key, number);
    close_reader(&r);
    return status;
}
