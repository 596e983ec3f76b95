/*
 * app/report/drawing.h: the drawings of a report, as SVG within the HTML.
 *
 * One struct describes every drawing: lines with bands, stacked bars, heat maps, points (scatter, beeswarm) and
 * parallel axes. Colours are classes (c0 ... c7, and by meaning: see page.c), so that one drawing serves light and
 * dark. A drawing with axes has a <title> and a <desc>. It states its scales in data-x and data-y ("low high
 * pixel-of-low pixel-of-high"), from which the script under the pointer, and tests, read values back. Values of which
 * the magnitude is 1e100 or more, and NaN, are signs of divergence: they are not drawn, and a line has a gap there.
 */
#pragma once

#include "app/record/run_record.h"
#include "app/report/text.h"

/* ---- scales (scale.c) ---- */

typedef struct scale {
    double low, high; /* ends of the axis */
    double step;      /* between ticks; 0: logarithmic, ticks at 1, 2, 5 x 10^n */
    double from, to;  /* pixels of low and high */
} scale;

/* Round limits around [low, high] with about `ticks` ticks at 1, 2, 2.5 or 5 x 10^n. */
scale scale_linear(double low, double high, int ticks, double from, double to);
/* 0 < low. */
scale scale_logarithmic(double low, double high, double from, double to);
/* Pixel of a value; values beyond the ends are moved to them. */
double scale_at(const scale *s, double value);
/* The i-th tick; returns false past the last. */
bool scale_tick(const scale *s, int i, double *value);
quantity scale_tick_text(const scale *s, double value, quantity_unit unit);
/* Returns true if the value can be drawn. */
bool scale_takes(double value);
/* Widens [*low, *high] by the drawable values; begin with INFINITY and -INFINITY. */
void scale_widen(double *low, double *high, const record_column *values);

/* ---- SVG and the frame of a drawing with axes (frame.c) ---- */

/* Pixels of a drawing, of the margins around its plot, and the labels that the right one has room for. */
enum { DRAWING_WIDTH = 560, DRAWING_HEIGHT = 300, DRAWING_LEFT = 62, DRAWING_RIGHT = 128, DRAWING_TOP = 18 };
enum { DRAWING_BOTTOM = 42, DRAWING_LABELS = 13, DRAWING_LABEL_HEIGHT = 19 };

typedef struct frame {
    scale x, y; /* their pixels are the edges of the plot */
    quantity_unit x_unit, y_unit;
    const char *x_name; /* below the axis */
    const char *y_name; /* for the description; NULL: the title */
    int height;         /* of the whole drawing */
} frame;

/* A figure with its caption, and the open SVG. */
void frame_begin(report_text *out, const char *title, const frame *f);
void frame_x_axis(report_text *out, const frame *f);
void frame_y_axis(report_text *out, const frame *f);
void frame_end(report_text *out);

void svg_line(report_text *out, const char *class, double x1, double y1, double x2, double y2);
void svg_text(report_text *out, const char *class, double x, double y, const char *text);
/* A circle; share: 0 to 1, of the tint where the class has one; NaN: half. */
void svg_point(report_text *out, const char *class, double share, double x, double y, double radius);
/* A name of at most `most` letters (<= 31); a longer one ends in dots. Returns text. */
enum { SVG_CUT_BYTES = 128 };
const char *svg_cut(const char *name, int most, char text[SVG_CUT_BYTES]);
/* A label beside the drawing in the colour of what it names, cut to what fits; tables have the whole name. */
void svg_label(report_text *out, const char *colour, double x, double y, const char *name);

/* ---- drawings ----
 *
 * Every drawing returns false, and writes nothing, when there is nothing to draw.
 */

enum { SERIES_MAX = 64, NAMES_MAX = 256, HEAT_MAX = SERIES_MAX };
/* Points or lines of a series that are drawn. */
enum { CHART_POINTS = 1000, SWARM_POINTS = 300, SCATTER_POINTS = 1000, PARALLEL_LINES = 1000, PARALLEL_AXES = 12 };

typedef struct drawing_series {
    const char *name;   /* NULL: a line without a label */
    const char *colour; /* class; NULL: drawing_colour() of the series' number */
    bool faint;         /* a line that is one of many, behind their median */
    quantity_unit unit;
    record_column x, y, low, high, values, tint; /* those that the kind of drawing needs */
} drawing_series;

typedef struct drawing {
    const char *title, *y_name;
    const char *x_name; /* NULL: epochs, which are whole numbers */
    quantity_unit unit;
    drawing_series series[SERIES_MAX];
    int count;
    const char *name[NAMES_MAX]; /* [names] of the rows of bars, or of the columns of a heat map */
    int names;
    /* Lines: */
    bool from_zero;             /* the axis begins at 0 and is never logarithmic */
    double most;                /* values above are drawn at the upper edge; 0: no limit */
    double band_low, band_high; /* a shaded band across the drawing; both 0: none */
    double mark_x, mark_y;      /* a marked point */
    const char *mark_colour;
    phrase mark; /* text of the mark; "": no mark */
    /* Heat maps: */
    bool diagonal; /* cells on the diagonal are hits, of another colour; shades are shares of a row's one tint */
    bool numbered; /* row names are numbers, not text */
} drawing;

/* The i-th of the colours that tell series apart. */
const char *drawing_colour(int i);
const char *series_colour(const drawing *d, int k);
/* Returns true for `most` of `count` numbers 0 ... count - 1, evenly spread. */
bool drawing_chooses(int64_t i, int64_t count, int64_t most);
/* Adds a line of a curve. */
void drawing_add_line(drawing *d, const record_curve *curve, const char *name, const char *colour, bool faint);

/* Lines (x, y) with the edges low and high of a band (lines.c). A line of more than CHART_POINTS points is thinned:
 * each of equal stretches keeps its lowest and highest point, so no spike is lost. */
bool lines_draw(report_text *out, run_record *run, const drawing *d);
/* Points (x, y) of each series in its colour; of many, SCATTER_POINTS per series are evenly chosen. */
bool scatter_draw(report_text *out, run_record *run, const drawing *d);
/* One row per series: points at their x, moved up and down so that none covers another; tint (0 to 1) colours them.
 * At most SWARM_POINTS per series, evenly chosen from the sorted ones (swarm.c). */
bool beeswarm_draw(report_text *out, run_record *run, const drawing *d);
/* x [count], ascending. [out] level: row of each point, 0 in the middle, then 1 above, 2 below, 3 above ...; two
 * points of a level are at least `diameter` apart. Returns the number of levels. count <= SWARM_POINTS. */
int beeswarm_levels(const double *x, int count, double diameter, int *level);
/* One axis per series, and a line through the i-th values of all of them, coloured by its place on the last axis. */
bool parallel_draw(report_text *out, run_record *run, const drawing *d);
/* A horizontal bar per name, stacked from the values of the series (bars.c). A missing value is 0, one below 0 is
 * refused. */
bool bars_draw(report_text *out, run_record *run, const drawing *d);
/* Bars of at most NAMES_MAX ranks, the heaviest among them. Series have values per rank, the first is the weight. The
 * values are divided by `per`; what is not above 0 counts as 0. */
void bars_of_ranks(report_text *out, run_record *run, drawing *d, double per);
/* A table with shaded cells, in Markdown too: a row per series, a column per name, shaded from the smallest value to
 * the largest (bars.c). */
bool heat_draw(report_text *out, run_record *run, const drawing *d);
