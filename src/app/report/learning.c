/*
 * app/report/learning.c: loss and scores over the epochs.
 *
 * One run: its curves, the best epoch marked. Several (--runs): each lightly, their median on top, the best epoch of
 * the best run marked. The table of epochs below them says the same in figures.
 */
#include <math.h>

#include "app/report/drawing.h"
#include "app/report/sections.h"

enum { FAINT_RUNS_MAX = 20, TABLE_ROWS = 12, RUN_ROWS_MAX = 100 };

/* Adds each run's own curve of a field, which stands behind the others. */
static void add_faint(drawing *d, run_record *run, record_field field, const char *colour)
{
    const int shown = run->series_count > 1 && run->series_count <= FAINT_RUNS_MAX ? run->series_count : 0;
    for (int s = 0; s < shown; ++s) {
        const record_curve curve = record_series_curve(run, &run->series[s], field);
        drawing_add_line(d, &curve, NULL, colour, true);
    }
}

static void add_median(drawing *d, run_record *run, record_field field, const char *name, const char *colour)
{
    drawing_add_line(d, record_curve_of(run, field), name, colour, false);
}

static const record_series *best_series(const run_record *run)
{
    const record_series *best = NULL;
    for (int s = 0; s < run->series_count; ++s) {
        const record_series *series = &run->series[s];
        if (series->best >= 0 && (best == NULL || series->epoch[series->best].value[RECORD_VALID] >
                                                      best->epoch[best->best].value[RECORD_VALID])) {
            best = series;
        }
    }
    return best;
}

static phrase title_of(const run_record *run, const char *name)
{
    const int runs = run->series_count;
    phrase title = phrase_of("%s", name);
    if (runs > 1) {
        phrase_add(&title, ", median of %d runs%s", runs, runs <= FAINT_RUNS_MAX ? "; each run lightly" : "");
    }
    return title;
}

static void draw_loss(report_text *out, run_record *run)
{
    const phrase title = title_of(run, "Training loss");
    drawing d = {.title = title.text};
    add_faint(&d, run, RECORD_LOSS, "loss");
    add_median(&d, run, RECORD_LOSS, "loss", "loss");
    if (!lines_draw(out, run, &d)) {
        text_paragraph(out, "muted", "No epoch has a finite loss.");
    }
}

static void draw_scores(report_text *out, run_record *run)
{
    const char *metric = run->figures.metric;
    const phrase title = title_of(run, phrase_of("%c%s", metric[0] == 'a' ? 'A' : metric[0], metric + 1).text);
    drawing d = {.title = title.text, .unit = run->figures.score_unit, .mark_colour = "valid"};
    add_faint(&d, run, RECORD_VALID, "valid");
    add_faint(&d, run, RECORD_TEST, "test");
    add_median(&d, run, RECORD_TRAIN, "train", "train");
    add_median(&d, run, RECORD_TEST, "test", "test");
    add_median(&d, run, RECORD_VALID, "valid", "valid");
    const record_series *best = best_series(run);
    if (best != NULL) {
        const record_epoch *epoch = &best->epoch[best->best];
        d.mark_x = (double)epoch->epoch;
        d.mark_y = epoch->value[RECORD_VALID];
        d.mark = phrase_of("best: %s, epoch %lld", quantity_of(d.mark_y, d.unit).text, (long long)epoch->epoch);
        if (run->series_count > 1) {
            phrase_add(&d.mark, " of run %d", best->run);
        }
    }
    if (!lines_draw(out, run, &d)) {
        text_paragraph(out, "muted", "No epoch was evaluated.");
    }
}

/* ---- tables ---- */

static double at_epoch(const record_curve *curve, double epoch)
{
    int64_t low = 0, high = curve->count;
    while (low < high) {
        const int64_t middle = low + (high - low) / 2;
        low = curve->x[middle] < epoch ? middle + 1 : low;
        high = curve->x[middle] < epoch ? high : middle;
    }
    return low < curve->count && curve->x[low] == epoch ? curve->y[low] : NAN;
}

