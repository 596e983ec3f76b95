/*
 * app/report/parallel.c: parallel axes (app/report/drawing.h): one upright axis per series, each with a scale of
 * its own.
 *
 * The i-th values of all series are one line, such as the settings of a trial and its score; a value that is
 * missing is a gap. The colour is the line's place on the last axis. (A. Inselberg, The plane with parallel
 * coordinates, 1985, DOI 10.1007/BF01898350.)
 */
#include <assert.h>
#include <math.h>
#include <stdio.h>

#include "app/report/drawing.h"

enum { SIDE = 44, TICKS = 4, NAME_LETTERS = 16 };

static double axis_x(const drawing *d, int axis)
{
    return SIDE + (double)axis * (DRAWING_WIDTH - 2 * SIDE) / (d->count - 1);
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
    svg_text(out, "tick m", x, s->from + (axis % 2 == 0 ? 19 : 34), svg_cut(d->series[axis].name, NAME_LETTERS, name));
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
        scale_widen(&low, &high, values->value, values->count);
        scales[k] =
            low <= high ? scale_linear(low, high, TICKS, bottom, DRAWING_TOP) : (scale){0, 1, 2, bottom, DRAWING_TOP};
        lines = low <= high && values->count > lines ? values->count : lines;
    }
    if (lines == 0) {
        return false;
    }
    const frame f = {.x = {1, d->count, 1, SIDE, DRAWING_WIDTH - SIDE},
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
