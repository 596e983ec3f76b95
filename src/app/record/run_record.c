/* app/record/run_record.c: see app/record/run_record.h; run.json and summary.json. record_metrics.c reads
 * metrics.jsonl. */
#include "app/record/run_record.h"

#include <assert.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "app/facts/fact_list.h"
#include "base/alloc.h"
#include "base/escape.h"

enum { DOCUMENT_MAX = 1 << 20 };

typedef struct record_block {
    struct record_block *next;
    _Alignas(16) char bytes[];
} record_block;

void *record_alloc(run_record *run, int64_t count, size_t size)
{
    record_block *block = NULL;
    assert(count >= 0 && size > 0);
    weft_status status = (uint64_t)count > SIZE_MAX / 2 / size
                             ? weft_fail(WEFT_ERR_RESOURCE, "%lld elements of %zu bytes", (long long)count, size)
                             : weft_calloc(1, sizeof *block + (size_t)count * size, WEFT_MEM_GENERAL, (void **)&block);
    if (status != WEFT_OK) {
        run->failed = status;
        return NULL;
    }
    block->next = run->blocks;
    run->blocks = block;
    return block->bytes;
}

/* ---- values ---- */

const char *record_value_text(const json_value *value, quantity_unit unit, quantity *space)
{
    *space = quantity_of(value != NULL && value->kind == JSON_NUMBER ? value->number : NAN, unit);
    return value == NULL              ? space->text
           : value->kind == JSON_TEXT ? value->text
           : value->kind == JSON_BOOL ? (value->boolean ? "yes" : "no")
                                      : space->text;
}

record_column record_values(run_record *run, const json_value *array)
{
    const json_value *first = json_first(array, JSON_ARRAY), *v = first;
    record_column column = {NULL, 0};
    for (; v != NULL && column.count < RECORD_NUMBERS_MAX; v = v->next) {
        column.count += 1;
    }
    column.value = column.count > 0 ? record_alloc(run, column.count, sizeof *column.value) : NULL;
    column.count = column.value != NULL ? column.count : 0;
    v = first;
    for (int i = 0; i < column.count; ++i, v = v->next) {
        column.value[i] = v->kind == JSON_NUMBER ? v->number : NAN;
    }
    return column;
}

record_column record_numbers(run_record *run, const json_value *object, const char *key)
{
    return record_values(run, json_find(object, key));
}

double record_at(const record_column *column, double index)
{
    return index >= 0 && index < column->count ? column->value[(int)index] : NAN;
}

/* ---- run.json ---- */

const char *record_option(const run_record *run, const char *name)
{
    return json_string(json_find(json_find(run->manifest, "options"), name), "value", "");
}

const char *record_rows_word(const run_record *run)
{
    return json_string(run->data, "rows", json_string(json_find(run->summary, "outcome"), "rows", "rows"));
}

const json_value *record_fact(const run_record *run, const char *key)
{
    const json_value *value = facts_value(run->data, key);
    const json_value *group = json_first(json_find(run->summary, "facts"), JSON_ARRAY);
    for (; value == NULL && group != NULL; group = group->next) {
        value = facts_value_of(json_find(group, "rows"), key);
    }
    return value;
}

const char *record_class(const run_record *run, double class, char text[RECORD_CLASS_BYTES])
{
    const json_value *name = class >= 0 ? run->class_name : NULL;
    for (double k = 0; name != NULL && k < class; ++k) {
        name = name->next;
    }
    const int used = snprintf(text, RECORD_CLASS_BYTES, "%s", quantity_count(class).text);
    if (name != NULL && name->kind == JSON_TEXT) {
        const size_t room = RECORD_CLASS_BYTES - (size_t)used - 1; /* behind a blank */
        snprintf(text + used, RECORD_CLASS_BYTES - (size_t)used, " %.*s", (int)utf8_fitting(name->text, room),
                 name->text);
    }
    return text;
}

/* ---- the folder ---- */

void record_problem(run_record *run, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    if (run->problems < RECORD_PROBLEMS) {
        vsnprintf(run->problem[run->problems++], RECORD_PROBLEM_BYTES, format, arguments);
    }
    va_end(arguments);
}

/* Keeps a failure's words and goes on; only a lack of memory is the report's own failure. */
static weft_status remember(run_record *run, weft_status status, const char *what)
{
    if (status == WEFT_OK || status == WEFT_ERR_RESOURCE) {
        return status;
    }
    record_problem(run, "%s%s", what, weft_error_message());
    weft_error_clear();
    return WEFT_OK;
}

