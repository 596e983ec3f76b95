/*
 * app/report/drawing.h: the drawings of a report, as SVG within the HTML.
 *
 * One small vocabulary serves every workload: lines with bands, stacked bars, heat maps, points (scatter, beeswarm) and
 * parallel axes. Colours are classes (c0 ... c7, and by meaning: see page.c), so that one drawing serves light and
 * dark. A drawing with axes has a <title> and a <desc>. It states its scales in data-x
 * and data-y ("low high pixel-of-low pixel-of-high"), from which the script under the pointer, and tests, read
 * values back. Values of which the magnitude is 1e100 or more, and NaN, are signs of divergence: they are not
 * drawn, and a line has a gap there. The functions that return bool return false, and write nothing, when there is
 * nothing to draw.
 */
#ifndef WEFT_APP_REPORT_DRAWING_H
#define WEFT_APP_REPORT_DRAWING_H

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
void scale_widen(double *low, double *high, const double *values, int64_t count);

/* ---- SVG and the frame of a drawing with axes (frame.c) ---- */

/* Pixels of a drawing, of the margins around its plot, and the labels that the right one has room for. */
enum { DRAWING_WIDTH = 560, DRAWING_HEIGHT = 300, DRAWING_LEFT = 62, DRAWING_RIGHT = 128, DRAWING_TOP = 18 };
enum { DRAWING_BOTTOM = 42, DRAWING_LABELS = 13 };

typedef struct frame {
    scale x, y; /* their pixels are the edges of the plot */
    quantity_unit x_unit, y_unit;
    const char *x_name; /* below the axis */
    const char *y_name; /* for the description; NULL: the title */
    int height;         /* of the whole drawing */
} frame;

/* The smallest box around what is drawn; begin with EXTENT_NONE. */
typedef struct extent {
    double x_low, x_high, low, high;
} extent;
#define EXTENT_NONE ((extent){INFINITY, -INFINITY, INFINITY, -INFINITY})

/* The frame around points of this extent, both axes linear. Returns false if there are none. */
bool frame_around(const extent *e, const char *x_name, const char *y_name, quantity_unit unit, frame *f);
/* A figure with its caption, and the open SVG. */
void frame_begin(report_text *out, const char *title, const frame *f);
void frame_x_axis(report_text *out, const frame *f);
void frame_y_axis(report_text *out, const frame *f);
void frame_end(report_text *out);

void svg_line(report_text *out, const char *class, double x1, double y1, double x2, double y2);
void svg_text(report_text *out, const char *class, double x, double y, const char *text);
/* A name of at most `most` letters (<= 31); a longer one ends in dots. Returns text. */
enum { SVG_CUT_BYTES = 128 };
const char *svg_cut(const char *name, int most, char text[SVG_CUT_BYTES]);
/* A label beside the drawing in the colour of what it names, cut to what fits; tables have the whole name. */
void svg_label(report_text *out, const char *colour, double x, double y, const char *name);
/* The i-th of the colours that tell series apart. */
const char *drawing_colour(int i);

/* ---- lines (lines.c) ---- */

/* A line of more points is thinned: each of equal stretches keeps its lowest and highest point, so no spike is lost. */
enum { CHART_POINTS = 1000, CHART_LINES_MAX = 128 };

typedef struct chart_line {
    const record_curve *curve;
    const char *name;         /* label at the line's end; NULL: none */
    const char *colour;       /* class */
    bool faint;               /* one of many, behind their median */
    const double *low, *high; /* [curve->count] edges of a band; high NULL: no band */
} chart_line;

typedef struct chart {
    const char *title;
    const char *x_name, *y_name; /* x_name NULL: epochs, which are whole numbers */
    quantity_unit unit;
    chart_line line[CHART_LINES_MAX];
    int lines;
    bool from_zero;                      /* the axis begins at 0 and is never logarithmic */
    double most;                         /* values above are drawn at the upper edge; 0: no limit */
    double band_low, band_high;          /* a shaded band across the drawing; both 0: none */
    double mark_x, mark_y;               /* a marked point */
    const char *mark_text, *mark_colour; /* mark_text NULL: no mark */
} chart;

bool chart_draw(report_text *out, const chart *chart);

/* ---- bars (bars.c): horizontal, one per row, stacked from parts ---- */

typedef struct bars {
    const char *title;
    quantity_unit unit;
    int rows, parts;
    const char *const *row_name;    /* [rows] */
    const char *const *part_name;   /* [parts] */
    const char *const *part_colour; /* [parts] */
    const double *value;            /* [rows, parts], finite, >= 0 */
} bars;

void bars_draw(report_text *out, const bars *bars);

/* Bars of ranks, of at most BAR_RANKS, the heaviest among them (ranks.c). */
enum { BAR_RANKS = 256 };
typedef struct rank_bars {
    const char *title;
    quantity_unit unit;
    int ranks, parts;
    const char *const *name, *const *colour; /* [parts] */
    const record_column *column;             /* [parts] values per rank; what is not finite and above 0 counts as 0 */
    double per;                              /* values are divided by this */
} rank_bars;

/* The first part is the weight. */
void bars_of_ranks(report_text *out, run_record *run, const rank_bars *bars);

/* ---- a heat map (heat.c): a table with shaded cells, in Markdown too ---- */

typedef struct heat {
    const char *corner; /* heading of the row names */
    bool words;         /* row names are text, not numbers */
    bool diagonal;      /* cells on the diagonal are hits: another colour */
    quantity_unit unit;
    int rows, columns; /* at most HEAT_MAX */
    const char *const *row_name, *const *column_name;
    const double *value; /* [rows, columns] */
    const double *share; /* [rows, columns] strength of the shade, 0 to 1; NaN: none */
} heat;

enum { HEAT_MAX = 64 };

void heat_draw(report_text *out, const heat *heat);

/* ---- points and parallel axes, from series (points.c, parallel.c) ---- */

enum { SERIES_MAX = 32, SWARM_POINTS = 300, SCATTER_POINTS = 1000, PARALLEL_LINES = 1000, PARALLEL_AXES = 12 };

typedef struct drawing_series {
    const char *name;
    quantity_unit unit;
    record_column x, y, low, high, values, tint; /* those that the kind of drawing needs */
} drawing_series;

typedef struct drawing {
    const char *title, *x_name, *y_name;
    quantity_unit unit;
    drawing_series series[SERIES_MAX];
    int count;
    const char *name[BAR_RANKS]; /* [names] of the rows of bars, or of the columns of a heat map */
    int names;
} drawing;

/* Points (x, y) of each series in its colour. At most SCATTER_POINTS per series, evenly chosen. */
bool scatter_draw(report_text *out, run_record *run, const drawing *d);
/* One row per series: points at their x, moved up and down so that none covers another; tint (0 to 1) colours them.
 * At most SWARM_POINTS per series, evenly chosen from the sorted ones. */
bool beeswarm_draw(report_text *out, run_record *run, const drawing *d);
/* x [count], ascending. [out] level: row of each point, 0 in the middle, then 1 above, 2 below, 3 above ...; two
 * points of a level are at least `diameter` apart. Returns the number of levels. count <= SWARM_POINTS. */
int beeswarm_levels(const double *x, int count, double diameter, int *level);
/* One axis per series, and a line through the i-th values of all of them, coloured by its place on the last axis. */
bool parallel_draw(report_text *out, run_record *run, const drawing *d);

#endif
