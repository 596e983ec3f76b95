/* app/report/chart.c: lines over epochs (app/report/chart.h). */
#include "app/report/chart.h"

#include <math.h>
#include <string.h>

enum {
    WIDTH = 560,
    HEIGHT = 300,
    LEFT = 62,
    RIGHT = 128,
    TOP = 18,
    BOTTOM = 42,
    LABEL_HEIGHT = 19,
    LABELS_MAX = 13,
    NAME_LETTERS = 12
};

/* Beyond this a value is a sign of divergence, not something to scale an axis by. */
#define DRAWN_BELOW 1e100

static bool is_drawn(double y)
{
    return isfinite(y) && fabs(y) < DRAWN_BELOW;
}

typedef struct extent {
    double x_low, x_high, y_low, y_high;
    bool any;
} extent;

static extent extent_of(const chart *c)
{
    extent e = {INFINITY, -INFINITY, INFINITY, -INFINITY, false};
    for (int l = 0; l < c->lines; ++l) {
        const report_curve *curve = c->line[l].curve;
        for (int64_t i = 0; i < curve->count; ++i) {
            e.x_low = fmin(e.x_low, curve->x[i]);
            e.x_high = fmax(e.x_high, curve->x[i]);
            if (is_drawn(curve->y[i])) {
                e.y_low = fmin(e.y_low, curve->y[i]);
                e.y_high = fmax(e.y_high, curve->y[i]);
                e.any = true;
            }
        }
    }
    return e;
}

typedef struct frame {
    scale x, y;
} frame;

static frame frame_of(const chart *c, extent e)
{
    frame f;
    double low = c->from_zero ? fmin(0, e.y_low) : e.y_low;
    double high = c->most > 0 ? fmin(e.y_high, c->most) : e.y_high;
    if (c->unit == CHART_PLAIN && !c->from_zero && low > 0 && high / low > 50) {
        f.y = scale_logarithmic(low, high, HEIGHT - BOTTOM, TOP);
    } else {
        f.y = scale_linear(low, high, 5, HEIGHT - BOTTOM, TOP);
    }
    f.x = scale_linear(e.x_low, e.x_high, 6, LEFT, WIDTH - RIGHT);
    f.x.step = fmax(1, f.x.step); /* epochs are whole; the axis ends where they end */
    f.x.low = e.x_high > e.x_low ? e.x_low : e.x_low - 1;
    f.x.high = e.x_high > e.x_low ? e.x_high : e.x_high + 1;
    return f;
}

/* ---- axes ---- */

static void draw_y_axis(report_text *out, const chart *c, const frame *f)
{
    double value;
    for (int i = 0; scale_tick(&f->y, i, &value); ++i) {
        double y = scale_at(&f->y, value);
        fprintf(out->file, "<line class=\"grid\" x1=\"%d\" x2=\"%d\" y1=\"%.2f\" y2=\"%.2f\"/>", LEFT, WIDTH - RIGHT, y,
                y);
        fprintf(out->file, "<text class=\"tick r\" x=\"%d\" y=\"%.2f\">", LEFT - 8, y + 4);
        text_write(out, scale_tick_text(&f->y, value, c->unit).text);
        fputs("</text>\n", out->file);
    }
}

/* Ticks at multiples of the step, the first epoch too; none too near to the next. */
static void draw_x_axis(report_text *out, const frame *f)
{
    double step = f->x.step;
    double bottom = HEIGHT - BOTTOM;
    fprintf(out->file, "<line class=\"axis\" x1=\"%d\" x2=\"%d\" y1=\"%.2f\" y2=\"%.2f\"/>\n", LEFT, WIDTH - RIGHT,
            bottom, bottom);
    double first = step * ceil(f->x.low / step);
    bool own_first = f->x.low < first && first - f->x.low > 0.35 * step;
    for (int i = own_first ? -1 : 0; i < 40; ++i) {
        double epoch = i < 0 ? f->x.low : first + i * step;
        if (epoch > f->x.high + 1e-9 * step) {
            break;
        }
        double x = scale_at(&f->x, epoch);
        fprintf(out->file, "<line class=\"axis\" x1=\"%.2f\" x2=\"%.2f\" y1=\"%.2f\" y2=\"%.2f\"/>", x, x, bottom,
                bottom + 4);
        fprintf(out->file, "<text class=\"tick m\" x=\"%.2f\" y=\"%.2f\">%.10g</text>\n", x, bottom + 19, epoch);
    }
    fprintf(out->file, "<text class=\"tick m\" x=\"%d\" y=\"%.2f\">epoch</text>\n", (LEFT + WIDTH - RIGHT) / 2,
            bottom + 38);
}

