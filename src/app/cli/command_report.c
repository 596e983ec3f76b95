/*
 * app/cli/command_report.c: weft report: run folders as one page to read, send and keep.
 *
 * The page is a file of its own: style, drawings and script stand in it, and nothing is loaded from anywhere. One
 * folder gives its report; several give a comparison first and then each folder's.
 */
#include <string.h>
#include <unistd.h>

#include "app/cli/command.h"
#include "app/report/page.h"
#include "app/report/sections.h"
#include "base/alloc.h"
#include "base/escape.h"

typedef struct job {
    int count;
    report_run *run;
    report_figures *figures;
    report_text out;
} job;

static weft_status write_run(job *j, int k)
{
    report_text *out = &j->out;
    const report_run *run = &j->run[k];
    const report_figures *figures = &j->figures[k];
    section_headline(out, run, figures);
    WEFT_TRY(section_learning(out, run, figures));
    WEFT_TRY(section_outcome(out, run));
    WEFT_TRY(section_time(out, run, figures));
    section_advice(out, run);
    WEFT_TRY(section_communication(out, run, figures));
    WEFT_TRY(section_ranks(out, run, figures));
    section_settings(out, run, figures);
    return WEFT_OK;
}

static weft_status write_one(job *j)
{
    char title[400];
    section_title(&j->run[0], title, sizeof title);
    page_begin(&j->out, title);
    text_heading(&j->out, 1, "%s", title);
    j->out.level = 2;
    WEFT_TRY(write_run(j, 0));
    page_end(&j->out);
    return WEFT_OK;
}

static weft_status write_several(job *j)
{
    char title[400];
    snprintf(title, sizeof title, "%d training runs compared", j->count);
    page_begin(&j->out, title);
    text_heading(&j->out, 1, "%s", title);
    WEFT_TRY(section_compare(&j->out, j->run, j->figures, j->count));
    j->out.level = 3;
    for (int k = 0; k < j->count; ++k) {
        section_title(&j->run[k], title, sizeof title);
        text_heading(&j->out, 2, "%s: %s", j->run[k].name, title);
        WEFT_TRY(write_run(j, k));
    }
    page_end(&j->out);
    return WEFT_OK;
}

static weft_status write_report(job *j, FILE *file, bool html)
{
    j->out = (report_text){.file = file, .html = html, .level = 2};
    return j->count == 1 ? write_one(j) : write_several(j);
}

static weft_status read_folders(job *j, const weft_options *options)
{
    j->count = option_argument_count(options);
    WEFT_TRY(WEFT_NEW_ZERO(&j->run, j->count, WEFT_MEM_GENERAL));
    WEFT_TRY(WEFT_NEW_ZERO(&j->figures, j->count, WEFT_MEM_GENERAL));
    for (int k = 0; k < j->count; ++k) {
        WEFT_TRY(report_run_open(option_argument(options, k), &j->run[k]));
        WEFT_TRY(report_figures_of(&j->run[k], &j->figures[k]));
    }
    return WEFT_OK;
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
    weft_status status = write_report(j, writer.stream, html);
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
    if (status == WEFT_OK) {
        status = to_stdout ? write_report(&j, stdout, html) : write_file(&j, path, html);
    }
    for (int k = 0; k < j.count && j.run != NULL; ++k) {
        report_run_close(&j.run[k]);
    }
    weft_free(j.run);
    weft_free(j.figures);
    return status;
}
