/*
 * app/report/compare.c: several run folders side by side: their figures, the settings in which they differ, their
 * curves in one drawing.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "app/report/chart.h"
#include "app/report/sections.h"
#include "base/alloc.h"

static const char *colour_of(int folder)
{
    static const char *const colours[] = {"c0", "c1", "c2", "c3", "c4", "c5", "c6", "c7"};
    return colours[folder % 8];
}

static void score_cell(report_text *out, double mean, double std)
{
    if (isfinite(std)) {
        text_cell(out, "%s ± %.2f", quantity_percent(mean).text, 100 * std);
    } else {
        text_cell(out, "%s", quantity_percent(mean).text);
    }
}

static void table_of_figures(report_text *out, const report_run *runs, const report_figures *f, int count)
{
    text_table_begin(
        out, "llrrrrrrrrr",
        "folder|ended|runs|epochs|test|validation|baseline|epoch, median|sent per epoch|peak memory|ranks");
    for (int k = 0; k < count; ++k) {
        double code = report_number(runs[k].manifest, "exit");
        text_cell_colour(out, colour_of(k), "%s", runs[k].name);
        if (isnan(code)) {
            text_cell(out, "unknown");
        } else {
            text_cell(out, code == 0 ? "well" : "with exit code %.0f", code);
        }
        text_cell(out, "%d", f[k].runs);
        text_cell(out, "%s", quantity_count(f[k].epochs).text);
        score_cell(out, f[k].test, f[k].test_std);
        score_cell(out, f[k].valid, f[k].valid_std);
        text_cell(out, "%s", quantity_percent(f[k].baseline).text);
        text_cell(out, "%s", quantity_seconds(f[k].epoch_s).text);
        text_cell(out, "%s", quantity_bytes(f[k].bytes_of_rank_0 ? f[k].epoch_bytes : f[k].epoch_bytes_all).text);
        text_cell(out, "%s", quantity_bytes(f[k].peak_memory).text);
        text_cell(out, "%s", quantity_count(f[k].ranks).text);
    }
    text_table_end(out);
    for (int k = 0; k < count; ++k) {
        if (f[k].bytes_of_rank_0 && f[k].ranks > 1) {
            text_paragraph(out, "muted", "%s: the bytes of an epoch are those of rank 0.", runs[k].name);
        }
    }
}

/* ---- settings that differ ---- */

/* Names of places and of output, and what was measured, which differ always and change no result but its last bits. */
static bool is_housekeeping(const char *option)
{
    static const char *const names[] = {"run-dir", "choices",      "force",  "quiet", "verbose", "help",
                                        "version", "print-config", "config", "trace", "dry-run", "tensorboard"};
    for (size_t i = 0; i < sizeof names / sizeof *names; ++i) {
        if (strcmp(option, names[i]) == 0) {
            return true;
        }
    }
    return false;
}

/* A value of run.json as text: an option, a text or a number at the top, or one inside "versions", "graph" and "images". */
typedef struct setting {
    const char *group, *key;
} setting;

static quantity setting_number(const report_run *run, setting s)
{
    const json_value *object = s.group != NULL ? json_find(run->manifest, s.group) : run->manifest;
    return quantity_count(report_number(object, s.key));
}

static const char *setting_text(const report_run *run, setting s, quantity *space)
{
    const json_value *object = s.group != NULL ? json_find(run->manifest, s.group) : run->manifest;
    if (s.group != NULL && strcmp(s.group, "options") == 0) {
        return json_find(object, s.key) != NULL ? report_option(run, s.key) : "–";
    }
    *space = setting_number(run, s);
    return report_string(object, s.key, space->text);
}

static bool differs(const report_run *runs, int count, setting s)
{
    quantity space, other;
    const char *first = setting_text(&runs[0], s, &space);
    for (int k = 1; k < count; ++k) {
        if (strcmp(first, setting_text(&runs[k], s, &other)) != 0) {
            return true;
        }
    }
    return false;
}

/* What equals the first folder's is plain, what differs from it is strong. */
static void setting_row(report_text *out, const report_run *runs, int count, setting s)
{
    quantity space, other;
    const char *first = setting_text(&runs[0], s, &space);
    bool option = s.group != NULL && strcmp(s.group, "options") == 0;
    text_cell(out, option ? "--%s" : "%s", s.key);
    for (int k = 0; k < count; ++k) {
        const char *value = setting_text(&runs[k], s, &other);
        bool same = strcmp(first, value) == 0;
        value = value[0] != '\0' ? value : "(empty)";
        if (same) {
            text_cell(out, "%s", value);
        } else {
            text_cell_strong(out, "%s", value);
        }
    }
}

