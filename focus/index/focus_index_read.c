/*
 * focus/index/focus_index_read.c: opens an index and reads scores; see focus/index/focus_index.h.
 *
 * A block counts if its head and its contents have their checksums. A file that ends inside a block was written by a
 * process that was killed: what is before that block is the index. Everything else that does not fit is damage.
 */
#include <assert.h>
#include <math.h>
#include <string.h>

#include "base/grow.h"
#include "base/log.h"
#include "focus/index/focus_index.h"
#include "focus/index/focus_index_layout.h"
#include "io/foreign_kind.h"
#include "io/json.h"

weft_mem_tag WEFT_MEM_FOCUS[1] = {{.text = "index of scores"}};

static const double ODDS_MOST = 32.0, CODE_MOST = 65535.0;

struct focus_block {
    int64_t first, count;
    const uint64_t *sum;           /* [count] of files; NULL: items have no names */
    const uint32_t *frame, *track; /* [count]; NULL: nothing moves */
    const uint16_t *box;           /* [count, 4] left, top, width, height */
    const uint16_t *score;         /* [kept, count] */
    const uint16_t *rest;          /* [count] log-odds of all classes that are not kept; NULL: all are kept */
    const uint16_t *class;         /* [kept, count] the classes, the likeliest first; NULL: all in their order */
    const uint32_t *name_at;
    const char *names; /* NULL: items have none */
};

double focus_log_odds(uint16_t code)
{
    return 2.0 * ODDS_MOST * (double)code / CODE_MOST - ODDS_MOST;
}

uint16_t focus_code(double log_odds)
{
    const double cut = fmin(fmax(log_odds, -ODDS_MOST), ODDS_MOST);
    assert(!isnan(log_odds));
    return (uint16_t)lround((cut + ODDS_MOST) / (2.0 * ODDS_MOST) * CODE_MOST);
}

/* ---- blocks ---- */

static weft_status damaged(const char *path, int64_t at, const char *what)
{
    return weft_fail(WEFT_ERR_DATA,
                     "%s: the block at byte %lld is damaged (%s): make the index again with weft focus ingest", path,
                     (long long)at, what);
}

/* JSON of the first block. */
static weft_status read_names(const char *path, const json_value *object, focus_head *head)
{
    const json_value *list = json_find(object, "class_names");
    const char **text = NULL;
    int64_t count = 0;
    if (list == NULL) {
        return WEFT_OK;
    }
    weft_status status = WEFT_NEW(&text, head->classes, WEFT_MEM_FOCUS);
    for (const json_value *v = json_first(list, JSON_ARRAY); status == WEFT_OK && v != NULL; v = v->next) {
        const bool fits = v->kind == JSON_TEXT && name_list_admits(v->text) && count < head->classes;
        status = fits ? WEFT_OK : damaged(path, 0, "class_names holds no name for each class");
        if (fits) {
            text[count++] = v->text;
        }
    }
    if (status == WEFT_OK && count != head->classes) {
        status = damaged(path, 0, "class_names holds no name for each class");
    }
    status = status == WEFT_OK ? name_list_copy(text, count, &head->class_name) : status;
    weft_free(text);
    return status;
}

static weft_status read_hash(const char *path, const json_value *object, const char *key, bool empty,
                             char hash[FOCUS_HASH_BYTES])
{
    const char *text = NULL;
    WEFT_TRY(json_get_text(path, object, key, &text));
    const size_t digits = strspn(text, "0123456789abcdef");
    WEFT_CHECK(text[digits] == '\0' && (digits == FOCUS_HASH_BYTES - 1 || (empty && digits == 0)), WEFT_ERR_DATA,
               "%s: \"%s\" is no hash of 32 hexadecimal digits", path, key);
    memcpy(hash, text, digits + 1);
    return WEFT_OK;
}

static weft_status read_object(const char *path, const json_value *object, focus_head *head)
{
    int64_t version = 0;
    WEFT_TRY(json_expect_text(path, object, "format", FOCUS_FORMAT));
    WEFT_TRY(json_get_int(path, object, "version", 1, INT64_MAX, &version));
    WEFT_CHECK(version == FOCUS_VERSION, WEFT_ERR_DATA,
               "%s: an index of version %lld; this program reads version %d: make it again with weft focus ingest",
               path, (long long)version, FOCUS_VERSION);
    WEFT_TRY(read_hash(path, object, "cheap", false, head->cheap));
    WEFT_TRY(read_hash(path, object, "data", true, head->data));
    WEFT_TRY(json_get_int(path, object, "classes", 1, FOCUS_CLASSES_MAX, &head->classes));
    WEFT_TRY(json_get_int(path, object, "kept", 1, head->classes, &head->kept));
    WEFT_TRY(json_get_bool(path, object, "moving", &head->moving));
    WEFT_CHECK(!head->moving || head->data[0] == '\0', WEFT_ERR_DATA, "%s: moving things have no names", path);
    return read_names(path, object, head);
}

