/* app/report/frame.c: SVG, and the frame and axes around a drawing (app/report/drawing.h). */
#include <assert.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>

#include "app/report/drawing.h"

enum { LABEL_LETTERS = 12 };

void svg_line(report_text *out, const char *class, double x1, double y1, double x2, double y2)
{
    text_html(out, "<line class=\"%s\" x1=\"%.2f\" x2=\"%.2f\" y1=\"%.2f\" y2=\"%.2f\"/>\n", class, x1, x2, y1, y2);
}

void svg_text(report_text *out, const char *class, double x, double y, const char *text)
{
    text_html(out, "<text class=\"%s\" x=\"%.2f\" y=\"%.2f\">%s</text>\n", class, x, y, text);
}

void svg_point(report_text *out, const char *class, double share, double x, double y, double radius)
{
    text_html(out, "<circle class=\"point %s\" style=\"--share:%.0f%%\" cx=\"%.2f\" cy=\"%.2f\" r=\"%.2f\"/>\n", class,
              isfinite(share) ? 100 * fmin(fmax(share, 0), 1) : 50, x, y, radius);
}

const char *svg_cut(const char *name, int most, char text[SVG_CUT_BYTES])
{
    size_t cut = 0, bytes = 0; /* in front of the last letter that fits; all that fit */
    assert(4 * most + 4 <= SVG_CUT_BYTES);
    for (int letters = 0; name[bytes] != '\0' && letters < most; ++letters) {
        cut = bytes;
        do {
            bytes += 1;
        } while ((name[bytes] & 0xc0) == 0x80); /* continuation bytes of UTF-8 */
    }
    const bool whole = name[bytes] == '\0';
    snprintf(text, SVG_CUT_BYTES, "%.*s%s", (int)(whole ? bytes : cut), name, whole ? "" : "…");
    return text;
}

void svg_label(report_text *out, const char *colour, double x, double y, const char *name)
{
    char class[48], text[SVG_CUT_BYTES];
    snprintf(class, sizeof class, "label t-%s", colour);
    svg_text(out, class, x, y, svg_cut(name, LABEL_LETTERS, text));
}

const char *drawing_colour(int i)
{
    static const char *const colours[] = {"c0", "c1", "c2", "c3", "c4", "c5", "c6", "c7"};
    assert(i >= 0);
    return colours[i % 8];
}

const char *series_colour(const drawing *d, int k)
{
    return d->series[k].colour != NULL ? d->series[k].colour : drawing_colour(k);
}

bool drawing_chooses(int64_t i, int64_t count, int64_t most)
{
    return i == 0 || count <= most || i * most / count > (i - 1) * most / count;
}

void drawing_add_line(drawing *d, const record_curve *curve, const char *name, const char *colour, bool faint)
{
    assert(d->count < SERIES_MAX && curve->count <= INT_MAX);
    d->series[d->count++] = (drawing_series){.name = name,
                                             .colour = colour,
                                             .faint = faint,
                                             .x = {curve->x, (int)curve->count},
                                             .y = {curve->y, (int)curve->count}};
}

void frame_begin(report_text *out, const char *title, const frame *f)
{
    const scale *x = &f->x, *y = &f->y;
    text_html(
        out,
        "<figure><figcaption>%s</figcaption>\n<svg class=\"chart\" role=\"img\" viewBox=\"0 0 %d %d\" data-unit=\"%d\" "
        "data-log=\"%d\" data-x=\"%.17g %.17g %.2f %.2f\" data-y=\"%.17g %.17g %.2f %.2f\" data-label=\"%s\">\n"
        "<title>%s</title>\n<desc>Across: %s. Upwards: %s.</desc>\n",
        title, DRAWING_WIDTH, f->height, (int)f->y_unit, y->step <= 0, x->low, x->high, x->from, x->to, y->low, y->high,
        y->from, y->to, f->x_name, title, f->x_name, f->y_name != NULL ? f->y_name : title);
}

void frame_end(report_text *out)
{
    text_html(out, "</svg></figure>\n");
}

void frame_y_axis(report_text *out, const frame *f)
{
    double value;
    for (int i = 0; scale_tick(&f->y, i, &value); ++i) {
        double y = scale_at(&f->y, value);
        svg_line(out, "grid", f->x.from, y, f->x.to, y);
        svg_text(out, "tick r", f->x.from - 8, y + 4, scale_tick_text(&f->y, value, f->y_unit).text);
    }
}

/* Ticks at multiples of the step; the axis' own beginning too, unless it is too near to the next tick. */
void frame_x_axis(report_text *out, const frame *f)
{
    const double bottom = f->y.from;
    double value;
    assert(f->x.step > 0); /* never logarithmic */
    svg_line(out, "axis", f->x.from, bottom, f->x.to, bottom);
    const bool own_first = scale_tick(&f->x, 0, &value) && value - f->x.low > 0.35 * f->x.step;
    for (int i = own_first ? -1 : 0; i < 0 || scale_tick(&f->x, i, &value); ++i) {
        value = i < 0 ? f->x.low : value;
        const double x = scale_at(&f->x, value);
        const phrase plain = phrase_of("%.10g", value);
        svg_line(out, "axis", x, bottom, x, bottom + 4);
        svg_text(out, "tick m", x, bottom + 19,
                 f->x_unit == UNIT_COUNT ? plain.text : scale_tick_text(&f->x, value, f->x_unit).text);
    }
    svg_text(out, "tick m", (f->x.from + f->x.to) / 2, bottom + 38, f->x_name);
}
