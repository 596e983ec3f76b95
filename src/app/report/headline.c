/* app/report/headline.c: what a run was, how it ended, and its figures in large letters. */
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "app/report/sections.h"

void section_title(const report_run *run, char *title, size_t bytes)
{
    const char *data = report_string(report_data(run), "name", "unknown data");
    const char *model = report_option(run, "model");
    snprintf(title, bytes, "%.200s%s%.100s", data, model[0] != '\0' ? " · " : "", model);
}

/* ---- what went wrong ---- */

static void tell_ending(report_text *out, const report_run *run)
{
    if (run->manifest == NULL) {
        text_paragraph(out, "problem", "run.json cannot be used: %s",
                       run->manifest_problem[0] != '\0' ? run->manifest_problem : "it is empty");
        return;
    }
    double code = report_number(run->manifest, "exit");
    if (isnan(code)) {
        text_paragraph(
            out, "problem",
            "run.json has no exit code: the job is still running, or it was killed before it could say why.");
    } else if (code != 0) {
        bool known = code > 0 && code < 126 && code == floor(code);
        text_paragraph(out, "problem", "The job ended with exit code %.0f: %s.", code,
                       known ? weft_status_text((weft_status)(int)code) : "not one of Weft's");
    }
}

static void tell_metrics(report_text *out, const report_run *run)
{
    if (run->metrics_problem[0] != '\0') {
        text_paragraph(out, "problem", "%s", run->metrics_problem);
    }
    if (!run->has_metrics) {
        text_paragraph(out, "problem", "metrics.jsonl is missing: there are no curves.");
    } else if (report_run_epochs(run) == 0) {
        text_paragraph(out, "problem", "metrics.jsonl has no epoch: there are no curves.");
    }
    if (run->damaged > 0) {
        text_paragraph(out, "problem",
                       "%lld of %lld lines of metrics.jsonl cannot be read (the first is line %lld) and "
                       "are left out.",
                       (long long)run->damaged, (long long)run->lines, (long long)run->first_damaged);
    }
    if (run->cut) {
        text_paragraph(
            out, "problem",
            "The last line of metrics.jsonl is cut off: the job is writing it, or was killed while it wrote.");
    }
    if (run->not_finite > 0) {
        text_paragraph(out, "problem",
                       "The loss is not a finite number in %lld epoch%s, first in epoch %lld of run %d: gaps in the "
                       "curves.",
                       (long long)run->not_finite, run->not_finite > 1 ? "s" : "", (long long)run->first_not_finite,
                       run->first_not_finite_run);
    }
}

static void tell_problems(report_text *out, const report_run *run)
{
    tell_ending(out, run);
    if (run->summary_problem[0] != '\0') {
        text_paragraph(out, "problem", "summary.json cannot be used: %s", run->summary_problem);
    } else if (run->summary == NULL) {
        text_paragraph(out, "problem",
                       "There is no summary.json: the figures are those of the epochs in metrics.jsonl, so far.");
    }
    tell_metrics(out, run);
}

/* ---- what it was ---- */

static const char *plural(double count)
{
    return count == 1 ? "" : "s";
}

/* What the network is like: a graph's has its sizes among the options, one on images its own layers. */
static void say_model(const report_run *run, char *text, size_t bytes)
{
    const json_value *images = report_images(run);
    const double layers = report_number(run->summary, "network_layers");
    if (images == NULL) {
        snprintf(text, bytes, "%.20s layers, %.20s hidden columns", report_option(run, "layers"),
                 report_option(run, "hidden"));
        return;
    }
    if (isfinite(layers)) {
        snprintf(text, bytes, "%s layers, ", quantity_count(layers).text);
    }
    const size_t at = strlen(text);
    snprintf(text + at, bytes - at, "images of %s x %s x %s", quantity_count(report_number(images, "height")).text,
             quantity_count(report_number(images, "width")).text,
             quantity_count(report_number(images, "channels")).text);
}