static weft_status read_head(const char *path, const char *text, uint64_t bytes, focus_head *head)
{
    json_document *document = NULL;
    const size_t length = strnlen(text, bytes); /* zeros stand behind the text */
    WEFT_CHECK(bytes <= FOCUS_HEAD_MOST, WEFT_ERR_DATA, "%s: the head of the index has %llu bytes; at most %d", path,
               (unsigned long long)bytes, FOCUS_HEAD_MOST);
    WEFT_TRY(json_parse(path, text, length, &document));
    const json_value *root = json_root(document);
    const weft_status status =
        root->kind == JSON_OBJECT ? read_object(path, root, head) : damaged(path, 0, "its head is no JSON object");
    json_free(document);
    return status;
}

/* Names follow each other, each with its NUL, and are those that name_at points to. */
static bool names_fit(const focus_block *block, uint64_t bytes)
{
    const uint32_t *at = block->name_at;
    if (at[0] != 0 || at[block->count] != bytes) {
        return false;
    }
    for (int64_t i = 0; i < block->count; ++i) {
        if (at[i + 1] <= at[i] + 1 || at[i + 1] - at[i] > FOCUS_NAME_BYTES || at[i + 1] > bytes ||
            strnlen(block->names + at[i], at[i + 1] - at[i]) != at[i + 1] - at[i] - 1) {
            return false;
        }
    }
    return true;
}

static bool classes_fit(const focus_block *block, const focus_head *head)
{
    for (int64_t i = 0; block->class != NULL && i < head->kept * block->count; ++i) {
        if (block->class[i] >= head->classes) {
            return false;
        }
    }
    return true;
}

/* Boxes have pixels and end within 16 bits; a track is one that was seen, or the next number. */
static bool origins_fit(const focus_block *block, int64_t *tracks)
{
    for (int64_t i = 0; block->track != NULL && i < block->count; ++i) {
        const uint16_t *box = block->box + 4 * i;
        if (block->track[i] > *tracks || box[2] == 0 || box[3] == 0 || box[0] + box[2] > UINT16_MAX ||
            box[1] + box[3] > UINT16_MAX) {
            return false;
        }
        *tracks += block->track[i] == *tracks;
    }
    return true;
}

/* contents: behind the block's own head. */
static void place_columns(focus_block *block, const focus_head *head, const uint8_t *contents)
{
    const uint64_t count = (uint64_t)block->count, kept = (uint64_t)head->kept;
    const bool named = head->data[0] == '\0';
    const uint8_t *at = contents;
    if (named) {
        block->sum = (const uint64_t *)(const void *)at;
    }
    if (head->moving) {
        block->frame = (const uint32_t *)(const void *)(at + focus_origin_bytes(count, named, false));
        block->track = block->frame + count;
        block->box = (const uint16_t *)(const void *)(block->track + count);
    }
    at += focus_origin_bytes(count, named, head->moving);
    block->score = (const uint16_t *)(const void *)at;
    if (head->kept < head->classes) {
        block->rest = block->score + kept * count;
        block->class = block->rest + count;
    }
    if (named) {
        block->name_at =
            (const uint32_t *)(const void *)(at + focus_column_bytes(count, kept, (uint64_t)head->classes));
        block->names = (const char *)(block->name_at + count + 1);
    }
}