static void begin_settings(report_text *out, const report_run *runs, int count, bool *begun)
{
    static const char align[] = "lllllllllllllllllllllllllllllllllllllllllllllllllllllllllllllllll";
    if (*begun) {
        return;
    }
    *begun = true;
    text_columns_begin(out, align + sizeof align - 1 - (size_t)(count + 1));
    text_column_name(out, "setting");
    for (int k = 0; k < count; ++k) {
        text_column_name(out, runs[k].name);
    }
    text_columns_end(out);
}

/* Known to an earlier folder: its row has been written. */
static bool seen_before(const report_run *runs, int folder, const char *option)
{
    for (int k = 0; k < folder; ++k) {
        if (json_find(json_find(runs[k].manifest, "options"), option) != NULL) {
            return true;
        }
    }
    return false;
}

static void differing_options(report_text *out, const report_run *runs, int count, bool *begun)
{
    for (int k = 0; k < count; ++k) {
        const json_value *options = json_find(runs[k].manifest, "options");
        bool object = options != NULL && options->kind == JSON_OBJECT;
        for (const json_value *o = object ? options->child : NULL; o != NULL; o = o->next) {
            setting s = {"options", o->key};
            if (!is_housekeeping(o->key) && !seen_before(runs, k, o->key) && differs(runs, count, s)) {
                begin_settings(out, runs, count, begun);
                setting_row(out, runs, count, s);
            }
        }
    }
}

static void table_of_settings(report_text *out, const report_run *runs, int count)
{
    static const setting others[] = {{NULL, "ranks"},
                                     {NULL, "nodes"},
                                     {NULL, "threads_per_rank"},
                                     {NULL, "host"},
                                     {NULL, "cpu"},
                                     {NULL, "backend"},
                                     {NULL, "gpu_rows"},
                                     {"graph", "name"},
                                     {"graph", "hash"},
                                     {"images", "name"},
                                     {"images", "hash"},
                                     {"versions", "weft"},
                                     {"versions", "revision"},
                                     {"versions", "compiler"},
                                     {"versions", "build"}};
    bool begun = false;
    text_heading(out, 2, "Settings that differ");
    differing_options(out, runs, count, &begun);
    for (size_t i = 0; i < sizeof others / sizeof *others; ++i) {
        if (differs(runs, count, others[i])) {
            begin_settings(out, runs, count, &begun);
            setting_row(out, runs, count, others[i]);
        }
    }
    if (begun) {
        text_table_end(out);
        text_paragraph(out, "muted", "Emphasised: other than in %s.", runs[0].name);
    } else {
        text_paragraph(out, "muted", "None.");
    }
}

/* ---- curves ---- */

static weft_status overlay(report_text *out, const report_run *runs, int count, report_field field, chart_unit unit,
                           const char *title, report_curve *curves)
{
    chart c = {.title = title, .unit = unit};
    weft_status status = WEFT_OK;
    for (int k = 0; k < count; ++k) {
        WEFT_TRY_GOTO(report_curve_of(&runs[k], field, &curves[k]), status, done);
        c.line[c.lines++] = (chart_line){.curve = &curves[k], .name = runs[k].name, .colour = colour_of(k)};
    }
    if (!chart_draw(out, &c)) {
        text_paragraph(out, "muted", "%s: no finite value.", title);
    }
done:
    for (int k = 0; k < count; ++k) {
        report_curve_free(&curves[k]);
    }
    return status;
}

static weft_status draw_curves(report_text *out, const report_run *runs, const report_figures *f, int count)
{
    report_curve *curves = NULL;
    char title[64];
    WEFT_TRY(WEFT_NEW_ZERO(&curves, count, WEFT_MEM_GENERAL));
    weft_status status = WEFT_OK;
    fputs("<div class=\"pair\"><div>\n", out->file);
    WEFT_TRY_GOTO(overlay(out, runs, count, REPORT_LOSS, CHART_PLAIN, "Training loss", curves), status, done);
    fputs("</div><div>\n", out->file);
    snprintf(title, sizeof title, "Validation %s", f[0].metric);
    WEFT_TRY_GOTO(overlay(out, runs, count, REPORT_VALID, CHART_PERCENT, title, curves), status, done);
    fputs("</div></div>\n", out->file);
done:
    weft_free(curves);
    return status;
}

weft_status section_compare(report_text *out, const report_run *runs, const report_figures *figures, int count)
{
    table_of_figures(out, runs, figures, count);
    if (out->html) {
        WEFT_TRY(draw_curves(out, runs, figures, count));
    }
    table_of_settings(out, runs, count);
    return WEFT_OK;
}
