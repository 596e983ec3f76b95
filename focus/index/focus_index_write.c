/*
 * focus/index/focus_index_write.c: makes an index and adds blocks to it; see focus/index/focus_index.h.
 *
 * A block is one write and one fdatasync. A write that fails half-way is taken back, so that the file ends with a
 * closed block.
 */
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "focus/index/focus_index.h"
#include "focus/index/focus_index_layout.h"
#include "io/json.h"
#include "io/lock.h"

struct focus_writer {
    char path[FILE_PATH_MAX];
    file_lock *lock;
    int fd;
    int64_t bytes; /* of closed blocks */
    int64_t classes, kept, items;
    bool named, moving;
    /* ---- items of the open block ---- */
    int64_t count;
    uint16_t *score, *rest, *class; /* [FOCUS_BLOCK_ITEMS, kept], [FOCUS_BLOCK_ITEMS], as score */
    int64_t *order;                 /* [classes] */
    item_origin *origin;            /* [FOCUS_BLOCK_ITEMS] */
    uint32_t name_at[FOCUS_BLOCK_ITEMS + 1];
    char *names; /* [name_room] */
    size_t name_room;
    uint8_t *block; /* [block_room] that is being written */
    size_t block_room;
};

/* ---- a block ---- */

static weft_status reserve(focus_writer *w, size_t contents)
{
    const size_t bytes = sizeof(focus_block_head) + ((contents + 7) & ~(size_t)7);
    if (w->block_room < bytes) {
        WEFT_TRY(weft_realloc((void **)&w->block, bytes, 1, WEFT_MEM_FOCUS));
        w->block_room = bytes;
    }
    memset(w->block, 0, bytes);
    return WEFT_OK;
}

static weft_status put_block(focus_writer *w, size_t bytes)
{
    size_t done = 0;
    while (done < bytes) {
        const ssize_t n = pwrite(w->fd, w->block + done, bytes - done, (off_t)(w->bytes + (int64_t)done));
        if (n < 0 && errno != EINTR) {
            return file_fail_output(errno, w->path);
        }
        done += n > 0 ? (size_t)n : 0;
    }
    return fdatasync(w->fd) == 0 ? WEFT_OK : file_fail_output(errno, w->path);
}

/* The contents stand in w->block behind room for the head. */
static weft_status close_block(focus_writer *w, uint32_t kind, size_t contents)
{
    focus_block_head head = {.kind = kind, .bytes = (contents + 7) & ~(size_t)7};
    const uint64_t at = (uint64_t)w->bytes;
    memcpy(head.magic, FOCUS_MAGIC, sizeof head.magic);
    head.sum = focus_sum(w->block + sizeof head, head.bytes, at);
    head.own_sum = focus_own_sum(&head, at);
    memcpy(w->block, &head, sizeof head);
    WEFT_TRY(file_lock_check(w->lock));
    const weft_status status = put_block(w, sizeof head + head.bytes);
    if (status != WEFT_OK) {
        (void)!ftruncate(w->fd, (off_t)w->bytes); /* readers leave out what stays behind */
        return status;
    }
    w->bytes += (int64_t)(sizeof head + head.bytes);
    return WEFT_OK;
}

static void print_head(FILE *out, const focus_head *head)
{
    json_writer json = json_begin(out, false);
    json_object(&json, NULL);
    json_text(&json, "format", FOCUS_FORMAT);
    json_int(&json, "version", FOCUS_VERSION);
    json_text(&json, "cheap", head->cheap);
    json_text(&json, "data", head->data);
    json_int(&json, "classes", head->classes);
    json_int(&json, "kept", head->kept);
    json_bool(&json, "moving", head->moving);
    if (head->class_name.text != NULL) {
        json_array(&json, "class_names");
        for (int64_t i = 0; i < head->class_name.count; ++i) {
            json_text(&json, NULL, head->class_name.text[i]);
        }
        json_end(&json);
    }
    json_end(&json);
}