static void tell_ending(run_record *run)
{
    const double code = json_number(run->manifest, "exit");
    if (isnan(code)) {
        record_problem(
            run, "run.json has no exit code: the job is still running, or it was killed before it could say why.");
    } else if (code != 0) {
        const bool known = code > 0 && code < 126 && code == floor(code);
        record_problem(run, "The job ended with exit code %.0f: %s.", code,
                       known ? weft_status_text((weft_status)(int)code) : "not one of Weft's");
    }
}

/* The last part of the path: "runs/a/" is "a"; "." and ".." stay as they are. */
static void name_of(const char *folder, char name[256])
{
    size_t end = strlen(folder);
    while (end > 1 && folder[end - 1] == '/') {
        end -= 1;
    }
    size_t start = end;
    while (start > 0 && folder[start - 1] != '/') {
        start -= 1;
    }
    snprintf(name, 256, "%.*s", (int)(end - start), folder + start);
}

static void find_members(run_record *run)
{
    run->data = facts_data_of(run->manifest, &run->earlier);
    run->class_name = json_first(json_find(run->data, "class_names"), JSON_ARRAY);
    run->per_rank = json_find(run->summary, "per_rank");
    const json_value *v = json_first(json_find(run->per_rank, "wall_s"), JSON_ARRAY);
    for (; v != NULL && run->rank_count < RECORD_NUMBERS_MAX; v = v->next) {
        run->rank_count += 1;
    }
}

/* A search has one file for a report. */
static weft_status open_search(run_record *run, const char *path)
{
    name_of(run->folder, run->name);
    run->search = true;
    WEFT_TRY(remember(run, json_read_object(path, DOCUMENT_MAX, &run->summary_document, &run->summary),
                      "search.json cannot be used: "));
    record_figures_make(run);
    return run->failed;
}

weft_status record_open(const char *folder, run_record *run)
{
    char search[FILE_PATH_MAX], manifest[FILE_PATH_MAX], summary[FILE_PATH_MAX], metrics[FILE_PATH_MAX],
        explain[FILE_PATH_MAX], plan[FILE_PATH_MAX];
    memset(run, 0, sizeof *run);
    WEFT_TRY(file_path(run->folder, "%s", folder));
    WEFT_TRY(file_path(search, "%s/search.json", folder));
    if (file_exists(search)) {
        return open_search(run, search);
    }
    WEFT_TRY(file_path(manifest, "%s/run.json", folder));
    WEFT_TRY(file_path(summary, "%s/summary.json", folder));
    WEFT_TRY(file_path(metrics, "%s/metrics.jsonl", folder));
    WEFT_TRY(file_path(explain, "%s/explain/explain.json", folder));
    WEFT_TRY(file_path(plan, "%s/focus/plan.json", folder));
    WEFT_CHECK(file_exists(manifest) || file_exists(summary) || file_exists(metrics), WEFT_ERR_NOINPUT,
               "%s: no run there (run.json, summary.json and metrics.jsonl are missing): name a folder that weft train "
               "wrote with --run-dir",
               folder);
    name_of(folder, run->name);
    WEFT_TRY(remember(run, json_read_object(manifest, DOCUMENT_MAX, &run->manifest_document, &run->manifest),
                      "run.json cannot be used: "));
    if (run->manifest != NULL) {
        tell_ending(run);
    }
    if (file_exists(summary)) {
        WEFT_TRY(remember(run, json_read_object(summary, DOCUMENT_MAX, &run->summary_document, &run->summary),
                          "summary.json cannot be used: "));
    } else {
        record_problem(run, "There is no summary.json: the figures are those of the epochs in metrics.jsonl, so far.");
    }
    if (file_exists(metrics)) {
        WEFT_TRY(remember(run, record_metrics_read(metrics, run), ""));
    } else {
        record_problem(run, "metrics.jsonl is missing: there are no curves.");
    }
    if (file_exists(explain)) {
        WEFT_TRY(remember(run, json_read_object(explain, DOCUMENT_MAX, &run->explain_document, &run->explanation),
                          "explain/explain.json cannot be used: "));
    }
    if (file_exists(plan)) {
        WEFT_TRY(remember(run, json_read_object(plan, DOCUMENT_MAX, &run->plan_document, &run->plan),
                          "focus/plan.json cannot be used: "));
    }
    find_members(run);
    record_figures_make(run);
    return run->failed;
}

void record_close(run_record *run)
{
    for (int s = 0; s < run->series_count; ++s) {
        weft_free(run->series[s].epoch);
    }
    weft_free(run->series);
    for (record_block *block = run->blocks, *next; block != NULL; block = next) {
        next = block->next;
        weft_free(block);
    }
    json_free(run->manifest_document);
    json_free(run->summary_document);
    json_free(run->explain_document);
    json_free(run->plan_document);
    memset(run, 0, sizeof *run);
}
