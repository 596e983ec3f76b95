/*
 * app/report/time.c: where the time of an epoch goes, over the epochs and on each rank.
 *
 * Each second of a rank belongs to one activity (base/trace/activity.h). Those of an epoch are divided by the number of
 * epochs; loading, partitioning and writing happen once a job and stand apart. What evaluation computes counts as
 * linear, aggregate and so on; "evaluate" is its scoring.
 */
#include <assert.h>
#include <math.h>
#include <string.h>

#include "app/activity/activity_table.h"
#include "app/report/drawing.h"
#include "app/report/sections.h"

enum { PARTS_MAX = ACTIVITIES_MOST };
_Static_assert((int)PARTS_MAX <= (int)SERIES_MAX, "bars have all activities");

/* Activities that the file has seconds of: once a job first; then by kind, as the bars have them: computing, messages,
 * scoring. */
typedef struct parts {
    drawing_series part[PARTS_MAX]; /* seconds per rank; finite, >= 0 */
    record_spread spread[PARTS_MAX];
    int count, once; /* all, and those of once a job */
} parts;

static void read_part(run_record *run, const activity_entry *row, parts *p)
{
    assert(p->count < PARTS_MAX);
    const char *name = row->activity->text;
    const record_column seconds = record_numbers(run, json_find(run->per_rank, "activity_s"), name);
    for (int r = 0; r < seconds.count; ++r) {
        const double s = seconds.value[r];
        seconds.value[r] = isfinite(s) && s >= 0 && s < 1e15 ? s : 0;
    }
    p->part[p->count] = (drawing_series){.name = name, .colour = row->colour, .values = seconds};
    p->spread[p->count] = record_spread_of(&seconds);
    p->count += p->spread[p->count].max > 0;
}

static void read_parts(run_record *run, parts *p)
{
    *p = (parts){.count = 0};
    for (activity_kind kind = ACTIVITY_ONCE; kind <= ACTIVITY_SCORES; ++kind) {
        for (int a = 0; a < activity_table_rows(); ++a) {
            if (activity_table()[a].activity->kind == kind) {
                read_part(run, &activity_table()[a], p);
            }
        }
        p->once = kind == ACTIVITY_ONCE ? p->count : p->once;
    }
}

/* ---- over the epochs ---- */

static void draw_epochs(report_text *out, run_record *run)
{
    const record_figures *f = &run->figures;
    const record_curve *time = record_curve_of(run, RECORD_EPOCH_S);
    phrase title = phrase_of("Time of each epoch; the band holds half of them");
    drawing d = {.unit = UNIT_SECONDS, .from_zero = true, .band_low = f->epoch_s_q1, .band_high = f->epoch_s_q3};
    d.most = isfinite(f->epoch_s_q3) ? 3 * f->epoch_s_q3 : 0;
    drawing_add_line(&d, time, "epoch", "time", false);
    if (f->ranks > 1) {
        drawing_add_line(&d, record_curve_of(run, RECORD_EXPOSED_S), "rank 0 waits", "wait", false);
    }
    double slowest = 0;
    int above = 0;
    for (int64_t i = 0; i < time->count; ++i) {
        slowest = isfinite(time->y[i]) ? fmax(slowest, time->y[i]) : slowest;
        above += time->y[i] > d.most;
    }
    if (d.most > 0 && above > 0) {
        phrase_add(&title, "; %d above the edge, up to %s", above, quantity_seconds(slowest).text);
    }
    d.title = title.text;
    if (out->html && lines_draw(out, run, &d) && f->ranks > 1) {
        text_paragraph(out, "muted", "Rank 0's waiting includes that of evaluation, the epoch's time does not.");
    }
}

/* ---- by activity ---- */

/* Activities of an epoch, with their shares of it, or those of once a job. */
static void table_of_parts(report_text *out, const parts *p, bool once, double epochs)
{
    const int from = once ? 0 : p->once, to = once ? p->once : p->count;
    double total = 0;
    for (int i = from; i < to; ++i) {
        total += p->spread[i].mean;
    }
    TEXT_TABLE(out, once ? "lrrr" : "lrrrr", once ? "once a job" : "activity, per epoch", "least", "mean", "most",
               "share");
    for (int i = from; i < to; ++i) {
        text_cell_styled(out, (cell_style){.patch = once ? NULL : p->part[i].colour}, p->part[i].name);
        section_spread(out, &p->spread[i], epochs, UNIT_SECONDS);
        if (!once) {
            text_cell(out, "%.1f %%", 100 * p->spread[i].mean / total);
        }
    }
    text_table_end(out);
}

static void draw_ranks(report_text *out, run_record *run, const parts *p)
{
    drawing d = {.title = "Mean epoch by activity", .unit = UNIT_SECONDS, .count = p->count - p->once};
    if (out->html && d.count > 0) {
        memcpy(d.series, p->part + p->once, (size_t)d.count * sizeof *d.series);
        bars_of_ranks(out, run, &d, run->figures.job_epochs);
    }
}

static void say_balance(report_text *out, const run_record *run)
{
    double cpu = json_number(run->summary, "cpu_use"), threads = run->figures.threads;
    if (isfinite(cpu) && threads > 0) {
        text_paragraph(out, "muted",
                       "Each rank used %.0f %% of a core on average; its threads could use %.0f %%. Forward passes of "
                       "evaluation count as linear, aggregate and so on; \"evaluate\" is scoring, and waiting for the "
                       "other ranks' scores.",
                       100 * cpu, 100 * threads);
    }
}

void section_time(report_text *out, run_record *run)
{
    const record_figures *f = &run->figures;
    const bool by_rank = run->rank_count > 0 && f->job_epochs > 0;
    parts p;
    read_parts(run, &p);
    if (record_epochs(run) == 0 && run->rank_count == 0) {
        return;
    }
    text_heading(out, out->level, "Time");
    text_html(out, PAIR_BEGIN);
    draw_epochs(out, run);
    text_html(out, PAIR_NEXT);
    if (by_rank) {
        table_of_parts(out, &p, false, f->job_epochs);
    } else {
        text_paragraph(out, "muted", "Seconds by activity are written when a job ends well.");
    }
    text_html(out, PAIR_END);
    if (by_rank) {
        draw_ranks(out, run, &p);
    }
    if (by_rank && f->job_epochs < f->epochs) {
        text_paragraph(out, "",
                       "Seconds by activity, bytes and waiting are those of the last start, which trained %s of %s "
                       "epochs.",
                       quantity_count(f->job_epochs).text, quantity_count(f->epochs).text);
    }
    if (run->rank_count > 0) {
        say_balance(out, run);
        table_of_parts(out, &p, true, 1);
    }
}

void section_advice(report_text *out, run_record *run)
{
    const json_value *advice = json_find(run->summary, "advice");
    if (json_first(advice, JSON_ARRAY) != NULL) {
        text_heading(out, out->level, "Advice");
        section_lines(out, advice, "item");
    }
}