/* ---- lines ---- */

typedef struct pen {
    FILE *file;
    const frame *frame;
    bool down; /* the last point was drawn: the next is joined to it */
    int run;   /* points since the pen came down */
} pen;

static void lift(pen *p)
{
    if (p->down && p->run == 1) {
        fputs("h0", p->file); /* a point between gaps shows as a dot */
    }
    p->down = false;
}

static void put_point(pen *p, double x, double y)
{
    if (!is_drawn(y)) {
        lift(p);
        return;
    }
    p->run = p->down ? p->run + 1 : 1;
    fprintf(p->file, "%c%.2f %.2f", p->down ? 'L' : 'M', scale_at(&p->frame->x, x), scale_at(&p->frame->y, y));
    p->down = true;
}

/* Points [from, to): all, or the lowest and the highest, and a gap if there is one. */
static void put_stretch(pen *p, const report_curve *curve, int64_t from, int64_t to)
{
    int64_t low = from, high = from;
    bool gap = false;
    for (int64_t i = from; i < to; ++i) {
        if (!is_drawn(curve->y[i])) {
            gap = true;
            continue;
        }
        low = !is_drawn(curve->y[low]) || curve->y[i] < curve->y[low] ? i : low;
        high = !is_drawn(curve->y[high]) || curve->y[i] > curve->y[high] ? i : high;
    }
    int64_t first = low < high ? low : high, second = low < high ? high : low;
    put_point(p, curve->x[first], curve->y[first]);
    if (second != first) {
        put_point(p, curve->x[second], curve->y[second]);
    }
    if (gap) {
        lift(p);
    }
}

static void draw_line(report_text *out, const frame *f, const chart_line *line)
{
    const report_curve *curve = line->curve;
    pen p = {.file = out->file, .frame = f};
    fprintf(out->file, "<path class=\"%s %s\"", line->faint ? "faint" : "line", line->colour);
    if (line->name != NULL) {
        fputs(" data-name=\"", out->file);
        text_write(out, line->name);
        fputs("\"", out->file);
    }
    fputs(" d=\"", out->file);
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
    fputs("\"/>\n", out->file);
}

/* ---- labels at the ends of the lines ---- */

typedef struct label {
    const chart_line *line;
    double y;
} label;

static double end_of(const report_curve *curve, const frame *f)
{
    for (int64_t i = curve->count - 1; i >= 0; --i) {
        if (is_drawn(curve->y[i])) {
            return scale_at(&f->y, curve->y[i]);
        }
    }
    return -1;
}

/* Sorted from the top; each pushes the next down, then the lower edge pushes them up again. */
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
    double lowest = HEIGHT - BOTTOM;
    for (int i = count - 1; i >= 0; --i) {
        labels[i].y = fmin(labels[i].y, lowest);
        lowest = labels[i].y - LABEL_HEIGHT;
    }
}

/* What fits beside the drawing; tables have the name as a whole. Continuation bytes of UTF-8 are no letters. */
static void write_name(report_text *out, const char *name)
{
    char text[4 * NAME_LETTERS + 1];
    size_t bytes = 0;
    int letters = 0;
    while (name[bytes] != '\0' && bytes < sizeof text - 1) {
        letters += (name[bytes] & 0xc0) != 0x80;
        if (letters > NAME_LETTERS) {
            break;
        }
        text[bytes] = name[bytes];
        bytes += 1;
    }
    const bool whole = name[bytes] == '\0';
    while (!whole && bytes > 0 && (name[--bytes] & 0xc0) == 0x80) { /* the last letter makes way for the dots */
    }
    text[bytes] = '\0';
    text_write(out, text);
    fputs(whole ? "" : "…", out->file);
}

