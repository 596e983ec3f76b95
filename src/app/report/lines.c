/* app/report/lines.c: lines over a common axis, with bands, a mark and labels at their ends (app/report/drawing.h). */
#include <assert.h>
#include <math.h>

#include "app/report/drawing.h"

enum { LABEL_HEIGHT = 19 };

static bool frame_of(const chart *c, frame *f)
{
    extent e = EXTENT_NONE;
    for (int l = 0; l < c->lines; ++l) {
        const chart_line *line = &c->line[l];
        const int64_t count = line->curve->count;
        scale_widen(&e.x_low, &e.x_high, line->curve->x, count);
        scale_widen(&e.low, &e.high, line->curve->y, count);
        scale_widen(&e.low, &e.high, line->low, line->high != NULL ? count : 0);
        scale_widen(&e.low, &e.high, line->high, line->high != NULL ? count : 0);
    }
    e.low = c->from_zero ? fmin(0, e.low) : e.low;
    e.high = c->most > 0 ? fmax(e.low, fmin(e.high, c->most)) : e.high;
    if (!frame_around(&e, c->x_name != NULL ? c->x_name : "epoch", c->y_name, c->unit, f)) {
        return false;
    }
    if (c->unit == UNIT_COUNT && !c->from_zero && e.low > 0 && e.high / e.low > 50) {
        f->y = scale_logarithmic(e.low, e.high, f->y.from, f->y.to);
    }
    if (c->x_name == NULL) { /* epochs are whole */
        f->x = (scale){e.x_low - 1, e.x_high + 1, fmax(1, f->x.step), f->x.from, f->x.to};
    }
    f->x.low = e.x_high > e.x_low ? e.x_low : f->x.low; /* the axis ends where the lines end */
    f->x.high = e.x_high > e.x_low ? e.x_high : f->x.high;
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
static void put_stretch(pen *p, const record_curve *curve, int64_t from, int64_t to)
{
    int64_t low = -1, high = -1;
    bool gap = false;
    for (int64_t i = from; i < to; ++i) {
        const double y = curve->y[i];
        const bool drawn = scale_takes(y);
        gap = gap || !drawn;
        low = drawn && (low < 0 || y < curve->y[low]) ? i : low;
        high = drawn && (high < 0 || y > curve->y[high]) ? i : high;
    }
    const int64_t first = low < high ? low : high, second = low < high ? high : low;
    if (first >= 0) {
        put_point(p, curve->x[first], curve->y[first]);
    }
    if (second > first) {
        put_point(p, curve->x[second], curve->y[second]);
    }
    if (gap) {
        lift(p);
    }
}

static void draw_line(report_text *out, const frame *f, const chart_line *line)
{
    const record_curve *curve = line->curve;
    pen p = {.out = out, .frame = f};
    text_html(out, "<path class=\"%s %s\"", line->faint ? "faint" : "line", line->colour);
    if (line->name != NULL) {
        text_html(out, " data-name=\"%s\"", line->name);
    }
    text_html(out, " d=\"");
    if (curve->count <= CHART_POINTS) {
        for (int64_t i = 0; i < curve->count; ++i) {
            put_point(&p, curve->x[i], curve->y[i]);
        }
    } else {
        const int64_t stretches = CHART_POINTS / 2;
        for (int64_t s = 0; s < stretches; ++s) {
            put_stretch(&p, curve, curve->count * s / stretches, curve->count * (s + 1) / stretches);
        }
    }
    lift(&p);
    text_html(out, "\"/>\n");
}

/* The band of a line: along its upper edge and back along the lower one; a gap in either is left out. */
static void draw_line_band(report_text *out, const frame *f, const chart_line *line)
{
    const int64_t count = line->curve->count;
    const char *command = "M";
    if (line->high == NULL) {
        return;
    }
    text_html(out, "<path class=\"range f-%s\" d=\"", line->colour);
    for (int64_t k = 0; k < 2 * count; ++k) {
        const int64_t i = k < count ? k : 2 * count - 1 - k;
        if (scale_takes(line->curve->x[i]) && scale_takes(line->low[i]) && scale_takes(line->high[i])) {
            text_html(out, "%s%.2f %.2f", command, scale_at(&f->x, line->curve->x[i]),
                      scale_at(&f->y, k < count ? line->high[i] : line->low[i]));
            command = "L";
        }
    }
    text_html(out, "Z\"/>\n");
}

/* ---- labels at the ends of the lines ---- */

typedef struct label {
    const chart_line *line;
    double y;
} label;

/* Pixel of the last point that is drawn; -1: there is none. */
static double end_of(const record_curve *curve, const frame *f)
{
    int64_t last = curve->count - 1;
    while (last >= 0 && !scale_takes(curve->y[last])) {
        last -= 1;
    }
    return last >= 0 ? scale_at(&f->y, curve->y[last]) : -1;
}

/* Sorts labels from the top; each pushes the next one down, then the lower edge pushes them up again. */
static void spread_labels(label *labels, int count)
{
    for (int i = 1; i < count; ++i) {
        label moved = labels[i];
        int at = i;
        for (; at > 0 && labels[at - 1].y > moved.y; --at) {
            labels[at] = labels[at - 1];
        }
        labels[at] = moved;
    }
    for (int i = 1; i < count; ++i) {
        labels[i].y = fmax(labels[i].y, labels[i - 1].y + LABEL_HEIGHT);
    }
    double lowest = DRAWING_HEIGHT - DRAWING_BOTTOM;
    for (int i = count - 1; i >= 0; --i) {
        labels[i].y = fmin(labels[i].y, lowest);
        lowest = labels[i].y - LABEL_HEIGHT;
    }
}

static void draw_labels(report_text *out, const chart *c, const frame *f)
{
    label labels[DRAWING_LABELS];
    int count = 0;
    for (int l = 0; l < c->lines && count < DRAWING_LABELS; ++l) {
        double y = end_of(c->line[l].curve, f);
        if (c->line[l].name != NULL && y >= 0) {
            labels[count++] = (label){&c->line[l], y};
        }
    }
    spread_labels(labels, count);
    for (int i = 0; i < count; ++i) {
        svg_label(out, labels[i].line->colour, f->x.to + 10, labels[i].y + 4, labels[i].line->name);
    }
}

static void draw_mark(report_text *out, const chart *c, const frame *f)
{
    if (c->mark_text == NULL || !scale_takes(c->mark_y)) {
        return;
    }
    double x = scale_at(&f->x, c->mark_x), y = scale_at(&f->y, c->mark_y), bottom = f->y.from;
    bool left = x > (f->x.from + f->x.to) / 2;
    svg_line(out, "mark", x, y, x, bottom);
    text_html(out, "<circle class=\"dot f-%s\" cx=\"%.2f\" cy=\"%.2f\" r=\"4\"/>", c->mark_colour, x, y);
    /* At the foot of the mark: scores rise, so it is free there. */
    svg_text(out, left ? "note r" : "note", left ? x - 7 : x + 7, bottom - 9, c->mark_text);
}

static void draw_band(report_text *out, const chart *c, const frame *f)
{
    if (c->band_low < c->band_high) {
        double low = scale_at(&f->y, c->band_low), high = scale_at(&f->y, c->band_high);
        text_html(out, "<rect class=\"band\" x=\"%.2f\" width=\"%.2f\" y=\"%.2f\" height=\"%.2f\"/>\n", f->x.from,
                  f->x.to - f->x.from, high, low - high);
    }
}

bool chart_draw(report_text *out, const chart *c)
{
    frame f;
    assert(c->lines <= CHART_LINES_MAX);
    if (!frame_of(c, &f)) {
        return false;
    }
    frame_begin(out, c->title, &f);
    draw_band(out, c, &f);
    frame_y_axis(out, &f);
    frame_x_axis(out, &f);
    for (int l = 0; l < c->lines; ++l) {
        draw_line_band(out, &f, &c->line[l]);
    }
    for (int faint = 1; faint >= 0; --faint) { /* medians on top */
        for (int l = 0; l < c->lines; ++l) {
            if (c->line[l].faint == (faint == 1) && c->line[l].curve->count > 0) {
                draw_line(out, &f, &c->line[l]);
            }
        }
    }
    draw_mark(out, c, &f);
    draw_labels(out, c, &f);
    frame_end(out);
    return true;
}
