/*
 * app/report/learning.c: loss and scores over the epochs.
 *
 * One run: its curves, the best epoch marked. Several (--runs): each lightly, their median on top, the best epoch of
 * the best run marked. The table of epochs below them says the same in figures.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "app/report/chart.h"
#include "app/report/sections.h"
#include "base/alloc.h"

enum { FAINT_RUNS_MAX = 20, TABLE_ROWS = 12, RUN_ROWS_MAX = 100 };

typedef struct curves {
    report_curve median[REPORT_FIELDS];
    report_curve faint[CHART_LINES_MAX];
    int faints;
} curves;

static void curves_free(curves *c)
{
    for (int f = 0; f < REPORT_FIELDS; ++f) {
        report_curve_free(&c->median[f]);
    }
    for (int i = 0; i < c->faints; ++i) {
        report_curve_free(&c->faint[i]);
    }
}

/* Each run's own curve of a field, behind the others. */
static weft_status add_faint(chart *c, curves *space, const report_run *run, report_field field, const char *colour)
{
    int shown = run->series_count > 1 && run->series_count <= FAINT_RUNS_MAX ? run->series_count : 0;
    for (int s = 0; s < shown && space->faints < CHART_LINES_MAX && c->lines < CHART_LINES_MAX - 4; ++s) {
        report_curve *curve = &space->faint[space->faints];
        WEFT_TRY(report_curve_of_series(&run->series[s], field, curve));
        space->faints += 1;
        c->line[c->lines++] = (chart_line){.curve = curve, .colour = colour, .faint = true};
    }
    return WEFT_OK;
}

static void add_median(chart *c, const curves *space, report_field field, const char *name, const char *colour)
{
    c->line[c->lines++] = (chart_line){.curve = &space->median[field], .name = name, .colour = colour};
}

static const report_series *best_series(const report_run *run)
{
    const report_series *best = NULL;
    for (int s = 0; s < run->series_count; ++s) {
        const report_series *series = &run->series[s];
        if (series->best >= 0 && (best == NULL || series->epoch[series->best].value[REPORT_VALID] >
                                                      best->epoch[best->best].value[REPORT_VALID])) {
            best = series;
        }
    }
    return best;
}

static void title_of(const report_run *run, const char *name, char title[128])
{
    if (run->series_count > 1) {
        snprintf(title, 128, "%s, median of %d runs%s", name, run->series_count,
                 run->series_count <= FAINT_RUNS_MAX ? "; each run lightly" : "");
    } else {
        snprintf(title, 128, "%s", name);
    }
}

static weft_status draw_loss(report_text *out, const report_run *run, curves *space)
{
    char title[128];
    title_of(run, "Training loss", title);
    chart c = {.title = title, .unit = CHART_PLAIN};
    WEFT_TRY(add_faint(&c, space, run, REPORT_LOSS, "loss"));
    add_median(&c, space, REPORT_LOSS, "loss", "loss");
    if (!chart_draw(out, &c)) {
        text_paragraph(out, "muted", "No epoch has a finite loss.");
    }
    return WEFT_OK;
}

static weft_status draw_scores(report_text *out, const report_run *run, const char *metric, curves *space)
{
    char title[128], name[64], mark[96];
    snprintf(name, sizeof name, "%c%s", metric[0] == 'a' ? 'A' : metric[0], metric + 1);
    title_of(run, name, title);
    chart c = {.title = title, .unit = CHART_PERCENT, .mark_colour = "valid"};
    WEFT_TRY(add_faint(&c, space, run, REPORT_VALID, "valid"));
    WEFT_TRY(add_faint(&c, space, run, REPORT_TEST, "test"));
    add_median(&c, space, REPORT_TRAIN, "train", "train");
    add_median(&c, space, REPORT_TEST, "test", "test");
    add_median(&c, space, REPORT_VALID, "valid", "valid");
    const report_series *best = best_series(run);
    if (best != NULL) {
        const report_epoch *epoch = &best->epoch[best->best];
        c.mark_x = (double)epoch->epoch;
        c.mark_y = epoch->value[REPORT_VALID];
        snprintf(mark, sizeof mark, "best: %s, epoch %lld", quantity_percent(c.mark_y).text, (long long)epoch->epoch);
        if (run->series_count > 1) {
            size_t at = strlen(mark);
            snprintf(mark + at, sizeof mark - at, " of run %d", best->run);
        }
        c.mark_text = mark;
    }
    if (!chart_draw(out, &c)) {
        text_paragraph(out, "muted", "No epoch was evaluated.");
    }
    return WEFT_OK;
}

/* ---- tables ---- */