static void draw_labels(report_text *out, const chart *c, const frame *f)
{
    label labels[LABELS_MAX];
    int count = 0;
    for (int l = 0; l < c->lines && count < LABELS_MAX; ++l) {
        double y = end_of(c->line[l].curve, f);
        if (c->line[l].name != NULL && y >= 0) {
            labels[count++] = (label){&c->line[l], y};
        }
    }
    spread_labels(labels, count);
    for (int i = 0; i < count; ++i) {
        fprintf(out->file, "<text class=\"label t-%s\" x=\"%d\" y=\"%.2f\">", labels[i].line->colour,
                WIDTH - RIGHT + 10, labels[i].y + 4);
        write_name(out, labels[i].line->name);
        fputs("</text>\n", out->file);
    }
}

static void draw_mark(report_text *out, const chart *c, const frame *f)
{
    if (c->mark_text == NULL || !is_drawn(c->mark_y)) {
        return;
    }
    double x = scale_at(&f->x, c->mark_x), y = scale_at(&f->y, c->mark_y);
    bool left = x > (LEFT + WIDTH - RIGHT) / 2.0;
    fprintf(out->file, "<line class=\"mark\" x1=\"%.2f\" x2=\"%.2f\" y1=\"%.2f\" y2=\"%d\"/>", x, x, y,
            HEIGHT - BOTTOM);
    fprintf(out->file, "<circle class=\"dot f-%s\" cx=\"%.2f\" cy=\"%.2f\" r=\"4\"/>", c->mark_colour, x, y);
    /* At the foot of the mark: scores rise, so it is free there. */
    fprintf(out->file, "<text class=\"note%s\" x=\"%.2f\" y=\"%d\">", left ? " r" : "", left ? x - 7 : x + 7,
            HEIGHT - BOTTOM - 9);
    text_write(out, c->mark_text);
    fputs("</text>\n", out->file);
}

static void draw_band(report_text *out, const chart *c, const frame *f)
{
    if (c->band_low >= c->band_high) {
        return;
    }
    double low = scale_at(&f->y, c->band_low), high = scale_at(&f->y, c->band_high);
    fprintf(out->file, "<rect class=\"band\" x=\"%d\" width=\"%d\" y=\"%.2f\" height=\"%.2f\"/>\n", LEFT,
            WIDTH - RIGHT - LEFT, high, low - high);
}

bool chart_draw(report_text *out, const chart *c)
{
    extent e = extent_of(c);
    if (!e.any) {
        return false;
    }
    frame f = frame_of(c, e);
    fputs("<figure><figcaption>", out->file);
    text_write(out, c->title);
    fprintf(out->file,
            "</figcaption>\n<svg class=\"chart\" role=\"img\" viewBox=\"0 0 %d %d\" data-unit=\"%d\" data-log=\"%d\" "
            "data-x=\"%.17g %.17g %.2f %.2f\" data-y=\"%.17g %.17g %.2f %.2f\">\n<title>",
            WIDTH, HEIGHT, (int)c->unit, f.y.step <= 0, f.x.low, f.x.high, f.x.from, f.x.to, f.y.low, f.y.high,
            f.y.from, f.y.to);
    text_write(out, c->title);
    fputs("</title>\n", out->file);
    draw_band(out, c, &f);
    draw_y_axis(out, c, &f);
    draw_x_axis(out, &f);
    for (int faint = 1; faint >= 0; --faint) { /* medians on top */
        for (int l = 0; l < c->lines; ++l) {
            if (c->line[l].faint == (faint == 1) && c->line[l].curve->count > 0) {
                draw_line(out, &f, &c->line[l]);
            }
        }
    }
    draw_mark(out, c, &f);
    draw_labels(out, c, &f);
    fputs("</svg></figure>\n", out->file);
    return true;
}