/* Rows at evenly spread epochs; at epochs that were evaluated, if any were. */
static void table_of_epochs(report_text *out, run_record *run)
{
    const quantity_unit score = run->figures.score_unit;
    const struct {
        record_field field;
        quantity_unit unit;
    } columns[] = {{RECORD_LOSS, UNIT_REAL}, {RECORD_TRAIN, score},          {RECORD_VALID, score},
                   {RECORD_TEST, score},     {RECORD_EPOCH_S, UNIT_SECONDS}, {RECORD_LR, UNIT_REAL}};
    const bool validated = record_curve_of(run, RECORD_VALID)->count > 0;
    const record_curve *rows = record_curve_of(run, validated ? RECORD_VALID : RECORD_LOSS);
    const int64_t count = rows->count < TABLE_ROWS ? rows->count : TABLE_ROWS;
    if (count == 0) {
        return;
    }
    text_fold_begin(out, true,
                    run->series_count > 1 ? "Some epochs in figures (medians over the runs)" : "Some epochs in figures",
                    false);
    TEXT_TABLE(out, "rrrrrrr", "epoch", "loss", "train", "valid", "test", "time", "learning rate");
    for (int64_t i = 0; i < count; ++i) {
        const double epoch = rows->x[count > 1 ? (rows->count - 1) * i / (count - 1) : 0];
        text_cell(out, "%.0f", epoch);
        for (size_t k = 0; k < sizeof columns / sizeof *columns; ++k) {
            section_cell(out, at_epoch(record_curve_of(run, columns[k].field), epoch), columns[k].unit);
        }
    }
    text_table_end(out);
    text_fold_end(out, true);
}

static void table_of_runs(report_text *out, const run_record *run)
{
    static const record_epoch none = {.value = {[RECORD_VALID] = NAN, [RECORD_TEST] = NAN}};
    const int rows = run->series_count < RUN_ROWS_MAX ? run->series_count : RUN_ROWS_MAX;
    TEXT_TABLE(out, "rrrrrr", "run", "epochs", "best epoch", "valid", "test", "last loss");
    for (int s = 0; s < rows; ++s) {
        const record_series *series = &run->series[s];
        const record_epoch *best = series->best >= 0 ? &series->epoch[series->best] : &none;
        text_cell(out, "%d", series->run);
        section_cell(out, (double)series->count, UNIT_COUNT);
        section_cell(out, best != &none ? (double)best->epoch : NAN, UNIT_COUNT);
        section_cell(out, best->value[RECORD_VALID], run->figures.score_unit);
        section_cell(out, best->value[RECORD_TEST], run->figures.score_unit);
        section_cell(out, series->count > 0 ? series->epoch[series->count - 1].value[RECORD_LOSS] : NAN, UNIT_REAL);
    }
    text_table_end(out);
    if (rows < run->series_count) {
        text_paragraph(out, "muted", "The first %d of %d runs.", rows, run->series_count);
    }
}

/* The learning rate, as a curve where it changes and as a sentence where it does not, and the runs. */
static void tell_runs(report_text *out, run_record *run)
{
    const record_curve *rate = record_curve_of(run, RECORD_LR);
    bool constant = true;
    for (int64_t i = 1; i < rate->count; ++i) {
        constant = constant && rate->y[i] == rate->y[0];
    }
    if (constant && rate->count > 0 && isfinite(rate->y[0])) {
        text_paragraph(out, "muted", "Learning rate %.6g in every epoch.", rate->y[0]);
    }
    const bool drawn = !constant && out->html;
    if (drawn) {
        const phrase title = title_of(run, "Learning rate");
        drawing d = {.title = title.text, .from_zero = true};
        add_median(&d, run, RECORD_LR, "rate", "time");
        text_html(out, PAIR_BEGIN);
        lines_draw(out, run, &d);
        text_html(out, PAIR_NEXT);
    }
    table_of_runs(out, run);
    text_html(out, drawn ? PAIR_END : "");
}

void section_learning(report_text *out, run_record *run)
{
    if (record_epochs(run) == 0) {
        return;
    }
    text_heading(out, out->level, "Learning");
    if (out->html) {
        text_html(out, PAIR_BEGIN);
        draw_loss(out, run);
        text_html(out, PAIR_NEXT);
        draw_scores(out, run);
        text_html(out, PAIR_END);
    }
    tell_runs(out, run);
    table_of_epochs(out, run);
}
