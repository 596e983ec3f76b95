/*
 * app/report/bars.c: stacked horizontal bars, one a rank (app/report/chart.h).
 *
 * Bars get thinner as ranks get more; names stand beside them while there is room for the letters. Parts are named
 * above the first bar where they are wide enough; a table beside the drawing names all of them.
 */
#include <math.h>
#include <string.h>

#include "app/report/chart.h"

enum { WIDTH = 1140, LEFT = 130, RIGHT = 90, TOP = 30, BOTTOM = 34, NAMED_FROM = 13, TALLEST = 600 };

#define LETTER_WIDTH 6.3

static double total_of(const bars *b, int row)
{
    double total = 0;
    for (int p = 0; p < b->parts; ++p) {
        total += b->value[row * b->parts + p];
    }
    return total;
}

static void draw_axis(report_text *out, const bars *b, const scale *x, double bottom)
{
    double value;
    for (int i = 0; scale_tick(x, i, &value); ++i) {
        double at = scale_at(x, value);
        fprintf(out->file, "<line class=\"grid\" x1=\"%.2f\" x2=\"%.2f\" y1=\"%d\" y2=\"%.2f\"/>", at, at, TOP - 4,
                bottom);
        fprintf(out->file, "<text class=\"tick m\" x=\"%.2f\" y=\"%.2f\">", at, bottom + 18);
        text_write(out, scale_tick_text(x, value, b->unit).text);
        fputs("</text>\n", out->file);
    }
}

/* Names of the first bar's wide parts; counted in bytes, which is letters for the names of activities. */
static void draw_part_names(report_text *out, const bars *b, const scale *x)
{
    double sum = 0;
    for (int p = 0; p < b->parts; ++p) {
        double from = scale_at(x, sum);
        sum += b->value[p];
        if (scale_at(x, sum) - from > LETTER_WIDTH * (double)strlen(b->part_name[p]) + 6) {
            fprintf(out->file, "<text class=\"label t-%s\" x=\"%.2f\" y=\"%d\">", b->part_colour[p], from + 1,
                    TOP - 10);
            text_write(out, b->part_name[p]);
            fputs("</text>\n", out->file);
        }
    }
}

static void draw_row(report_text *out, const bars *b, const scale *x, int row, double y, double height)
{
    double sum = 0;
    double thick = height >= 4 ? height - (height >= NAMED_FROM ? 5 : 1) : height;
    for (int p = 0; p < b->parts; ++p) {
        double value = b->value[row * b->parts + p];
        double from = scale_at(x, sum);
        sum += value;
        if (value > 0) {
            fprintf(out->file, "<rect class=\"f-%s\" x=\"%.2f\" y=\"%.2f\" width=\"%.2f\" height=\"%.2f\"><title>",
                    b->part_colour[p], from, y, scale_at(x, sum) - from, thick);
            text_printf(out, "%s, %s: %s", b->row_name[row], b->part_name[p],
                        b->unit == CHART_SECONDS ? quantity_seconds(value).text : quantity_bytes(value).text);
            fputs("</title></rect>", out->file);
        }
    }
    if (height >= NAMED_FROM) {
        fprintf(out->file, "<text class=\"tick r\" x=\"%d\" y=\"%.2f\">", LEFT - 8, y + thick / 2 + 4);
        text_printf(out, "%.17s", b->row_name[row]);
        fprintf(out->file, "</text><text class=\"tick\" x=\"%.2f\" y=\"%.2f\">", scale_at(x, sum) + 6,
                y + thick / 2 + 4);
        text_write(out, b->unit == CHART_SECONDS ? quantity_seconds(sum).text : quantity_bytes(sum).text);
        fputs("</text>", out->file);
    }
    fputs("\n", out->file);
}

void bars_draw(report_text *out, const bars *b)
{
    double most = 0;
    for (int row = 0; row < b->rows; ++row) {
        most = fmax(most, total_of(b, row));
    }
    double height = fmin(28, fmax(1, (double)TALLEST / b->rows));
    double bottom = TOP + b->rows * height;
    scale x = scale_linear(0, most > 0 ? most : 1, 8, LEFT, WIDTH - RIGHT);
    x.low = 0;
    x.high = most > 0 ? most : 1; /* bars use the width; the last tick stands within it */
    fputs("<figure><figcaption>", out->file);
    text_write(out, b->title);
    fprintf(out->file,
            "</figcaption>\n<svg class=\"bars\" role=\"img\" viewBox=\"0 0 %d %.0f\" data-x=\"%.17g %.17g %.2f %.2f\">"
            "\n<title>",
            WIDTH, bottom + BOTTOM, x.low, x.high, x.from, x.to);
    text_write(out, b->title);
    fputs("</title>\n", out->file);
    draw_axis(out, b, &x, bottom);
    draw_part_names(out, b, &x);
    for (int row = 0; row < b->rows; ++row) {
        draw_row(out, b, &x, row, TOP + row * height, height);
    }
    fputs("</svg></figure>\n", out->file);
}
