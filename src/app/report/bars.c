/*
 * app/report/bars.c: stacked horizontal bars, and heat maps, which are tables of shaded cells (app/report/drawing.h).
 *
 * Names, sums and ticks of bars are text of the page beside drawings that stretch, so letters keep their size on every
 * screen: a wide one has name, bar and sum in a line, a narrow one the bar below the other two (page.c). Bars get
 * thinner as rows get more; names stand beside them while there is room for the letters.
 */
#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "app/report/drawing.h"

enum { WIDTH = 1000, ROW = 28, NAMED_FROM = 13, TALLEST = 600, TICKS = 8, RANK_BYTES = 32 };

static double part_of(const drawing *d, int part, int row)
{
    const double value = record_at(&d->series[part].values, row);
    return scale_takes(value) ? value : 0;
}

static double total_of(const drawing *d, int row)
{
    double total = 0;
    for (int p = 0; p < d->count; ++p) {
        total += part_of(d, p, row);
    }
    return total;
}

/* The parts that any bar has; one part needs no legend. */
static void draw_legend(report_text *out, const drawing *d)
{
    if (d->count == 1) {
        return;
    }
    text_html(out, "<p class=\"legend\">");
    for (int p = 0; p < d->count; ++p) {
        double most = 0;
        for (int row = 0; row < d->names; ++row) {
            most = fmax(most, part_of(d, p, row));
        }
        if (most > 0) {
            text_html(out, "<span><i class=\"patch %s\"></i>%s</span> ", series_colour(d, p), d->series[p].name);
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
static void draw_ticks(report_text *out, const drawing *d, const scale *x)
{
    double value;
    text_html(out, "<div class=\"ticks\">");
    for (int i = 0; scale_tick(x, i, &value); ++i) {
        const double percent = 100 * scale_at(x, value) / WIDTH;
        const char *edge = percent < 5 ? "first" : percent > 90 ? "last" : "";
        text_html(out, "<span class=\"%s\" style=\"left:%.2f%%\">%s</span> ", edge, percent,
                  scale_tick_text(x, value, d->unit).text);
    }
    text_html(out, "</div>\n");
}

static void draw_bar(report_text *out, const drawing *d, const scale *x, int row)
{
    double sum = 0;
    text_html(out, "<svg class=\"bar\" viewBox=\"0 0 %d 1\" preserveAspectRatio=\"none\">", WIDTH);
    for (int p = 0; p < d->count; ++p) {
        const double value = part_of(d, p, row), from = scale_at(x, sum);
        sum += value;
        if (value > 0) {
            text_html(out, "<rect class=\"f-%s\" x=\"%.3f\" y=\"0\" width=\"%.3f\" height=\"1\">", series_colour(d, p),
                      from, scale_at(x, sum) - from);
            text_html(out, "<title>%s, %s: %s</title></rect>", d->name[row], d->series[p].name,
                      quantity_of(value, d->unit).text);
        }
    }
    text_html(out, "</svg>");
}

static void draw_row(report_text *out, const drawing *d, const scale *x, int row, double height)
{
    if (height < NAMED_FROM) {
        text_html(out, "<div class=\"thin\" style=\"height:%.2fpx\">", height);
        draw_bar(out, d, x, row);
        text_html(out, "</div>\n");
        return;
    }
    text_html(out, "<div class=\"row\"><span class=\"name\">%s</span>", d->name[row]);
    draw_bar(out, d, x, row);
    text_html(out, "<span class=\"sum\">%s</span></div>\n", quantity_of(total_of(d, row), d->unit).text);
}

bool bars_draw(report_text *out, run_record *run, const drawing *d)
{
    double most = 0;
    (void)run;
    for (int i = 0; i < d->count * d->names; ++i) {
        if (part_of(d, i % d->count, i / d->count) < 0) {
            return false;
        }
        most = fmax(most, total_of(d, i / d->count));
    }
    if (d->names == 0) {
        return false;
    }
    most = most > 0 ? most : 1;
    scale x = scale_linear(0, most, TICKS, 0, WIDTH);
    x.low = 0;
    x.high = most; /* bars use the width; the last tick stands within it */
    text_html(out, "<figure class=\"bars\" data-x=\"%.17g %.17g %.2f %.2f\"><figcaption>%s</figcaption>\n", x.low,
              x.high, x.from, x.to, d->title);
    draw_legend(out, d);
    text_html(out, "<div class=\"plot\">\n");
    draw_grid(out, &x);
    for (int row = 0; row < d->names; ++row) {
        draw_row(out, d, &x, row, fmin(ROW, fmax(1, (double)TALLEST / d->names)));
    }
    draw_ticks(out, d, &x);
    text_html(out, "</div></figure>\n");
    return true;
}

void bars_of_ranks(report_text *out, run_record *run, drawing *d, double per)
{
    int chosen[NAMES_MAX];
    char name[NAMES_MAX][RANK_BYTES];
    assert(d->count > 0);
    d->names = record_rank_choice(run->rank_count, &d->series[0].values, NAMES_MAX, chosen);
    for (int i = 0; i < d->count * d->names; ++i) {
        record_column *of_ranks = &d->series[i / d->names].values;
        const double at = record_at(of_ranks, chosen[i % d->names]); /* ranks ascend, so that a place is read first */
        if (i % d->names < of_ranks->count) {
            of_ranks->value[i % d->names] = isfinite(at) && at > 0 && at < 1e18 ? at / per : 0;
        }
    }
    for (int i = 0; i < d->names; ++i) {
        snprintf(name[i], RANK_BYTES, "rank %d", chosen[i]);
        d->name[i] = name[i];
    }
    const phrase title =
        phrase_of(d->names < run->rank_count ? "%s, %d of %d ranks" : "%s", d->title, d->names, run->rank_count);
    d->title = title.text;
    bars_draw(out, run, d);
}

/* ---- heat maps ---- */

static double strength_of(const drawing *d, int row, int column, double low, double high)
{
    const double value = record_at(&d->series[row].values, column);
    const double share = d->diagonal ? value / record_at(&d->series[row].tint, 0) : (value - low) / (high - low);
    return isfinite(share) ? share : 0;
}

bool heat_draw(report_text *out, run_record *run, const drawing *d)
{
    char align[HEAT_MAX + 2] = "l";
    const char *names[HEAT_MAX + 1] = {d->y_name};
    const int columns = d->names < HEAT_MAX ? d->names : HEAT_MAX;
    double low = INFINITY, high = -INFINITY;
    (void)run;
    for (int k = 0; k < d->count; ++k) {
        const record_column *values = &d->series[k].values;
        scale_widen(&low, &high, &(record_column){values->value, values->count < columns ? values->count : columns});
    }
    if (!(low <= high)) {
        return false;
    }
    memset(align + 1, 'r', (size_t)columns);
    align[0] = d->numbered ? 'r' : 'l';
    memcpy(names + 1, d->name, (size_t)columns * sizeof *names);
    if (d->title != NULL) {
        text_paragraph(out, "", "%s", d->title);
    }
    text_table_named(out, align, names);
    for (int i = 0; i < d->count * columns; ++i) {
        const int row = i / columns, c = i % columns;
        const cell_style style = {.shade = d->diagonal && row == c ? "hit" : "miss",
                                  .share = strength_of(d, row, c, low, high)};
        if (c == 0) {
            text_cell(out, "%s", d->series[row].name);
        }
        text_cell_styled(out, style, quantity_of(record_at(&d->series[row].values, c), d->unit).text);
    }
    text_table_end(out);
    return true;
}