static weft_status read_items(const char *path, int64_t at, const uint8_t *contents, uint64_t bytes, focus_index *index)
{
    const focus_head *head = &index->head;
    focus_items_head own;
    focus_block block = {.first = index->items};
    if (bytes < sizeof own) {
        return damaged(path, at, "it is too short for items");
    }
    memcpy(&own, contents, sizeof own);
    const bool named = head->data[0] == '\0';
    const uint64_t columns = focus_origin_bytes(own.count, named, head->moving) +
                             focus_column_bytes(own.count, (uint64_t)head->kept, (uint64_t)head->classes);
    const uint64_t names = named ? (own.count + (uint64_t)1) * sizeof(uint32_t) : 0;
    if (own.count < 1 || own.count > FOCUS_BLOCK_ITEMS || own.kept != head->kept ||
        own.first != (uint64_t)block.first || named != (own.name_bytes > 0) || own.name_bytes > bytes ||
        index->items + own.count > FOCUS_ITEMS_MAX ||
        ((sizeof own + columns + names + own.name_bytes + 7) & ~(uint64_t)7) != bytes) {
        return damaged(path, at, "its counts do not fit its length");
    }
    block.count = own.count;
    place_columns(&block, head, contents + sizeof own);
    if (!classes_fit(&block, head) || (named && !names_fit(&block, own.name_bytes)) ||
        !origins_fit(&block, &index->tracks)) {
        return damaged(path, at, "its classes, names or tracks are none of the index");
    }
    int capacity = (int)index->capacity;
    WEFT_TRY(grow_array((void **)&index->block, sizeof *index->block, (int)index->blocks, &capacity, WEFT_MEM_FOCUS));
    index->capacity = capacity;
    index->block[index->blocks++] = block;
    index->items += block.count;
    return WEFT_OK;
}

/* ---- answers ---- */

/* Answers stand behind the items that they are of, so there is room for them. */
static weft_status read_answers(const char *path, int64_t at, const uint8_t *contents, uint64_t bytes,
                                focus_index *index, int64_t *room)
{
    focus_answers_head own;
    char hash[FOCUS_HASH_BYTES] = "";
    if (bytes < sizeof own) {
        return damaged(path, at, "it is too short for answers");
    }
    memcpy(&own, contents, sizeof own);
    memcpy(hash, own.expensive, sizeof own.expensive);
    const uint64_t each = sizeof(uint32_t) + sizeof(uint16_t);
    if (own.count < 1 || own.count > (uint64_t)index->items ||
        ((sizeof own + own.count * each + 7) & ~(uint64_t)7) != bytes ||
        strspn(hash, "0123456789abcdef") != sizeof own.expensive) {
        return damaged(path, at, "its counts do not fit its length");
    }
    WEFT_CHECK(index->expensive[0] == '\0' || strcmp(index->expensive, hash) == 0, WEFT_ERR_DATA,
               "%s: the block at byte %lld holds answers of another network than the blocks before it", path,
               (long long)at);
    memcpy(index->expensive, hash, sizeof hash);
    if (*room < index->items) {
        WEFT_TRY(weft_realloc((void **)&index->answer, (size_t)index->items, sizeof *index->answer, WEFT_MEM_FOCUS));
        memset(index->answer + *room, 0xff, (size_t)(index->items - *room) * sizeof *index->answer);
        *room = index->items;
    }
    const uint32_t *item = (const uint32_t *)(const void *)(contents + sizeof own);
    const uint16_t *class = (const uint16_t *)(item + own.count);
    for (uint64_t i = 0; i < own.count; ++i) {
        if (item[i] >= index->items || (i > 0 && item[i] <= item[i - 1])) {
            return damaged(path, at, "its items are out of order, or none of the index");
        }
        index->answered += index->answer[item[i]] < 0;
        index->answer[item[i]] = class[i];
    }
    return WEFT_OK;
}

/* ---- the file ---- */

/* [out] ended: the file ends inside this block. */
static weft_status check_block(const char *path, const file_map *map, int64_t at, focus_block_head *head, bool *ended)
{
    const uint64_t left = map->size - (uint64_t)at;
    *ended = left < sizeof *head;
    if (*ended) {
        return WEFT_OK;
    }
    memcpy(head, map->data + at, sizeof *head);
    if (memcmp(head->magic, FOCUS_MAGIC, sizeof head->magic) != 0 ||
        head->own_sum != focus_own_sum(head, (uint64_t)at)) {
        return damaged(path, at, "its head has another checksum");
    }
    *ended = head->bytes > left - sizeof *head;
    if (!*ended &&
        (head->bytes % 8 != 0 || head->sum != focus_sum(map->data + at + sizeof *head, head->bytes, (uint64_t)at))) {
        return damaged(path, at, "its contents have another checksum");
    }
    return WEFT_OK;
}

static weft_status read_block(const char *path, const focus_block_head *head, int64_t at, focus_index *index,
                              int64_t *room)
{
    const uint8_t *contents = index->map.data + at + sizeof *head;
    if ((at == 0) != (head->kind == FOCUS_KIND_HEAD)) {
        return damaged(path, at, "the head of an index stands first, and once");
    }
    switch (head->kind) {
    case FOCUS_KIND_HEAD:
        return read_head(path, (const char *)contents, head->bytes, &index->head);
    case FOCUS_KIND_ITEMS:
        return read_items(path, at, contents, head->bytes, index);
    case FOCUS_KIND_ANSWERS:
        return read_answers(path, at, contents, head->bytes, index, room);
    default:
        return damaged(path, at, "it is of no known kind");
    }
}

