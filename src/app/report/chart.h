/*
 * app/report/chart.h: drawings of a report, as SVG within the HTML.
 *
 * Lines over epochs with labels at their ends, and stacked bars. Colours are classes (c0 ... c7, and by meaning: see
 * page.c), so that one drawing serves light and dark. A line of more than CHART_POINTS points is thinned: each of equal
 * stretches keeps its lowest and highest point, so no spike is lost. The drawing says its own scale in data-x, data-y
 * ("low high pixel-of-low pixel-of-high"), from which the script under the pointer, and tests, read values back.
 */
#ifndef WEFT_APP_REPORT_CHART_H
#define WEFT_APP_REPORT_CHART_H

#include "app/report/report_run.h"
#include "app/report/text.h"

enum { CHART_POINTS = 1000, CHART_LINES_MAX = 128 };

typedef enum chart_unit { CHART_PLAIN, CHART_PERCENT, CHART_SECONDS, CHART_BYTES } chart_unit;

typedef struct chart_line {
    const report_curve *curve; /* y may hold NaN: a gap */
    const char *name;          /* the label at its end; NULL: none */
    const char *colour;        /* class */
    bool faint;                /* one of many, behind their median */
} chart_line;

typedef struct chart {
    const char *title;
    chart_unit unit;
    chart_line line[CHART_LINES_MAX];
    int lines;
    bool from_zero;             /* and never logarithmic */
    double most;                /* values above are drawn at the upper edge; 0: no limit */
    double band_low, band_high; /* a shaded band; both 0: none */
    double mark_x, mark_y;      /* a marked point; mark_text NULL: none */
    const char *mark_text, *mark_colour;
} chart;

/* False when there is nothing finite to draw, and nothing has been written. */
bool chart_draw(report_text *out, const chart *chart);

/* Horizontal stacked bars, one a rank. */
typedef struct bars {
    const char *title;
    chart_unit unit; /* CHART_SECONDS or CHART_BYTES */
    int rows, parts;
    const char *const *row_name;    /* [rows] */
    const char *const *part_name;   /* [parts] */
    const char *const *part_colour; /* [parts] */
    const double *value;            /* [rows, parts], finite, >= 0 */
} bars;

void bars_draw(report_text *out, const bars *bars);

/* ---- scales ---- */

typedef struct scale {
    double low, high; /* of the axis */
    double step;      /* between ticks; 0: logarithmic, ticks at 1, 2, 5 x 10^n */
    double from, to;  /* pixels of low and high */
} scale;

/* Round limits around [low, high] with about `ticks` ticks at 1, 2, 2.5 or 5 x 10^n. */
scale scale_linear(double low, double high, int ticks, double from, double to);
/* 0 < low. */
scale scale_logarithmic(double low, double high, double from, double to);
double scale_at(const scale *s, double value);
/* The i-th tick; false past the last. */
bool scale_tick(const scale *s, int i, double *value);
quantity scale_tick_text(const scale *s, double value, chart_unit unit);

#endif
