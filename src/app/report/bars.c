/*
 * app/report/bars.c: stacked horizontal bars, one a rank (app/report/drawing.h).
 *
 * Names, sums and ticks are text of the page beside drawings that stretch, so letters keep their size on every screen:
 * a wide one has name, bar and sum in a line, a narrow one the bar below the other two (page.c). Bars get thinner as
 * ranks get more; names stand beside them while there is room for the letters.
 */
#include <assert.h>
#include <math.h>

#include "app/report/drawing.h"

enum { WIDTH = 1000, ROW = 28, NAMED_FROM = 13, TALLEST = 600, TICKS = 8 };

static double total_of(const bars *b, int row)
{
    double total = 0;
    for (int p = 0; p < b->parts; ++p) {
        total += b->value[row * b->parts + p];
    }
    return total;
}

/* The parts that any bar has; one part needs no legend. */
static void draw_legend(report_text *out, const bars *b)
{
    if (b->parts == 1) {
        return;
    }
    text_html(out, "<p class=\"legend\">");
    for (int p = 0; p < b->parts; ++p) {
        double most = 0;
        for (int row = 0; row < b->rows; ++row) {
            most = fmax(most, b->value[row * b->parts + p]);
        }
        if (most > 0) {
            text_html(out, "<span><i class=\"patch %s\"></i>%s</span> ", b->part_colour[p], b->part_name[p]);
        }
    }
    text_html(out, "</p>\n");
}

static void draw_grid(report_text *out, const scale *x)
{
    double value;
    text_html(out, "<svg class=\"lines\" viewBox=\"0 0 %d 1\" preserveAspectRatio=\"none\"><path class=\"grid\" d=\"",
              WIDTH);
    for (int i = 0; scale_tick(x, i, &value); ++i) {
        text_html(out, "M%.2f 0V1", scale_at(x, value));
    }
    text_html(out, "\"/></svg>\n");
}

/* Ticks near an edge say so: on a narrow screen there is no margin for half of their text. */
static void draw_ticks(report_text *out, const bars *b, const scale *x)
{
    double value;
    text_html(out, "<div class=\"ticks\">");
    for (int i = 0; scale_tick(x, i, &value); ++i) {
        double percent = 100 * scale_at(x, value) / WIDTH;
        text_html(out, "<span class=\"%s\" style=\"left:%.2f%%\">%s</span> ",
                  percent < 5    ? "first"
                  : percent > 90 ? "last"
                                 : "",
                  percent, scale_tick_text(x, value, b->unit).text);
    }
    text_html(out, "</div>\n");
}

static void draw_bar(report_text *out, const bars *b, const scale *x, int row)
{
    double sum = 0;
    text_html(out, "<svg class=\"bar\" viewBox=\"0 0 %d 1\" preserveAspectRatio=\"none\">", WIDTH);
    for (int p = 0; p < b->parts; ++p) {
        double value = b->value[row * b->parts + p];
        double from = scale_at(x, sum);
        sum += value;
        if (value > 0) {
            text_html(
                out,
                "<rect class=\"f-%s\" x=\"%.3f\" y=\"0\" width=\"%.3f\" height=\"1\"><title>%s, %s: %s</title></rect>",
                b->part_colour[p], from, scale_at(x, sum) - from, b->row_name[row], b->part_name[p],
                quantity_of(value, b->unit).text);
        }
    }
    text_html(out, "</svg>");
}

static void draw_row(report_text *out, const bars *b, const scale *x, int row, double height)
{
    if (height < NAMED_FROM) {
        text_html(out, "<div class=\"thin\" style=\"height:%.2fpx\">", height);
        draw_bar(out, b, x, row);
        text_html(out, "</div>\n");
        return;
    }
    text_html(out, "<div class=\"row\"><span class=\"name\">%s</span>", b->row_name[row]);
    draw_bar(out, b, x, row);
    text_html(out, "<span class=\"sum\">%s</span></div>\n", quantity_of(total_of(b, row), b->unit).text);
}

void bars_draw(report_text *out, const bars *b)
{
    double most = 0;
    assert(b->rows > 0 && b->parts > 0);
    for (int row = 0; row < b->rows; ++row) {
        most = fmax(most, total_of(b, row));
    }
    double height = fmin(ROW, fmax(1, (double)TALLEST / b->rows));
    scale x = scale_linear(0, most > 0 ? most : 1, TICKS, 0, WIDTH);
    x.low = 0;
    x.high = most > 0 ? most : 1; /* bars use the width; the last tick stands within it */
    text_html(out, "<figure class=\"bars\" data-x=\"%.17g %.17g %.2f %.2f\"><figcaption>%s</figcaption>\n", x.low,
              x.high, x.from, x.to, b->title);
    draw_legend(out, b);
    text_html(out, "<div class=\"plot\">\n");
    draw_grid(out, &x);
    for (int row = 0; row < b->rows; ++row) {
        draw_row(out, b, &x, row, height);
    }
    draw_ticks(out, b, &x);
    text_html(out, "</div></figure>\n");
}
