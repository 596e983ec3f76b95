/*
 * app/report/time.c: where the time of an epoch goes, over the epochs and on each rank.
 *
 * Each second of a rank belongs to one activity (base/trace/activity.h). Those of an epoch are divided by the number of
 * epochs; loading, partitioning and writing happen once a job and stand apart. What evaluation computes counts as
 * linear, aggregate and so on; "evaluate" is its scoring.
 */
#include <assert.h>
#include <math.h>

#include "app/activity/activity_table.h"
#include "app/report/drawing.h"
#include "app/report/sections.h"

enum { PARTS_MAX = ACTIVITIES_MOST };

/* Activities that the file has seconds of: once a job first; then by kind, as the bars have them: computing, messages,
 * scoring. */
typedef struct parts {
    const char *name[PARTS_MAX], *colour[PARTS_MAX];
    record_column seconds[PARTS_MAX]; /* per rank; finite, >= 0 */
    record_spread spread[PARTS_MAX];
    int count, once; /* all, and those of once a job */
    int ranks;
} parts;

static void read_part(run_record *run, const activity_entry *row, parts *p)
{
    const int at = p->count;
    assert(at < PARTS_MAX);
    p->name[at] = row->activity->text;
    p->colour[at] = row->colour;
    p->seconds[at] = record_numbers(run, json_find(record_per_rank(run), "activity_s"), p->name[at]);
    for (int r = 0; r < p->seconds[at].count; ++r) {
        double s = p->seconds[at].value[r];
        p->seconds[at].value[r] = isfinite(s) && s >= 0 && s < 1e15 ? s : 0;
    }
    p->spread[at] = record_spread_of(&p->seconds[at]);
    p->count += p->spread[at].max > 0;
}

static void read_parts(run_record *run, parts *p)
{
    *p = (parts){.ranks = record_rank_count(run)};
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
    chart c = {.title = title.text, .unit = UNIT_SECONDS, .from_zero = true};
    c.band_low = f->epoch_s_q1;
    c.band_high = f->epoch_s_q3;
    c.most = isfinite(f->epoch_s_q3) ? 3 * f->epoch_s_q3 : 0;
    c.line[c.lines++] = (chart_line){.curve = time, .name = "epoch", .colour = "time"};
    if (f->ranks > 1) {
        const record_curve *wait = record_curve_of(run, RECORD_EXPOSED_S);
        c.line[c.lines++] = (chart_line){.curve = wait, .name = "rank 0 waits", .colour = "wait"};
    }
    double slowest = 0;
    int64_t above = 0;
    for (int64_t i = 0; i < time->count; ++i) {
        slowest = isfinite(time->y[i]) ? fmax(slowest, time->y[i]) : slowest;
        above += time->y[i] > c.most;
    }
    if (c.most > 0 && above > 0) {
        phrase_add(&title, "; %lld above the edge, up to %s", (long long)above, quantity_seconds(slowest).text);
    }
    if (out->html && chart_draw(out, &c) && f->ranks > 1) {
        text_paragraph(out, "muted", "Rank 0's waiting includes that of evaluation, the epoch's time does not.");
    }
}

/* ---- by activity ---- */

static void table_of_epoch(report_text *out, const parts *p, double epochs)
{
    double total = 0;
    for (int i = p->once; i < p->count; ++i) {
        total += p->spread[i].mean;
    }
    text_table_begin(out, "lrrrr", "activity, per epoch|least|mean|most|share");
    for (int i = p->once; i < p->count; ++i) {
        text_cell_styled(out, (cell_style){.patch = p->colour[i]}, p->name[i]);
        section_spread(out, &p->spread[i], epochs, UNIT_SECONDS);
        text_cell(out, "%.1f %%", 100 * p->spread[i].mean / total);
    }
    text_table_end(out);
}

static void table_of_the_rest(report_text *out, const parts *p)
{
    text_table_begin(out, "lrrr", "once a job|least|mean|most");
    for (int i = 0; i < p->once; ++i) {
        text_cell(out, "%s", p->name[i]);
        section_spread(out, &p->spread[i], 1, UNIT_SECONDS);
    }
    text_table_end(out);
}

static void say_balance(report_text *out, const run_record *run)
{
    double cpu = record_number(run->summary, "cpu_use"), threads = run->figures.threads;
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
    parts p;
    read_parts(run, &p);
    if (record_epochs(run) == 0 && p.ranks == 0) {
        return;
    }
    const bool by_rank = p.ranks > 0 && f->job_epochs > 0;
    text_heading(out, out->level, "Time");
    text_html(out, PAIR_BEGIN);
    draw_epochs(out, run);
    text_html(out, PAIR_NEXT);
    if (by_rank) {
        table_of_epoch(out, &p, f->job_epochs);
    } else {
        text_paragraph(out, "muted", "Seconds by activity are written when a job ends well.");
    }
    text_html(out, PAIR_END);
    if (by_rank && out->html && p.count > p.once) {
        const int from = p.once;
        bars_of_ranks(out, run,
                      &(rank_bars){"Mean epoch by activity", UNIT_SECONDS, p.ranks, p.count - from, p.name + from,
                                   p.colour + from, p.seconds + from, f->job_epochs});
    }
    if (by_rank && f->job_epochs < f->epochs) {
        text_paragraph(out, "",
                       "Seconds by activity, bytes and waiting are those of the last start, which trained %s of %s "
                       "epochs.",
                       quantity_count(f->job_epochs).text, quantity_count(f->epochs).text);
    }
    if (p.ranks > 0) {
        say_balance(out, run);
        table_of_the_rest(out, &p);
    }
}

void section_advice(report_text *out, run_record *run)
{
    const json_value *advice = json_find(run->summary, "advice");
    if (record_first(advice, JSON_ARRAY) != NULL) {
        text_heading(out, out->level, "Advice");
        section_lines(out, advice, "item");
    }
}
