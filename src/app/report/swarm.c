/*
 * app/report/swarm.c: a beeswarm, and parallel axes (app/report/drawing.h).
 *
 * A beeswarm has levels above and below the middle of each row, a point's diameter apart. Points are placed from
 * left to right, each on the level nearest to the middle where the point before it ends; so none covers another.
 * Points shrink until the rows are low enough. Cost: points times levels.
 *
 * On parallel axes the i-th values of all series are one line, such as the settings of a trial and its score; a value
 * that is missing is a gap. The colour is the line's place on the last axis. (A. Inselberg, The plane with parallel
 * coordinates, 1985, DOI 10.1007/BF01898350.)
 */
#include <assert.h>
#include <math.h>
#include <stdlib.h>

#include "app/report/drawing.h"

enum { ROW_LEAST = 26, ROW_MOST = 110, SWARM_LEFT = 132, SWARM_RIGHT = 30, SWARM_LETTERS = 17 };
enum { AXIS_SIDE = 44, AXIS_TICKS = 4, AXIS_LETTERS = 16 };

typedef struct bee {
    double value, tint;
} bee;

typedef struct swarm {
    double tint[SWARM_POINTS], x[SWARM_POINTS];
    int level[SWARM_POINTS];
    int count;
} swarm;

static int by_value(const void *a, const void *b)
{
    const bee *x = a, *y = b;
    return (x->value > y->value) - (x->value < y->value);
}

static void swarm_read(run_record *run, const drawing_series *s, const scale *x, swarm *row)
{
    bee *bees = record_alloc(run, s->x.count, sizeof *bees);
    int count = 0;
    for (int i = 0; i < s->x.count && bees != NULL; ++i) {
        if (scale_takes(s->x.value[i])) {
            bees[count++] = (bee){s->x.value[i], record_at(&s->tint, i)};
        }
    }
    if (count > 0) {
        qsort(bees, (size_t)count, sizeof *bees, by_value);
    }
    for (int i = 0; i < count; ++i) {
        if (drawing_chooses(i, count, SWARM_POINTS)) {
            row->x[row->count] = scale_at(x, bees[i].value);
            row->tint[row->count++] = bees[i].tint;
        }
    }
    assert(row->count <= SWARM_POINTS);
}

int beeswarm_levels(const double *x, int count, double diameter, int *level)
{
    double end[SWARM_POINTS];
    int levels = 0;
    assert(count <= SWARM_POINTS && diameter > 0);
    for (int i = 0; i < count; ++i) {
        int at = 0;
        while (at < levels && x[i] - end[at] < diameter) {
            at += 1;
        }
        levels = at == levels ? levels + 1 : levels;
        end[at] = x[i];
        level[i] = at;
    }
    return levels;
}

/* Sets the points' levels at the largest diameter at which every row is low enough; returns the diameter. */
static double place(swarm *rows, int count, int *levels)
{
    for (double diameter = 6;; diameter *= 0.8) {
        *levels = 0;
        for (int k = 0; k < count; ++k) {
            int used = beeswarm_levels(rows[k].x, rows[k].count, diameter, rows[k].level);
            *levels = used > *levels ? used : *levels;
        }
        if (*levels * diameter + 4 <= ROW_MOST) {
            return diameter; /* reached: SWARM_POINTS levels fit when points are small */
        }
    }
}

static void draw_rows(report_text *out, const drawing *d, const frame *f, const swarm *rows, double diameter,
                      double height)
{
    for (int k = 0; k < d->count; ++k) {
        const swarm *row = &rows[k];
        const double middle = f->y.to + (k + 0.5) * height;
        char name[SVG_CUT_BYTES];
        svg_line(out, "grid", f->x.from, middle, f->x.to, middle);
        svg_text(out, "tick r", f->x.from - 10, middle + 4, svg_cut(d->series[k].name, SWARM_LETTERS, name));
        for (int i = 0; i < row->count; ++i) {
            const int level = row->level[i];
            const double up = (level % 2 == 1 ? level / 2 + 1 : -(level / 2)) * diameter;
            svg_point(out, isfinite(row->tint[i]) ? "tint" : "f-c0", row->tint[i], row->x[i], middle - up,
                      diameter / 2);
        }
    }
}