static void lead(report_text *out, const report_run *run, const report_figures *f)
{
    char model[160] = "", place[160] = "";
    if (run->manifest != NULL) {
        say_model(run, model, sizeof model);
        snprintf(place, sizeof place, ", on %s rank%s with %s thread%s each", quantity_count(f->ranks).text,
                 plural(f->ranks), quantity_count(f->threads).text, plural(f->threads));
        if (f->nodes > 1) {
            size_t at = strlen(place);
            snprintf(place + at, sizeof place - at, " (%s nodes)", quantity_count(f->nodes).text);
        }
    }
    if (isfinite(f->parameters)) {
        size_t at = strlen(model);
        snprintf(model + at, sizeof model - at, ", %s parameters", quantity_count(f->parameters).text);
    }
    text_paragraph(out, "lead", "%s%s; %s epoch%s in %d run%s.", model, place, quantity_count(f->epochs).text,
                   plural(f->epochs), f->runs, plural(f->runs));
    char times[256] = "";
    const char *started = report_string(run->manifest, "started", NULL);
    if (started != NULL) {
        snprintf(times, sizeof times, "Started %.40s, ended %.40s", started,
                 report_string(run->manifest, "ended", "unknown"));
    }
    if (isfinite(f->seconds)) {
        size_t at = strlen(times);
        snprintf(times + at, sizeof times - at, "%s%s on the clock", at > 0 ? "; " : "",
                 quantity_seconds(f->seconds).text);
        at = strlen(times);
        double startup = report_number(run->summary, "startup_s");
        if (isfinite(startup)) {
            snprintf(times + at, sizeof times - at, ", %s until the first epoch", quantity_seconds(startup).text);
        }
    }
    text_paragraph(out, "muted", "%s%sfolder %s", times, times[0] != '\0' ? "; " : "", run->folder);
}

/* ---- tiles ---- */

static void tile(report_text *out, const char *name, const char *value, const char *format, ...)
    __attribute__((format(printf, 4, 5)));

static void tile(report_text *out, const char *name, const char *value, const char *format, ...)
{
    char note[200];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(note, sizeof note, format, arguments);
    va_end(arguments);
    if (out->html) {
        fputs("<div class=\"tile\"><span>", out->file);
        text_write(out, name);
        fputs("</span><b>", out->file);
        text_write(out, value);
        fputs("</b><span>", out->file);
        text_write(out, note);
        fputs("</span></div>\n", out->file);
    } else {
        text_cell(out, "%s", name);
        text_cell_strong(out, "%s", value);
        text_cell(out, "%s", note);
    }
}

static void score_tile(report_text *out, const char *name, double mean, double std, int runs, const char *at)
{
    if (isfinite(std)) {
        tile(out, name, quantity_percent(mean).text, "± %.2f over %d runs, %s", 100 * std, runs, at);
    } else {
        tile(out, name, quantity_percent(mean).text, "%s", at);
    }
}

static void baseline_tile(report_text *out, const report_run *run, const report_figures *f)
{
    char class[REPORT_CLASS_BYTES];
    if (isnan(f->baseline)) {
        return;
    }
    if (isnan(f->baseline_class)) {
        tile(out, "Baseline", quantity_percent(f->baseline).text, "a guess");
    } else {
        tile(out, "Baseline", quantity_percent(f->baseline).text,
             "class %s, the largest in training: its share of the %s split",
             report_class(run, f->baseline_class, class), f->baseline_split);
    }
}

static void tiles(report_text *out, const report_run *run, const report_figures *f)
{
    char name[64];
    const bool chosen = isfinite(f->valid); /* by validation */
    const char *when = chosen ? "at the best validation epoch" : "after the last evaluation, as nothing was validated";
    char at[192];
    snprintf(at, sizeof at, "%s", when);
    if (out->html) {
        fputs("<div class=\"tiles\">\n", out->file);
    } else {
        text_table_begin(out, "lrl", "figure|value|");
    }
    snprintf(name, sizeof name, "Test %s", f->metric);
    if (isfinite(f->best_epoch)) {
        snprintf(at, sizeof at, "%s, %s of %s", when, quantity_count(f->best_epoch).text,
                 quantity_count(f->last_epoch).text);
    }
    score_tile(out, name, f->test, f->test_std, f->runs, at);
    snprintf(name, sizeof name, "Validation %s", f->metric);
    score_tile(out, name, f->valid, f->valid_std, f->runs,
               chosen ? "the best" : "no row of a validation split was scored");
    baseline_tile(out, run, f);
    tile(out, "Time of an epoch", quantity_seconds(f->epoch_s).text, "median; quartiles %s, %s",
         quantity_seconds(f->epoch_s_q1).text, quantity_seconds(f->epoch_s_q3).text);
    if (f->ranks == 1) {
        tile(out, "Sent in an epoch", quantity_bytes(f->epoch_bytes).text, "one rank has nobody to send to");
    } else if (f->bytes_of_rank_0) {
        tile(out, "Sent in an epoch", quantity_bytes(f->epoch_bytes).text, "by rank 0, median");
    } else {
        tile(out, "Sent in an epoch", quantity_bytes(f->epoch_bytes_all).text, "by all ranks; %s by each, mean",
             quantity_bytes(f->epoch_bytes).text);
    }
    tile(out, "Peak memory", quantity_bytes(f->peak_memory).text, "of the largest rank");
    if (out->html) {
        fputs("</div>\n", out->file);
    } else {
        text_table_end(out);
    }
}

void section_headline(report_text *out, const report_run *run, const report_figures *figures)
{
    lead(out, run, figures);
    tell_problems(out, run);
    section_warnings(out, run);
    tiles(out, run, figures);
}
