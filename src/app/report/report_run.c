/* app/report/report_run.c: see app/report/report_run.h; run.json and summary.json. metrics.jsonl is read in metrics.c. */
#include "app/report/report_run.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "app/report/report_metrics.h"
#include "app/report/text.h"
#include "app/workload/workload.h"
#include "base/alloc.h"
#include "base/escape.h"

enum { DOCUMENT_MAX = 1 << 20 };

double report_number(const json_value *object, const char *key)
{
    const json_value *value = json_find(object, key);
    return value != NULL && value->kind == JSON_NUMBER ? value->number : NAN;
}

const char *report_string(const json_value *object, const char *key, const char *otherwise)
{
    const json_value *value = json_find(object, key);
    return value != NULL && value->kind == JSON_TEXT && value->text[0] != '\0' ? value->text : otherwise;
}

const char *report_option(const report_run *run, const char *name)
{
    return report_string(json_find(json_find(run->manifest, "options"), name), "value", "");
}

static const json_value *object_of(const report_run *run, const char *key)
{
    const json_value *object = json_find(run->manifest, key);
    return object != NULL && object->kind == JSON_OBJECT ? object : NULL;
}

const json_value *report_images(const report_run *run)
{
    return object_of(run, "images");
}

const json_value *report_data(const report_run *run)
{
    const json_value *images = report_images(run);
    return images != NULL ? images : object_of(run, "graph");
}

static const json_value *first_class_name(const report_run *run)
{
    const json_value *names = json_find(report_data(run), WORKLOAD_CLASS_NAMES);
    return names != NULL && names->kind == JSON_ARRAY ? names->child : NULL;
}

bool report_class_named(const report_run *run)
{
    return first_class_name(run) != NULL;
}

/* A character that was cut in two is left out. */
static void end_whole(char *text)
{
    uint32_t code;
    int length = 0;
    for (char *at = text; *at != '\0'; at += length) {
        length = utf8_length(at, &code);
        if (length <= 0) {
            *at = '\0';
            return;
        }
    }
}

const char *report_class(const report_run *run, double class, char text[REPORT_CLASS_BYTES])
{
    const json_value *name = class >= 0 ? first_class_name(run) : NULL;
    for (double k = 0; name != NULL && k < class; ++k) {
        name = name->next;
    }
    const char *number = quantity_count(class).text;
    if (name != NULL && name->kind == JSON_TEXT) {
        snprintf(text, REPORT_CLASS_BYTES, "%s %s", number, name->text);
        end_whole(text);
    } else {
        snprintf(text, REPORT_CLASS_BYTES, "%s", number);
    }
    return text;
}

/* Keep a failure's words and go on; only a lack of memory is the report's own failure. */
static weft_status remember(weft_status status, char problem[REPORT_PROBLEM_MAX])
{
    if (status == WEFT_OK || status == WEFT_ERR_RESOURCE) {
        return status;
    }
    snprintf(problem, REPORT_PROBLEM_MAX, "%s", weft_error_message());
    weft_error_clear();
    return WEFT_OK;
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

weft_status report_run_open(const char *folder, report_run *run)
{
    char manifest[FILE_PATH_MAX], summary[FILE_PATH_MAX], metrics[FILE_PATH_MAX];
    memset(run, 0, sizeof *run);
    WEFT_TRY(file_path(run->folder, "%s", folder));
    WEFT_TRY(file_path(manifest, "%s/run.json", folder));
    WEFT_TRY(file_path(summary, "%s/summary.json", folder));
    WEFT_TRY(file_path(metrics, "%s/metrics.jsonl", folder));
    WEFT_CHECK(file_exists(manifest) || file_exists(summary) || file_exists(metrics), WEFT_ERR_NOINPUT,
               "%s: no run there (run.json, summary.json and metrics.jsonl are missing): name a folder that weft train "
               "wrote with --run-dir",
               folder);
    name_of(folder, run->name);
    WEFT_TRY(remember(json_read_object(manifest, DOCUMENT_MAX, &run->manifest_document, &run->manifest),
                      run->manifest_problem));
    if (file_exists(summary)) {
        WEFT_TRY(remember(json_read_object(summary, DOCUMENT_MAX, &run->summary_document, &run->summary),
                          run->summary_problem));
    }
    run->has_metrics = file_exists(metrics);
    return run->has_metrics ? remember(report_metrics_read(metrics, run), run->metrics_problem) : WEFT_OK;
}

void report_run_close(report_run *run)
{
    for (int s = 0; s < run->series_count; ++s) {
        weft_free(run->series[s].epoch);
    }
    weft_free(run->series);
    json_free(run->manifest_document);
    json_free(run->summary_document);
    memset(run, 0, sizeof *run);
}

int64_t report_run_epochs(const report_run *run)
{
    int64_t count = 0;
    for (int s = 0; s < run->series_count; ++s) {
        count += run->series[s].count;
    }
    return count;
}