bool beeswarm_draw(report_text *out, run_record *run, const drawing *d)
{
    double low = INFINITY, high = -INFINITY;
    int levels;
    swarm *rows = record_alloc(run, d->count, sizeof *rows);
    for (int k = 0; k < d->count; ++k) {
        scale_widen(&low, &high, &d->series[k].x);
    }
    if (rows == NULL || !(low <= high)) {
        return false;
    }
    frame f = {.x = scale_linear(low, high, 6, SWARM_LEFT, DRAWING_WIDTH - SWARM_RIGHT),
               .x_unit = d->unit,
               .x_name = d->x_name};
    for (int k = 0; k < d->count; ++k) {
        swarm_read(run, &d->series[k], &f.x, &rows[k]);
    }
    const double diameter = place(rows, d->count, &levels), height = fmax(ROW_LEAST, levels * diameter + 4);
    const double bottom = DRAWING_TOP + d->count * height;
    f.y = (scale){.low = 0, .high = d->count, .step = 1, .from = bottom, .to = DRAWING_TOP};
    f.height = (int)bottom + DRAWING_BOTTOM;
    frame_begin(out, d->title, &f);
    draw_rows(out, d, &f, rows, diameter, height);
    frame_x_axis(out, &f);
    frame_end(out);
    return true;
}

/* ---- parallel axes ---- */

static double axis_x(const drawing *d, int axis)
{
    return AXIS_SIDE + (double)axis * (DRAWING_WIDTH - 2 * AXIS_SIDE) / (d->count - 1);
}

static void draw_axis(report_text *out, const drawing *d, const scale *s, int axis)
{
    const double x = axis_x(d, axis);
    double value;
    char name[SVG_CUT_BYTES];
    svg_line(out, "axis", x, s->from, x, s->to);
    for (int i = 0; scale_tick(s, i, &value); ++i) {
        svg_text(out, "note", x + 5, scale_at(s, value) + 4, scale_tick_text(s, value, d->series[axis].unit).text);
    }
    svg_text(out, "tick m", x, s->from + (axis % 2 == 0 ? 19 : 34), svg_cut(d->series[axis].name, AXIS_LETTERS, name));
}

static void draw_path(report_text *out, const drawing *d, const scale *scales, int line)
{
    const int last = d->count - 1;
    const double value = record_at(&d->series[last].values, line);
    const char *command = "M";
    const scale *s = &scales[last];
    text_html(out, "<path class=\"faint %s\" style=\"--share:%.0f%%\" d=\"", scale_takes(value) ? "tinted" : "axis",
              scale_takes(value) ? 100 * fabs((scale_at(s, value) - s->from) / (s->to - s->from)) : 0);
    for (int k = 0; k < d->count; ++k) {
        const double at = record_at(&d->series[k].values, line);
        if (scale_takes(at)) {
            text_html(out, "%s%.2f %.2f", command, axis_x(d, k), scale_at(&scales[k], at));
        }
        command = scale_takes(at) ? "L" : "M";
    }
    text_html(out, "\"/>\n");
}

bool parallel_draw(report_text *out, run_record *run, const drawing *d)
{
    (void)run;
    const double bottom = DRAWING_HEIGHT - DRAWING_BOTTOM;
    scale scales[PARALLEL_AXES];
    int lines = 0;
    assert(d->count >= 2 && d->count <= PARALLEL_AXES);
    for (int k = 0; k < d->count; ++k) {
        const record_column *values = &d->series[k].values;
        double low = INFINITY, high = -INFINITY;
        scale_widen(&low, &high, values);
        scales[k] = low <= high ? scale_linear(low, high, AXIS_TICKS, bottom, DRAWING_TOP)
                                : (scale){0, 1, 2, bottom, DRAWING_TOP};
        lines = low <= high && values->count > lines ? values->count : lines;
    }
    if (lines == 0) {
        return false;
    }
    const frame f = {.x = {1, d->count, 1, AXIS_SIDE, DRAWING_WIDTH - AXIS_SIDE},
                     .y = scales[d->count - 1],
                     .y_unit = d->series[d->count - 1].unit,
                     .x_name = d->x_name,
                     .y_name = d->y_name,
                     .height = DRAWING_HEIGHT};
    frame_begin(out, d->title, &f);
    for (int i = 0; i < lines && i < PARALLEL_LINES; ++i) {
        draw_path(out, d, scales, i);
    }
    for (int k = 0; k < d->count; ++k) {
        draw_axis(out, d, &scales[k], k);
    }
    frame_end(out);
    return true;
}
