/*
 * app/report/time.c: where the time of an epoch goes, over the epochs and on each rank.
 *
 * Each second of a rank belongs to one activity (base/trace/activity.h). Those of an epoch are divided by the number of
 * epochs; loading, partitioning and writing happen once a job and stand apart. What evaluation computes counts as
 * linear, aggregate and so on; "evaluate" is its scoring.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "app/activity/activity_table.h"
#include "app/report/chart.h"
#include "app/report/sections.h"
#include "base/alloc.h"
#include "train/activities.h"

enum { BARS_MAX = 256 };

/* Rows of the activity table that are of an epoch, in the order of the bars: computing, then messages, then scoring. */
typedef struct epoch_parts {
    int row[ACTIVITY_ROWS_MAX];
    int count;
} epoch_parts;

static epoch_parts parts_of_epoch(void)
{
    epoch_parts parts = {.count = 0};
    for (activity_kind kind = ACTIVITY_COMPUTES; kind <= ACTIVITY_SCORES; ++kind) {
        for (int a = 0; a < activity_table_rows(); ++a) {
            if (activity_table()[a].activity->kind == kind) {
                parts.row[parts.count++] = a;
            }
        }
    }
    return parts;
}

static const char *text_of(int row)
{
    return activity_table()[row].activity->text;
}

/* Seconds by activity: columns over ranks, NULL where nobody spent any. */
typedef struct columns {
    double *seconds[ACTIVITY_ROWS_MAX];
    int ranks;
} columns;

static void columns_free(columns *c)
{
    for (int a = 0; a < activity_table_rows(); ++a) {
        weft_free(c->seconds[a]);
    }
}

static weft_status columns_read(const report_run *run, columns *c)
{
    const json_value *activities = json_find(report_per_rank(run), "activity_s");
    *c = (columns){.ranks = report_rank_count(run)};
    for (int a = 0; a < activity_table_rows(); ++a) {
        weft_status status = report_rank_column(activities, text_of(a), c->ranks, &c->seconds[a]);
        if (status != WEFT_OK) {
            columns_free(c);
            return status;
        }
        for (int r = 0; r < c->ranks && c->seconds[a] != NULL; ++r) {
            double s = c->seconds[a][r];
            c->seconds[a][r] = isfinite(s) && s >= 0 && s < 1e15 ? s : 0;
        }
    }
    return WEFT_OK;
}

/* ---- over the epochs ---- */

static weft_status draw_epochs(report_text *out, const report_run *run, const report_figures *f)
{
    report_curve time = {0}, wait = {0};
    char title[160] = "Time of each epoch; the band holds half of them";
    chart c = {.title = title,
               .unit = CHART_SECONDS,
               .from_zero = true,
               .band_low = f->epoch_s_q1,
               .band_high = f->epoch_s_q3};
    WEFT_TRY(report_curve_of(run, REPORT_EPOCH_S, &time));
    weft_status status = report_curve_of(run, REPORT_EXPOSED_S, &wait);
    c.line[c.lines++] = (chart_line){.curve = &time, .name = "epoch", .colour = "time"};
    if (f->ranks > 1) {
        c.line[c.lines++] = (chart_line){.curve = &wait, .name = "rank 0 waits", .colour = "wait"};
    }
    double slowest = 0;
    int64_t above = 0;
    c.most = isfinite(f->epoch_s_q3) ? 3 * f->epoch_s_q3 : 0;
    for (int64_t i = 0; i < time.count; ++i) {
        slowest = isfinite(time.y[i]) ? fmax(slowest, time.y[i]) : slowest;
        above += time.y[i] > c.most;
    }
    if (c.most > 0 && above > 0) {
        snprintf(title, sizeof title, "Time of each epoch; the band holds half of them; %lld above the edge, up to %s",
                 (long long)above, quantity_seconds(slowest).text);
    }
    if (status == WEFT_OK && out->html && chart_draw(out, &c) && f->ranks > 1) {
        text_paragraph(out, "muted", "Rank 0's waiting includes that of evaluation, the epoch's time does not.");
    }
    report_curve_free(&time);
    report_curve_free(&wait);
    return status;
}

/* ---- by activity ---- */

static void table_of_activities(report_text *out, const columns *c, double epochs)
{
    const epoch_parts parts = parts_of_epoch();
    double total = 0;
    for (int p = 0; p < parts.count; ++p) {
        double mean = report_spread_of(c->seconds[parts.row[p]], c->ranks).mean;
        total += isfinite(mean) ? mean : 0;
    }
    text_table_begin(out, "lrrrr", "activity, per epoch|least|mean|most|share");
    for (int p = 0; p < parts.count; ++p) {
        report_spread s = report_spread_of(c->seconds[parts.row[p]], c->ranks);
        if (s.max > 0) {
            text_cell_colour(out, activity_table()[parts.row[p]].colour, "%s", text_of(parts.row[p]));
            text_cell(out, "%s", quantity_seconds(s.min / epochs).text);
            text_cell(out, "%s", quantity_seconds(s.mean / epochs).text);
            text_cell(out, "%s", quantity_seconds(s.max / epochs).text);
            text_cell(out, "%.1f %%", 100 * s.mean / total);
        }
    }
    text_table_end(out);
}