static double at_epoch(const report_curve *curve, double epoch)
{
    int64_t low = 0, high = curve->count;
    while (low < high) {
        int64_t middle = low + (high - low) / 2;
        if (curve->x[middle] < epoch) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low < curve->count && curve->x[low] == epoch ? curve->y[low] : NAN;
}

/* Rows at evenly spread epochs that were evaluated, if any were. */
static void table_of_epochs(report_text *out, const report_run *run, const curves *space)
{
    const report_curve *rows =
        space->median[REPORT_VALID].count > 0 ? &space->median[REPORT_VALID] : &space->median[REPORT_LOSS];
    int64_t count = rows->count < TABLE_ROWS ? rows->count : TABLE_ROWS;
    if (count == 0) {
        return;
    }
    text_fold_begin(out,
                    run->series_count > 1 ? "Some epochs in figures (medians over the runs)" : "Some epochs in figures",
                    false);
    text_table_begin(out, "rrrrrrr", "epoch|loss|train|valid|test|time|learning rate");
    for (int64_t i = 0; i < count; ++i) {
        double epoch = rows->x[count > 1 ? (rows->count - 1) * i / (count - 1) : 0];
        text_cell(out, "%.0f", epoch);
        text_cell(out, "%s", quantity_real(at_epoch(&space->median[REPORT_LOSS], epoch)).text);
        text_cell(out, "%s", quantity_percent(at_epoch(&space->median[REPORT_TRAIN], epoch)).text);
        text_cell(out, "%s", quantity_percent(at_epoch(&space->median[REPORT_VALID], epoch)).text);
        text_cell(out, "%s", quantity_percent(at_epoch(&space->median[REPORT_TEST], epoch)).text);
        text_cell(out, "%s", quantity_seconds(at_epoch(&space->median[REPORT_EPOCH_S], epoch)).text);
        text_cell(out, "%s", quantity_real(at_epoch(&space->median[REPORT_LR], epoch)).text);
    }
    text_table_end(out);
    text_fold_end(out);
}

static void table_of_runs(report_text *out, const report_run *run)
{
    int rows = run->series_count < RUN_ROWS_MAX ? run->series_count : RUN_ROWS_MAX;
    text_table_begin(out, "rrrrrr", "run|epochs|best epoch|valid|test|last loss");
    for (int s = 0; s < rows; ++s) {
        const report_series *series = &run->series[s];
        const report_epoch *best = series->best >= 0 ? &series->epoch[series->best] : NULL;
        double last_loss = series->count > 0 ? series->epoch[series->count - 1].value[REPORT_LOSS] : NAN;
        text_cell(out, "%d", series->run);
        text_cell(out, "%s", quantity_count((double)series->count).text);
        text_cell(out, "%s", quantity_count(best != NULL ? (double)best->epoch : NAN).text);
        text_cell(out, "%s", quantity_percent(best != NULL ? best->value[REPORT_VALID] : NAN).text);
        text_cell(out, "%s", quantity_percent(best != NULL ? best->value[REPORT_TEST] : NAN).text);
        text_cell(out, "%s", quantity_real(last_loss).text);
    }
    text_table_end(out);
    if (rows < run->series_count) {
        text_paragraph(out, "muted", "The first %d of %d runs.", rows, run->series_count);
    }
}

/* The learning rate, a curve where it changes and a sentence where it does not, and the runs. */
static void tell_runs(report_text *out, const report_run *run, const curves *space)
{
    const report_curve *rate = &space->median[REPORT_LR];
    bool constant = true;
    for (int64_t i = 1; i < rate->count; ++i) {
        constant = constant && rate->y[i] == rate->y[0];
    }
    if (constant || !out->html) {
        if (constant && rate->count > 0 && isfinite(rate->y[0])) {
            text_paragraph(out, "muted", "Learning rate %.6g in every epoch.", rate->y[0]);
        }
        table_of_runs(out, run);
        return;
    }
    char title[128];
    title_of(run, "Learning rate", title);
    chart c = {.title = title, .unit = CHART_PLAIN, .from_zero = true};
    add_median(&c, space, REPORT_LR, "rate", "time");
    fputs("<div class=\"pair\"><div>\n", out->file);
    chart_draw(out, &c);
    fputs("</div><div>\n", out->file);
    table_of_runs(out, run);
    fputs("</div></div>\n", out->file);
}

weft_status section_learning(report_text *out, const report_run *run, const report_figures *figures)
{
    curves *space = NULL;
    if (report_run_epochs(run) == 0) {
        return WEFT_OK;
    }
    WEFT_TRY(WEFT_NEW_ZERO(&space, 1, WEFT_MEM_GENERAL));
    weft_status status = WEFT_OK;
    for (int f = 0; f < REPORT_FIELDS; ++f) {
        WEFT_TRY_GOTO(report_curve_of(run, (report_field)f, &space->median[f]), status, done);
    }
    text_heading(out, out->level, "Learning");
    if (out->html) {
        fputs("<div class=\"pair\"><div>\n", out->file);
        WEFT_TRY_GOTO(draw_loss(out, run, space), status, done);
        fputs("</div><div>\n", out->file);
        WEFT_TRY_GOTO(draw_scores(out, run, figures->metric, space), status, done);
        fputs("</div></div>\n", out->file);
    }
    tell_runs(out, run, space);
    table_of_epochs(out, run, space);
done:
    curves_free(space);
    weft_free(space);
    return status;
}
