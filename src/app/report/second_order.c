/*
 * app/report/second_order.c: what second order (--precondition) takes of the epochs, and how its steps were bounded.
 *
 * The section is left out where metrics.jsonl has no such figures. Seconds are rank 0's; all runs of --runs count.
 */
#include <math.h>
#include <string.h>

#include "app/report/drawing.h"
#include "app/report/sections.h"

enum { PHASES = 3 };

static const record_field phase_field[PHASES] = {RECORD_FACTORS_S, RECORD_INVERSES_S, RECORD_STEPS_S};

typedef struct second_totals {
    double phase[PHASES], epochs_s; /* seconds of the epochs that have figures */
    int64_t epochs, clipped;        /* such epochs, and those whose last step was shortened */
    double refused;
    bool damps; /* the method has factors, which are damped */
} second_totals;

static double finite_or_0(double value)
{
    return isfinite(value) ? value : 0.0;
}

static void add_epoch(second_totals *t, const record_epoch *epoch)
{
    t->epochs += 1;
    t->epochs_s += finite_or_0(epoch->value[RECORD_EPOCH_S]);
    t->clipped += epoch->value[RECORD_CLIP] < 1.0;
    t->refused = fmax(t->refused, finite_or_0(epoch->value[RECORD_REFUSED]));
    t->damps = t->damps || epoch->value[RECORD_DAMPING] > 0.0;
    for (int i = 0; i < PHASES; ++i) {
        t->phase[i] += finite_or_0(epoch->value[phase_field[i]]);
    }
}

static second_totals sum_up(const run_record *run)
{
    second_totals t = {.epochs = 0};
    for (int s = 0; s < run->series_count; ++s) {
        const record_series *series = &run->series[s];
        for (int64_t i = 0; i < series->count; ++i) {
            if ((series->epoch[i].present >> RECORD_STEPS_S & 1) != 0) {
                add_epoch(&t, &series->epoch[i]);
            }
        }
    }
    return t;
}

/* muon has no factors, and its phases are others. */
static const char *phase_name(const second_totals *t, int phase)
{
    static const char *const names[2][PHASES] = {{"exchange", "orthogonal steps", "update"},
                                                 {"factors", "inverses", "steps"}};
    return names[t->damps][phase];
}

static void draw_phases(report_text *out, run_record *run, const second_totals *t)
{
    drawing d = {.title = "Time of second order in each epoch", .unit = UNIT_SECONDS, .from_zero = true};
    for (int i = 0; i < PHASES; ++i) {
        drawing_add_line(&d, record_curve_of(run, phase_field[i]), phase_name(t, i), drawing_colour(i), false);
    }
    lines_draw(out, run, &d);
}

static void draw_bounds(report_text *out, run_record *run)
{
    drawing d = {.title = "Damping, and the factor of the clip"};
    drawing_add_line(&d, record_curve_of(run, RECORD_DAMPING), "damping", drawing_colour(3), false);
    drawing_add_line(&d, record_curve_of(run, RECORD_CLIP), "clip", drawing_colour(4), false);
    lines_draw(out, run, &d);
}

static void table_of_phases(report_text *out, const second_totals *t)
{
    TEXT_TABLE(out, "lrrr", "phase", "seconds", "an epoch", "share of epochs");
    for (int i = 0; i < PHASES; ++i) {
        text_cell(out, "%s", phase_name(t, i));
        section_cell(out, t->phase[i], UNIT_SECONDS);
        section_cell(out, t->phase[i] / (double)t->epochs, UNIT_SECONDS);
        section_cell(out, t->epochs_s > 0.0 ? t->phase[i] / t->epochs_s : NAN, UNIT_PERCENT);
    }
    text_table_end(out);
}

static void say_bounds(report_text *out, const second_totals *t)
{
    text_paragraph(out, "", "The clip shortened the last step of %s of %s epochs.",
                   quantity_count((double)t->clipped).text, quantity_count((double)t->epochs).text);
    if (t->refused > 0.0) {
        text_paragraph(
            out, "problem",
            "%s times rows were no finite numbers or a matrix had no inverse: the factor before it was kept, "
            "or a layer took its gradient as it was.",
            quantity_count(t->refused).text);
    }
}

void section_second(report_text *out, run_record *run)
{
    const second_totals t = sum_up(run);
    const double seconds = t.phase[0] + t.phase[1] + t.phase[2];
    if (t.epochs == 0) {
        return;
    }
    text_heading(out, out->level, "Second order");
    text_paragraph(out, "", "%s took %s of the epochs' time, %s in all.", record_option(run, "precondition"),
                   quantity_percent(t.epochs_s > 0.0 ? seconds / t.epochs_s : NAN).text,
                   quantity_seconds(seconds).text);
    if (out->html) {
        text_html(out, PAIR_BEGIN);
        draw_phases(out, run, &t);
        text_html(out, PAIR_NEXT);
    }
    table_of_phases(out, &t);
    if (out->html && t.damps) {
        draw_bounds(out, run);
    }
    text_html(out, PAIR_END);
    if (t.damps) {
        say_bounds(out, &t);
    }
}
