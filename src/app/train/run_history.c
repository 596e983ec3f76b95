/* app/train/run_history.c: see app/train/run_history.h. */
#include "app/train/run_history.h"

#include <assert.h>
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/file.h"
#include "base/log.h"

enum { RUN_JSON_MAX = 1 << 20 };

/* ---- starts ---- */

static void take_text(const json_value *object, const char *key, char *dst, size_t bytes)
{
    const json_value *value = json_find(object, key);
    snprintf(dst, bytes, "%s", value != NULL && value->kind == JSON_TEXT ? value->text : "");
}

static int64_t take_int(const json_value *object, const char *key, int64_t otherwise)
{
    const json_value *value = json_find(object, key);
    return value != NULL && value->kind == JSON_NUMBER && value->integral ? value->integer : otherwise;
}

weft_status run_history_add(run_history *history, const run_start *start)
{
    assert(history->count <= RUN_STARTS_KEPT);
    if (history->count == RUN_STARTS_KEPT) {
        memmove(history->start, history->start + 1, (RUN_STARTS_KEPT - 1) * sizeof *start);
        history->count -= 1;
    }
    WEFT_TRY(
        weft_realloc((void **)&history->start, (size_t)history->count + 1, sizeof *history->start, WEFT_MEM_GENERAL));
    history->start[history->count++] = *start;
    return WEFT_OK;
}

/* Whoever ended without saying so was killed. */
static weft_status take_starts(const json_value *root, run_history *history)
{
    const json_value *list = json_find(root, "starts");
    for (const json_value *entry = list != NULL && list->kind == JSON_ARRAY ? list->child : NULL; entry != NULL;
         entry = entry->next) {
        run_start start = {.ranks = -1};
        if (entry->kind == JSON_OBJECT) {
            take_text(entry, "started", start.started, sizeof start.started);
            take_text(entry, "ended", start.ended, sizeof start.ended);
            take_text(entry, "host", start.host, sizeof start.host);
            start.ranks = take_int(entry, "ranks", -1);
            start.exit = take_int(entry, "exit", -1);
            start.after_run = take_int(entry, "after_run", 0);
            start.after_epoch = take_int(entry, "after_epoch", 0);
            WEFT_TRY(run_history_add(history, &start));
        }
    }
    return WEFT_OK;
}

weft_status run_history_read(const char *path, run_history *history)
{
    json_document *document = NULL;
    const json_value *root = NULL;
    if (!file_exists(path)) {
        return WEFT_OK;
    }
    weft_status status = json_read_object(path, RUN_JSON_MAX, &document, &root);
    status = status == WEFT_OK ? take_starts(root, history) : status;
    if (status == WEFT_ERR_DATA) {
        log_warn("%s: the list of earlier starts is lost", weft_error_message());
        weft_error_clear();
        status = WEFT_OK;
    }
    json_free(document);
    return status;
}

void run_history_write(json_writer *json, const run_history *history)
{
    json_array(json, "starts");
    for (int i = 0; i < history->count; ++i) {
        const run_start *start = &history->start[i];
        json_object(json, NULL);
        json_text(json, "started", start->started);
        json_text(json, "host", start->host);
        json_int(json, "ranks", start->ranks);
        json_int(json, "after_run", start->after_run);
        json_int(json, "after_epoch", start->after_epoch);
        if (start->exit >= 0) {
            json_text(json, "ended", start->ended);
            json_int(json, "exit", start->exit);
        }
        json_end(json);
    }
    json_end(json);
}

void run_history_free(run_history *history)
{
    weft_free(history->start);
    *history = (run_history){.start = NULL};
}

/* ---- metrics.jsonl ---- */

/* Run and epoch of a line; *good = false when it is none. A line that could not be looked at is an error: it stays. */
static weft_status parse_line(const char *path, const char *line, size_t bytes, int64_t *run, int64_t *epoch,
                              bool *good)
{
    json_document *document = NULL;
    weft_status status = json_parse(path, line, bytes, &document);
    *good = status == WEFT_OK;
    if (status != WEFT_OK && status != WEFT_ERR_DATA) {
        return status;
    }
    if (*good) {
        const json_value *root = json_root(document);
        *run = root->kind == JSON_OBJECT ? take_int(root, "run", -1) : -1;
        *epoch = root->kind == JSON_OBJECT ? take_int(root, "epoch", -1) : -1;
        *good = *run > 0 && *epoch > 0;
    }
    json_free(document);
    weft_error_clear();
    return WEFT_OK;
}

/* How many bytes of the file stay; the last line among them is *run and *epoch. */
static weft_status find_cut(const char *path, const file_map *map, int64_t *run, int64_t *epoch, size_t *cut)
{
    const char *text = (const char *)map->data;
    size_t kept = 0;
    bool good = false;
    int64_t line_run = 0, line_epoch = 0;
    const int64_t last_run = *run, last_epoch = *epoch;
    *run = *epoch = 0;
    while (kept < map->size) {
        const char *end = memchr(text + kept, '\n', map->size - kept);
        size_t length = end != NULL ? (size_t)(end - (text + kept)) : 0;
        if (end == NULL) {
            break;
        }
        WEFT_TRY(parse_line(path, text + kept, length, &line_run, &line_epoch, &good));
        if (!good || line_run > last_run || (line_run == last_run && line_epoch > last_epoch)) {
            break;
        }
        *run = line_run;
        *epoch = line_epoch;
        kept += length + 1;
    }
    *cut = kept;
    return WEFT_OK;
}

weft_status run_metrics_cut(const char *path, int64_t run, int64_t epoch)
{
    file_map map = {.data = NULL};
    size_t kept = 0;
    int64_t last_run = run, last_epoch = epoch;
    if (file_exists(path)) {
        WEFT_TRY(file_map_open(path, &map));
        weft_status status = find_cut(path, &map, &last_run, &last_epoch, &kept);
        bool longer = kept < map.size;
        file_map_close(&map);
        WEFT_TRY(status);
        if (longer && truncate(path, (off_t)kept) != 0) {
            return weft_fail_errno(errno, path);
        }
    } else {
        last_run = last_epoch = 0;
    }
    if (epoch > 0 && (last_run != run || last_epoch != epoch)) { /* 0: within the first epoch of its run */
        log_warn("%s: lines are missing before run %lld, epoch %lld", path, (long long)run, (long long)epoch);
    }
    return WEFT_OK;
}