static weft_status write_head(focus_writer *w, const focus_head *head)
{
    char *text = NULL;
    size_t length = 0;
    FILE *out = open_memstream(&text, &length);
    WEFT_CHECK(out != NULL, WEFT_ERR_RESOURCE, "%s: no memory for the head of the index", w->path);
    print_head(out, head);
    const bool whole = fclose(out) == 0;
    weft_status status =
        whole ? WEFT_OK : weft_fail(WEFT_ERR_RESOURCE, "%s: no memory for the head of the index", w->path);
    if (status == WEFT_OK && length > FOCUS_HEAD_MOST - 8) {
        status = weft_fail(WEFT_ERR_USAGE, "%s: the names of %lld classes take %zu bytes; at most %d", w->path,
                           (long long)head->classes, length, FOCUS_HEAD_MOST - 8);
    }
    status = status == WEFT_OK ? reserve(w, length) : status;
    if (status == WEFT_OK) {
        memcpy(w->block + sizeof(focus_block_head), text, length);
        status = close_block(w, FOCUS_KIND_HEAD, length);
    }
    free(text);
    return status;
}

/* ---- open and close ---- */

static weft_status begin(const char *path, const focus_head *head, int flags, focus_writer **out)
{
    char lock[FILE_PATH_MAX];
    focus_writer *w = NULL;
    WEFT_TRY(file_path(lock, "%s.lock", path));
    WEFT_TRY(WEFT_NEW_ZERO(&w, 1, WEFT_MEM_FOCUS));
    *out = w;
    w->fd = -1;
    w->classes = head->classes;
    w->kept = head->kept;
    w->named = head->data[0] == '\0';
    w->moving = head->moving;
    WEFT_TRY(file_path(w->path, "%s", path));
    WEFT_TRY(WEFT_NEW(&w->score, FOCUS_BLOCK_ITEMS * w->kept, WEFT_MEM_FOCUS));
    WEFT_TRY(WEFT_NEW(&w->class, FOCUS_BLOCK_ITEMS * w->kept, WEFT_MEM_FOCUS));
    WEFT_TRY(WEFT_NEW(&w->rest, FOCUS_BLOCK_ITEMS, WEFT_MEM_FOCUS));
    WEFT_TRY(WEFT_NEW(&w->order, w->classes, WEFT_MEM_FOCUS));
    WEFT_TRY(WEFT_NEW(&w->origin, FOCUS_BLOCK_ITEMS, WEFT_MEM_FOCUS));
    WEFT_TRY(file_lock_take(lock, NULL, &w->lock));
    w->fd = open(path, flags | O_RDWR | O_CLOEXEC | O_NOFOLLOW, 0666);
    WEFT_CHECK(
        w->fd >= 0 || errno != EEXIST, WEFT_ERR_USAGE,
        "%s: exists since a moment, as if another process had begun it: run the command again, or choose another name",
        path);
    return w->fd >= 0 ? WEFT_OK : file_fail_output(errno, path);
}

static weft_status end_with(weft_status status, focus_writer **writer)
{
    if (status != WEFT_OK) {
        focus_writer_close(*writer);
        *writer = NULL;
    }
    return status;
}

weft_status focus_writer_create(const char *path, const focus_head *head, focus_writer **writer)
{
    *writer = NULL;
    weft_status status = begin(path, head, O_CREAT | O_EXCL, writer);
    status = status == WEFT_OK ? write_head(*writer, head) : status;
    status = status == WEFT_OK ? file_sync_parent(path) : status;
    return end_with(status, writer);
}

static weft_status cut_end(focus_writer *w, const focus_index *index)
{
    struct stat facts;
    WEFT_CHECK(fstat(w->fd, &facts) == 0, WEFT_ERR_IO, "%s: cannot be looked at", w->path);
    WEFT_CHECK(facts.st_ino == index->map.inode && facts.st_size == index->bytes + index->dropped, WEFT_ERR_USAGE,
               "%s: another process has written it since it was read: run the command again", w->path);
    w->bytes = index->bytes;
    w->items = index->items;
    return index->dropped == 0 || ftruncate(w->fd, (off_t)index->bytes) == 0 ? WEFT_OK
                                                                             : file_fail_output(errno, w->path);
}