static weft_status read_blocks(const char *path, focus_index *index, int64_t *room)
{
    const file_map *map = &index->map;
    int64_t at = 0;
    bool ended = false;
    while ((uint64_t)at < map->size) {
        focus_block_head head;
        WEFT_TRY(check_block(path, map, at, &head, &ended));
        if (ended) {
            break;
        }
        WEFT_TRY(read_block(path, &head, at, index, room));
        at += (int64_t)(sizeof head + head.bytes);
    }
    WEFT_CHECK(at > 0, WEFT_ERR_DATA,
               "%s: an index whose first block was never closed, so it holds nothing: remove it and make it again",
               path);
    index->bytes = at;
    index->dropped = (int64_t)map->size - at;
    if (index->dropped > 0) {
        log_warn("%s: the last %lld bytes are of a block that was never closed, and are left out; the index holds %lld "
                 "items",
                 path, (long long)index->dropped, (long long)index->items);
    }
    return WEFT_OK;
}

static weft_status check_kind(const char *path, const file_map *map)
{
    const size_t magic = sizeof FOCUS_MAGIC - 1;
    const size_t seen = map->size < magic ? map->size : magic;
    if (map->size > 0 && memcmp(map->data, FOCUS_MAGIC, seen) == 0) {
        return WEFT_OK;
    }
    WEFT_TRY(foreign_kind_check(path, map->data, map->size < FOREIGN_HEAD ? map->size : FOREIGN_HEAD));
    return weft_fail(WEFT_ERR_DATA, "%s: no index of weft focus: weft focus ingest makes one", path);
}

weft_status focus_index_open(const char *path, focus_index *index)
{
    int64_t room = 0;
    *index = (focus_index){.items = 0};
    WEFT_TRY(file_map_open(path, &index->map));
    WEFT_TRY(check_kind(path, &index->map));
    WEFT_TRY(read_blocks(path, index, &room));
    if (room < index->items) {
        WEFT_TRY(weft_realloc((void **)&index->answer, (size_t)index->items, sizeof *index->answer, WEFT_MEM_FOCUS));
        memset(index->answer + room, 0xff, (size_t)(index->items - room) * sizeof *index->answer);
    }
    return file_map_check(path, &index->map);
}

void focus_index_close(focus_index *index)
{
    file_map_close(&index->map);
    WEFT_FREE_ALL(index->block, index->answer);
    name_list_free(&index->head.class_name);
    *index = (focus_index){.items = 0};
}

/* ---- items ---- */

/* Blocks before the last may be short where an ingest was continued, so the block is searched for. */
static const focus_block *block_of(const focus_index *index, int64_t item)
{
    int64_t low = 0, high = index->blocks;
    assert(item >= 0 && item < index->items);
    while (high - low > 1) {
        const int64_t middle = (low + high) / 2;
        low = index->block[middle].first <= item ? middle : low;
        high = index->block[middle].first <= item ? high : middle;
    }
    return &index->block[low];
}

uint16_t focus_index_code(const focus_index *index, int64_t item, int64_t class)
{
    const focus_block *block = block_of(index, item);
    const int64_t place = item - block->first, kept = index->head.kept;
    assert(class >= 0 && class < index->head.classes);
    if (block->class == NULL) {
        return block->score[class * block->count + place];
    }
    for (int64_t k = 0; k < kept; ++k) {
        if (block->class[k * block->count + place] == class) {
            return block->score[k * block->count + place];
        }
    }
    const uint16_t least = block->score[(kept - 1) * block->count + place];
    return block->rest[place] < least ? block->rest[place] : least;
}

const char *focus_index_name(const focus_index *index, int64_t item)
{
    const focus_block *block = block_of(index, item);
    return block->names != NULL ? block->names + block->name_at[item - block->first] : NULL;
}

item_origin focus_index_origin(const focus_index *index, int64_t item)
{
    const focus_block *block = block_of(index, item);
    const int64_t place = item - block->first;
    item_origin origin = {.sum = block->sum != NULL ? block->sum[place] : 0};
    if (block->track != NULL) {
        const uint16_t *box = block->box + 4 * place;
        origin.frame = block->frame[place];
        origin.track = block->track[place];
        origin.left = box[0];
        origin.top = box[1];
        origin.width = box[2];
        origin.height = box[3];
    }
    return origin;
}
