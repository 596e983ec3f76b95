/* app/report/lines.c: lines with bands, a mark and labels at their ends; and points (app/report/drawing.h). */
#include <math.h>
#include <stdlib.h>

#include "app/report/drawing.h"

static int points_of(const drawing_series *line)
{
    return line->x.count < line->y.count ? line->x.count : line->y.count;
}

static bool has_band(const drawing_series *line)
{
    const int points = points_of(line);
    return line->high.count > 0 && line->low.count >= points && line->high.count >= points;
}

/* Sets axes around all that is drawn: linear, but for counts of several magnitudes along a line. Returns false if
 * there is nothing. */
static bool frame_of(const drawing *d, bool line, frame *f)
{
    double x_low = INFINITY, x_high = -INFINITY, low = INFINITY, high = -INFINITY;
    for (int l = 0; l < d->count; ++l) {
        const drawing_series *s = &d->series[l];
        const int points = points_of(s), band = has_band(s) ? points : 0;
        scale_widen(&x_low, &x_high, &(record_column){s->x.value, points});
        scale_widen(&low, &high, &(record_column){s->y.value, points});
        scale_widen(&low, &high, &(record_column){s->low.value, band});
        scale_widen(&low, &high, &(record_column){s->high.value, band});
    }
    low = d->from_zero ? fmin(0, low) : low;
    high = d->most > 0 ? fmax(low, fmin(high, d->most)) : high;
    if (!(x_low <= x_high && low <= high)) {
        return false;
    }
    const double bottom = DRAWING_HEIGHT - DRAWING_BOTTOM;
    const bool logarithmic = line && d->unit == UNIT_COUNT && !d->from_zero && low > 0 && high / low > 50;
    *f = (frame){.x = scale_linear(x_low, x_high, 6, DRAWING_LEFT, DRAWING_WIDTH - DRAWING_RIGHT),
                 .y = logarithmic ? scale_logarithmic(low, high, bottom, DRAWING_TOP)
                                  : scale_linear(low, high, 5, bottom, DRAWING_TOP),
                 .y_unit = d->unit,
                 .x_name = d->x_name != NULL ? d->x_name : "epoch",
                 .y_name = d->y_name,
                 .height = DRAWING_HEIGHT};
    if (d->x_name == NULL) { /* epochs are whole */
        f->x = (scale){x_low - 1, x_high + 1, fmax(1, f->x.step), f->x.from, f->x.to};
    }
    if (line && x_high > x_low) { /* the axis ends where the lines end */
        f->x.low = x_low;
        f->x.high = x_high;
    }
    return true;
}

/* ---- lines ---- */

typedef struct pen {
    report_text *out;
    const frame *frame;
    bool down; /* the last point was drawn: the next is joined to it */
    int run;   /* points since the pen came down */
} pen;

static void lift(pen *p)
{
    if (p->down && p->run == 1) {
        text_html(p->out, "h0"); /* a point between gaps shows as a dot */
    }
    p->down = false;
}

static void put_point(pen *p, double x, double y)
{
    if (!scale_takes(x) || !scale_takes(y)) {
        lift(p);
        return;
    }
    p->run = p->down ? p->run + 1 : 1;
    text_html(p->out, "%s%.2f %.2f", p->down ? "L" : "M", scale_at(&p->frame->x, x), scale_at(&p->frame->y, y));
    p->down = true;
}

/* Draws the lowest and the highest of the points [from, to), and a gap if there is one. */
static void put_stretch(pen *p, const drawing_series *line, int64_t from, int64_t to)
{
    const double *x = line->x.value, *y = line->y.value;
    int64_t low = -1, high = -1;
    bool gap = false;
    for (int64_t i = from; i < to; ++i) {
        const bool drawn = scale_takes(y[i]);
        gap = gap || !drawn;
        low = drawn && (low < 0 || y[i] < y[low]) ? i : low;
        high = drawn && (high < 0 || y[i] > y[high]) ? i : high;
    }
    const int64_t first = low < high ? low : high, second = low < high ? high : low;
    if (first >= 0) {
        put_point(p, x[first], y[first]);
    }
    if (second > first) {
        put_point(p, x[second], y[second]);
    }
    if (gap) {
        lift(p);
    }
}

static void draw_line(report_text *out, const frame *f, const drawing *d, int l)
{
    const drawing_series *line = &d->series[l];
    const int64_t points = points_of(line), stretches = points <= CHART_POINTS ? points : CHART_POINTS / 2;
    pen p = {.out = out, .frame = f};
    if (points == 0) {
        return;
    }
    text_html(out, "<path class=\"%s %s\"", line->faint ? "faint" : "line", series_colour(d, l));
    if (line->name != NULL) {
        text_html(out, " data-name=\"%s\"", line->name);
    }
    text_html(out, " d=\"");
    for (int64_t s = 0; s < stretches; ++s) {
        put_stretch(&p, line, points * s / stretches, points * (s + 1) / stretches);
    }
    lift(&p);
    text_html(out, "\"/>\n");
}

/* The band of a line: along its upper edge and back along the lower one; a gap in either is left out. */
static void draw_line_band(report_text *out, const frame *f, const drawing *d, int l)
{
    const drawing_series *line = &d->series[l];
    const int points = points_of(line);
    const char *command = "M";
    if (!has_band(line)) {
        return;
    }
    text_html(out, "<path class=\"range f-%s\" d=\"", series_colour(d, l));
    for (int k = 0; k < 2 * points; ++k) {
        const int i = k < points ? k : 2 * points - 1 - k;
        const double x = line->x.value[i], low = line->low.value[i], high = line->high.value[i];
        if (scale_takes(x) && scale_takes(low) && scale_takes(high)) {
            text_html(out, "%s%.2f %.2f", command, scale_at(&f->x, x), scale_at(&f->y, k < points ? high : low));
            command = "L";
        }
    }
    text_html(out, "Z\"/>\n");
}