weft_status focus_writer_append(const char *path, const focus_index *index, focus_writer **writer)
{
    *writer = NULL;
    weft_status status = begin(path, &index->head, 0, writer);
    status = status == WEFT_OK ? cut_end(*writer, index) : status;
    return end_with(status, writer);
}

int64_t focus_writer_bytes(const focus_writer *w)
{
    return w->bytes;
}

void focus_writer_close(focus_writer *w)
{
    if (w == NULL) {
        return;
    }
    if (w->fd >= 0) {
        (void)close(w->fd);
    }
    file_lock_release(w->lock);
    WEFT_FREE_ALL(w->score, w->rest, w->class, w->order, w->origin, w->names, w->block);
    weft_free(w);
}

/* ---- items ---- */

static double probability(double log_odds)
{
    return 1.0 / (1.0 + exp(-log_odds));
}

/* The place of the likeliest class that is not yet among the first `done` of the order; of equal ones the first. */
static int64_t next_best(const focus_writer *w, const double *log_odds, int64_t done)
{
    int64_t best = done;
    for (int64_t i = done + 1; i < w->classes; ++i) {
        const double here = log_odds[w->order[i]], most = log_odds[w->order[best]];
        best = here > most || (here == most && w->order[i] < w->order[best]) ? i : best;
    }
    return best;
}

static void keep_best(focus_writer *w, const double *log_odds)
{
    double rest = 0.0;
    for (int64_t i = 0; i < w->classes; ++i) {
        w->order[i] = i;
    }
    for (int64_t k = 0; k < w->kept; ++k) {
        const int64_t place = next_best(w, log_odds, k), class = w->order[place];
        w->order[place] = w->order[k];
        w->order[k] = class;
        w->class[w->count * w->kept + k] = (uint16_t) class;
        w->score[w->count * w->kept + k] = focus_code(log_odds[class]);
    }
    for (int64_t i = w->kept; i < w->classes; ++i) {
        rest += probability(log_odds[w->order[i]]);
    }
    w->rest[w->count] = focus_code(log(rest) - log1p(-fmin(rest, 1.0 - 0x1.0p-53)));
}

static weft_status keep_name(focus_writer *w, const char *name)
{
    const size_t bytes = strlen(name) + 1, at = w->name_at[w->count];
    WEFT_CHECK(bytes > 1 && bytes <= FOCUS_NAME_BYTES, WEFT_ERR_DATA,
               "%s: the name of item %lld has %zu bytes; 1 to %d are allowed", w->path, (long long)w->items, bytes - 1,
               FOCUS_NAME_BYTES - 1);
    if (at + bytes > w->name_room) {
        const size_t room = 2 * w->name_room + bytes;
        WEFT_TRY(weft_realloc((void **)&w->names, room, 1, WEFT_MEM_FOCUS));
        w->name_room = room;
    }
    memcpy(w->names + at, name, bytes);
    w->name_at[w->count + 1] = (uint32_t)(at + bytes);
    return WEFT_OK;
}

weft_status focus_writer_item(focus_writer *w, const double *log_odds, const char *name, const item_origin *origin)
{
    WEFT_CHECK(w->items < FOCUS_ITEMS_MAX, WEFT_ERR_USAGE,
               "%s: holds %d items, the most that an index has: begin another", w->path, FOCUS_ITEMS_MAX);
    WEFT_TRY(w->named ? keep_name(w, name) : WEFT_OK);
    w->origin[w->count] = *origin;
    if (w->kept < w->classes) {
        keep_best(w, log_odds);
    } else {
        for (int64_t k = 0; k < w->kept; ++k) {
            w->score[w->count * w->kept + k] = focus_code(log_odds[k]);
        }
    }
    w->count++;
    w->items++;
    return w->count == FOCUS_BLOCK_ITEMS ? focus_writer_flush(w) : WEFT_OK;
}

