/*
 * app/cli/command_report.c: weft report: run folders as one page to read, send and keep.
 *
 * The page is a file of its own: style, drawings and script stand in it, and nothing is loaded from anywhere. One
 * folder gives its report; several give a comparison first and then each folder's.
 */
#include <string.h>

#include "app/cli/command.h"
#include "app/report/sections.h"
#include "base/alloc.h"
#include "base/escape.h"

typedef struct job {
    int count;
    run_record *run;
} job;

static weft_status read_folders(job *j, const weft_options *options)
{
    j->count = option_argument_count(options);
    WEFT_TRY(WEFT_NEW_ZERO(&j->run, j->count, WEFT_MEM_GENERAL));
    for (int k = 0; k < j->count; ++k) {
        WEFT_TRY(record_open(option_argument(options, k), &j->run[k]));
    }
    return WEFT_OK;
}

static weft_status write_to(job *j, FILE *file, bool html)
{
    report_text out = {.file = file, .html = html};
    return report_write(&out, j->run, j->count);
}

/* --out; else report.html (report.md) in the one folder, or here for several. */
static weft_status output_path(const weft_options *options, bool html, char path[FILE_PATH_MAX])
{
    const char *asked = option_text(options, OPT_REPORT_OUT);
    const char *name = html ? "report.html" : "report.md";
    if (asked[0] == '\0') {
        return option_argument_count(options) == 1 ? file_path(path, "%s/%s", option_argument(options, 0), name)
                                                   : file_path(path, "%s", name);
    }
    WEFT_TRY(file_path(path, "%s", asked));
    WEFT_CHECK(!file_exists(path) || option_flag(options, OPT_FORCE), WEFT_ERR_USAGE,
               "%s exists: choose another --out, or add --force to replace it", path);
    return WEFT_OK;
}

static weft_status write_file(job *j, const char *path, bool html)
{
    file_writer writer;
    WEFT_TRY(file_writer_open(path, &writer));
    weft_status status = write_to(j, writer.stream, html);
    status = status == WEFT_OK ? file_writer_commit(&writer) : status;
    file_writer_discard(&writer);
    if (status == WEFT_OK) {
        printf("report: %s\n", escape_say(path).text);
    }
    return status;
}

weft_status app_report(const weft_options *options)
{
    job j = {0};
    char path[FILE_PATH_MAX];
    bool html = option_choice(options, OPT_REPORT_FORMAT) == REPORT_HTML;
    bool to_stdout = strcmp(option_text(options, OPT_REPORT_OUT), "-") == 0;
    weft_status status = to_stdout ? WEFT_OK : output_path(options, html, path);
    status = status == WEFT_OK ? read_folders(&j, options) : status;
    status = status == WEFT_OK ? to_stdout ? write_to(&j, stdout, html) : write_file(&j, path, html) : status;
    for (int k = 0; k < j.count && j.run != NULL; ++k) {
        record_close(&j.run[k]);
    }
    weft_free(j.run);
    return status;
}