/* ---- labels at the ends of the lines ---- */

typedef struct label {
    int line;
    double y;
} label;

/* Pixel of the last point that is drawn; -1: there is none. */
static double end_of(const drawing_series *line, const frame *f)
{
    int last = points_of(line) - 1;
    while (last >= 0 && !scale_takes(line->y.value[last])) {
        last -= 1;
    }
    return last >= 0 ? scale_at(&f->y, line->y.value[last]) : -1;
}

static int by_height(const void *a, const void *b)
{
    const label *x = a, *y = b;
    return x->y != y->y ? (x->y > y->y ? 1 : -1) : x->line - y->line;
}

/* Sorts labels from the top; each pushes the next one down, then the lower edge pushes them up again. */
static void spread_labels(label *labels, int count)
{
    qsort(labels, (size_t)count, sizeof *labels, by_height);
    for (int i = 1; i < count; ++i) {
        labels[i].y = fmax(labels[i].y, labels[i - 1].y + DRAWING_LABEL_HEIGHT);
    }
    double lowest = DRAWING_HEIGHT - DRAWING_BOTTOM;
    for (int i = count - 1; i >= 0; --i) {
        labels[i].y = fmin(labels[i].y, lowest);
        lowest = labels[i].y - DRAWING_LABEL_HEIGHT;
    }
}

static void draw_labels(report_text *out, const drawing *d, const frame *f)
{
    label labels[DRAWING_LABELS];
    int count = 0;
    for (int l = 0; l < d->count && count < DRAWING_LABELS; ++l) {
        const double y = end_of(&d->series[l], f);
        if (d->series[l].name != NULL && y >= 0) {
            labels[count++] = (label){l, y};
        }
    }
    spread_labels(labels, count);
    for (int i = 0; i < count; ++i) {
        const int l = labels[i].line;
        svg_label(out, series_colour(d, l), f->x.to + 10, labels[i].y + 4, d->series[l].name);
    }
}

static void draw_mark(report_text *out, const drawing *d, const frame *f)
{
    if (d->mark.text[0] == '\0' || !scale_takes(d->mark_y)) {
        return;
    }
    double x = scale_at(&f->x, d->mark_x), y = scale_at(&f->y, d->mark_y), bottom = f->y.from;
    bool left = x > (f->x.from + f->x.to) / 2;
    svg_line(out, "mark", x, y, x, bottom);
    text_html(out, "<circle class=\"dot f-%s\" cx=\"%.2f\" cy=\"%.2f\" r=\"4\"/>", d->mark_colour, x, y);
    /* At the foot of the mark: scores rise, so it is free there. */
    svg_text(out, left ? "note r" : "note", left ? x - 7 : x + 7, bottom - 9, d->mark.text);
}

static void draw_band(report_text *out, const drawing *d, const frame *f)
{
    if (d->band_low < d->band_high) {
        double low = scale_at(&f->y, d->band_low), high = scale_at(&f->y, d->band_high);
        text_html(out, "<rect class=\"band\" x=\"%.2f\" width=\"%.2f\" y=\"%.2f\" height=\"%.2f\"/>\n", f->x.from,
                  f->x.to - f->x.from, high, low - high);
    }
}

static void draw_lines(report_text *out, const drawing *d, const frame *f)
{
    for (int l = 0; l < d->count; ++l) {
        draw_line_band(out, f, d, l);
    }
    for (int l = 0; l < 2 * d->count; ++l) { /* medians on top */
        if (d->series[l % d->count].faint == (l < d->count)) {
            draw_line(out, f, d, l % d->count);
        }
    }
    draw_mark(out, d, f);
    draw_labels(out, d, f);
}

/* ---- points ---- */

static bool is_point(const drawing_series *s, int i)
{
    return scale_takes(s->x.value[i]) && scale_takes(s->y.value[i]);
}

static void draw_points(report_text *out, const drawing *d, const frame *f)
{
    for (int k = 0; k < d->count; ++k) {
        const drawing_series *s = &d->series[k];
        int points = 0, at = 0;
        for (int i = 0; i < points_of(s); ++i) {
            points += is_point(s, i);
        }
        for (int i = 0; i < points_of(s); ++i) {
            if (is_point(s, i) && drawing_chooses(at++, points, SCATTER_POINTS)) {
                svg_point(out, phrase_of("f-%s", series_colour(d, k)).text, NAN, scale_at(&f->x, s->x.value[i]),
                          scale_at(&f->y, s->y.value[i]), 3);
            }
        }
        if (k < DRAWING_LABELS && s->name[0] != '\0') {
            svg_label(out, series_colour(d, k), f->x.to + 10, f->y.to + 4 + DRAWING_LABEL_HEIGHT * k, s->name);
        }
    }
}

static bool draw(report_text *out, const drawing *d, bool line)
{
    frame f;
    if (!frame_of(d, line, &f)) {
        return false;
    }
    frame_begin(out, d->title, &f);
    draw_band(out, d, &f);
    frame_y_axis(out, &f);
    frame_x_axis(out, &f);
    (line ? draw_lines : draw_points)(out, d, &f);
    frame_end(out);
    return true;
}

bool lines_draw(report_text *out, run_record *run, const drawing *d)
{
    (void)run;
    return draw(out, d, true);
}

bool scatter_draw(report_text *out, run_record *run, const drawing *d)
{
    (void)run;
    return draw(out, d, false);
}