/* [rows, kept] becomes columns. Returns the byte behind them. */
static uint16_t *put_columns(const focus_writer *w, const uint16_t *from, uint16_t *to)
{
    for (int64_t k = 0; k < w->kept; ++k) {
        for (int64_t i = 0; i < w->count; ++i) {
            *to++ = from[i * w->kept + k];
        }
    }
    return to;
}

static void put_origins(const focus_writer *w, uint8_t *to)
{
    const uint64_t count = (uint64_t)w->count;
    uint64_t *sum = (uint64_t *)(void *)to;
    uint32_t *frame = (uint32_t *)(void *)(to + focus_origin_bytes(count, w->named, false)), *track = frame + count;
    uint16_t *box = (uint16_t *)(track + count);
    for (uint64_t i = 0; i < count; ++i) {
        const item_origin *from = &w->origin[i];
        if (w->named) {
            sum[i] = from->sum;
        }
        if (w->moving) {
            const uint16_t sides[4] = {from->left, from->top, from->width, from->height};
            frame[i] = from->frame;
            track[i] = from->track;
            memcpy(box + 4 * i, sides, sizeof sides);
        }
    }
}

weft_status focus_writer_flush(focus_writer *w)
{
    const uint64_t count = (uint64_t)w->count;
    const uint64_t origins = focus_origin_bytes(count, w->named, w->moving);
    const uint64_t columns = origins + focus_column_bytes(count, (uint64_t)w->kept, (uint64_t)w->classes);
    const focus_items_head own = {.first = (uint64_t)(w->items - w->count),
                                  .count = (uint32_t)count,
                                  .kept = (uint32_t)w->kept,
                                  .name_bytes = w->named ? w->name_at[count] : 0};
    const size_t places = w->named ? (count + 1) * sizeof *w->name_at : 0;
    if (count == 0) {
        return WEFT_OK;
    }
    const size_t bytes = sizeof own + columns + places + own.name_bytes;
    WEFT_TRY(reserve(w, bytes));
    uint8_t *at = w->block + sizeof(focus_block_head);
    memcpy(at, &own, sizeof own);
    put_origins(w, at + sizeof own);
    uint16_t *column = put_columns(w, w->score, (uint16_t *)(void *)(at + sizeof own + origins));
    if (w->kept < w->classes) {
        memcpy(column, w->rest, count * sizeof *column);
        (void)put_columns(w, w->class, column + count);
    }
    if (w->named) {
        memcpy(at + sizeof own + columns, w->name_at, places);
        memcpy(at + sizeof own + columns + places, w->names, own.name_bytes);
    }
    WEFT_TRY(close_block(w, FOCUS_KIND_ITEMS, bytes));
    w->count = 0;
    return WEFT_OK;
}

weft_status focus_writer_answers(focus_writer *w, const char *expensive, const int64_t *item, const int32_t *class,
                                 int64_t count)
{
    focus_answers_head own = {.count = (uint64_t)count};
    const size_t bytes = sizeof own + (size_t)count * (sizeof(uint32_t) + sizeof(uint16_t));
    if (count == 0) {
        return WEFT_OK;
    }
    memcpy(own.expensive, expensive, sizeof own.expensive);
    WEFT_TRY(focus_writer_flush(w)); /* answers stand behind the items that they are of */
    WEFT_TRY(reserve(w, bytes));
    uint8_t *at = w->block + sizeof(focus_block_head);
    memcpy(at, &own, sizeof own);
    uint32_t *items = (uint32_t *)(void *)(at + sizeof own);
    uint16_t *classes = (uint16_t *)(items + count);
    for (int64_t i = 0; i < count; ++i) {
        items[i] = (uint32_t)item[i];
        classes[i] = (uint16_t) class[i];
    }
    return close_block(w, FOCUS_KIND_ANSWERS, bytes);
}
