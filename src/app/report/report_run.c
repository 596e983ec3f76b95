/* app/report/report_run.c: see app/report/report_run.h; run.json and summary.json. metrics.jsonl is read in metrics.c. */
#include "app/report/report_run.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "app/report/report_metrics.h"
#include "base/alloc.h"

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