static void table_of_the_rest(report_text *out, const columns *c)
{
    text_table_begin(out, "lrrr", "once a job|least|mean|most");
    for (int a = 0; a < activity_table_rows(); ++a) {
        report_spread s = report_spread_of(c->seconds[a], c->ranks);
        if (activity_table()[a].activity->kind == ACTIVITY_ONCE && s.max > 0) {
            text_cell(out, "%s", text_of(a));
            text_cell(out, "%s", quantity_seconds(s.min).text);
            text_cell(out, "%s", quantity_seconds(s.mean).text);
            text_cell(out, "%s", quantity_seconds(s.max).text);
        }
    }
    text_table_end(out);
}

/* The bars need names and values in rows: [chosen ranks, parts of an epoch]. */
typedef struct bar_space {
    int chosen[BARS_MAX];
    char name[BARS_MAX][32];
    const char *names[BARS_MAX];
    double value[BARS_MAX * ACTIVITY_ROWS_MAX];
} bar_space;

static weft_status draw_ranks(report_text *out, const columns *c, double epochs)
{
    const epoch_parts parts = parts_of_epoch();
    bar_space *space = NULL;
    const char *part_name[ACTIVITY_ROWS_MAX], *part_colour[ACTIVITY_ROWS_MAX];
    char title[128];
    WEFT_TRY(WEFT_NEW_ZERO(&space, 1, WEFT_MEM_GENERAL));
    int rows = report_rank_choice(c->ranks, c->seconds[activity_table_row(ACTIVITY_LINEAR)], BARS_MAX, space->chosen);
    for (int p = 0; p < parts.count; ++p) {
        part_name[p] = text_of(parts.row[p]);
        part_colour[p] = activity_table()[parts.row[p]].colour;
        const double *seconds = c->seconds[parts.row[p]];
        for (int i = 0; i < rows && seconds != NULL; ++i) {
            space->value[i * parts.count + p] = seconds[space->chosen[i]] / epochs;
        }
    }
    for (int i = 0; i < rows; ++i) {
        snprintf(space->name[i], sizeof space->name[i], "rank %d", space->chosen[i]);
        space->names[i] = space->name[i];
    }
    snprintf(title, sizeof title, rows < c->ranks ? "Mean epoch by activity, %d of %d ranks" : "Mean epoch by activity",
             rows, c->ranks);
    bars b = {.title = title,
              .unit = CHART_SECONDS,
              .rows = rows,
              .parts = parts.count,
              .row_name = space->names,
              .part_name = part_name,
              .part_colour = part_colour,
              .value = space->value};
    bars_draw(out, &b);
    weft_free(space);
    return WEFT_OK;
}

static void say_balance(report_text *out, const report_run *run, const report_figures *f)
{
    double cpu = report_number(run->summary, "cpu_use");
    if (isfinite(cpu) && isfinite(f->threads) && f->threads > 0) {
        text_paragraph(out, "muted",
                       "Each rank used %.0f %% of a core on average; its threads could use %.0f %%. Forward passes of "
                       "evaluation count as linear, aggregate and so on; \"evaluate\" is scoring, and waiting for the "
                       "other ranks' scores.",
                       100 * cpu, 100 * f->threads);
    }
}

weft_status section_time(report_text *out, const report_run *run, const report_figures *f)
{
    columns c;
    WEFT_TRY(columns_read(run, &c));
    weft_status status = WEFT_OK;
    if (report_run_epochs(run) == 0 && c.ranks == 0) {
        return WEFT_OK;
    }
    text_heading(out, out->level, "Time");
    fputs(out->html ? "<div class=\"pair\"><div>\n" : "", out->file);
    WEFT_TRY_GOTO(draw_epochs(out, run, f), status, done);
    fputs(out->html ? "</div><div>\n" : "", out->file);
    bool by_rank = c.ranks > 0 && f->job_epochs > 0;
    if (by_rank) {
        table_of_activities(out, &c, f->job_epochs);
    } else {
        text_paragraph(out, "muted", "Seconds by activity are written when a job ends well.");
    }
    fputs(out->html ? "</div></div>\n" : "", out->file);
    if (by_rank && out->html) {
        WEFT_TRY_GOTO(draw_ranks(out, &c, f->job_epochs), status, done);
    }
    if (by_rank && f->job_epochs < f->epochs) {
        text_paragraph(out, "",
                       "Seconds by activity, bytes and waiting are those of the last start, which trained %s of %s "
                       "epochs.",
                       quantity_count(f->job_epochs).text, quantity_count(f->epochs).text);
    }
    if (c.ranks > 0) {
        say_balance(out, run, f);
        table_of_the_rest(out, &c);
    }
done:
    columns_free(&c);
    return status;
}

void section_advice(report_text *out, const report_run *run)
{
    const json_value *advice = json_find(run->summary, "advice");
    if (advice == NULL || advice->kind != JSON_ARRAY || advice->child == NULL) {
        return;
    }
    text_heading(out, out->level, "Advice");
    for (const json_value *line = advice->child; line != NULL; line = line->next) {
        if (line->kind == JSON_TEXT) {
            text_item(out, "%s", line->text);
        }
    }
}
