/*
 * app/report/report_figures.c: drawings that summary.json defines, whatever the workload: "drawings" (docs/formats.md).
 *
 * A drawing is of one of the kinds below and has series of numbers. The file may come from anywhere: texts are escaped,
 * numbers are bounded by the drawings, and a drawing that lacks something is told and left out.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "app/report/drawing.h"
#include "app/report/sections.h"

enum { DRAWINGS_MAX = 64, PROBLEM_BYTES = 160 };

/* A drawing of the file, and the state of drawing it. */
typedef struct figure {
    report_text *out;
    run_record *run;
    const json_value *json;
    drawing drawing;
    const char *name[BAR_RANKS]; /* of rows of bars, or of columns of a heat map */
    int names;
    char problem[PROBLEM_BYTES]; /* why it is left out; "": it is not */
} figure;

static void read_series(figure *f)
{
    drawing *d = &f->drawing;
    const json_value *s = record_first(json_find(f->json, "series"), JSON_ARRAY);
    for (; s != NULL && d->count < SERIES_MAX; s = s->next) {
        drawing_series *series = &d->series[d->count++];
        series->name = record_string(s, "name", "");
        series->unit = quantity_unit_named(record_string(s, "unit", record_string(f->json, "unit", "")));
        series->x = record_numbers(f->run, s, "x");
        series->y = record_numbers(f->run, s, "y");
        series->low = record_numbers(f->run, s, "low");
        series->high = record_numbers(f->run, s, "high");
        series->values = record_numbers(f->run, s, "values");
        series->tint = record_numbers(f->run, s, "tint");
    }
    if (s != NULL) {
        snprintf(f->problem, sizeof f->problem, "it has more than %d series", SERIES_MAX);
    }
    for (s = record_first(json_find(f->json, "names"), JSON_ARRAY); s != NULL && f->names < BAR_RANKS; s = s->next) {
        f->name[f->names++] = s->kind == JSON_TEXT ? s->text : "–";
    }
}

/* Lines: x and y, with the edges low and high of a band. */
static bool draw_lines(figure *f)
{
    const drawing *d = &f->drawing;
    chart *c = record_alloc(f->run, 1, sizeof *c);
    record_curve *curves = record_alloc(f->run, d->count, sizeof *curves);
    if (c == NULL || curves == NULL) {
        return false;
    }
    *c = (chart){.title = d->title, .x_name = d->x_name, .y_name = d->y_name, .unit = d->unit};
    for (int k = 0; k < d->count; ++k) {
        const drawing_series *s = &d->series[k];
        const int points = s->x.count < s->y.count ? s->x.count : s->y.count;
        const bool band = s->low.count >= points && s->high.count >= points;
        curves[k] = (record_curve){s->x.value, s->y.value, points};
        c->line[c->lines++] = (chart_line){.curve = &curves[k],
                                           .name = s->name,
                                           .colour = drawing_colour(k),
                                           .low = band ? s->low.value : NULL,
                                           .high = band ? s->high.value : NULL};
    }
    return chart_draw(f->out, c);
}

/* Bars: a row per name, of one part per series. A value that is missing is 0. */
static bool draw_bars(figure *f)
{
    const drawing *d = &f->drawing;
    const char *part[SERIES_MAX], *colour[SERIES_MAX];
    double *value = record_alloc(f->run, (int64_t)d->count * f->names, sizeof *value);
    bool valid = value != NULL && f->names > 0;
    for (int k = 0; k < d->count && valid; ++k) {
        part[k] = d->series[k].name;
        colour[k] = drawing_colour(k);
        for (int i = 0; i < f->names && valid; ++i) {
            const double at = record_at(&d->series[k].values, i);
            value[i * d->count + k] = scale_takes(at) ? at : 0;
            valid = value[i * d->count + k] >= 0;
        }
    }
    if (valid) {
        bars_draw(f->out, &(bars){d->title, d->unit, f->names, d->count, f->name, part, colour, value});
    }
    return valid;
}

/* A heat map: a row per series, a column per name, shaded from the smallest value to the largest. */
static bool draw_heat(figure *f)
{
    const drawing *d = &f->drawing;
    const char *row[SERIES_MAX];
    double low = INFINITY, high = -INFINITY;
    f->names = f->names < HEAT_MAX ? f->names : HEAT_MAX;
    const int cells = d->count * f->names;
    double *value = record_alloc(f->run, cells, sizeof *value), *share = record_alloc(f->run, cells, sizeof *share);
    if (value == NULL || share == NULL) {
        return false;
    }
    for (int i = 0; i < cells; ++i) {
        value[i] = record_at(&d->series[i / f->names].values, i % f->names);
        row[i / f->names] = d->series[i / f->names].name;
    }
    scale_widen(&low, &high, value, cells);
    if (low > high) {
        return false;
    }
    for (int i = 0; i < cells; ++i) {
        share[i] = high > low ? (value[i] - low) / (high - low) : 0;
    }
    text_paragraph(f->out, "", "%s", d->title);
    heat_draw(f->out, &(heat){.corner = d->y_name,
                              .words = true,
                              .unit = d->unit,
                              .rows = d->count,
                              .columns = f->names,
                              .row_name = row,
                              .column_name = f->name,
                              .value = value,
                              .share = share});
    return true;
}

static bool draw_scatter(figure *f)
{
    return scatter_draw(f->out, &f->drawing);
}

static bool draw_beeswarm(figure *f)
{
    return beeswarm_draw(f->out, f->run, &f->drawing);
}

static bool draw_parallel(figure *f)
{
    return parallel_draw(f->out, &f->drawing);
}

typedef struct figure_kind {
    const char *name;
    bool (*draw)(figure *f);
    int least, most;   /* series */
    const char *needs; /* what it draws, in messages */
    bool table;        /* Markdown has it too */
} figure_kind;

static const figure_kind kinds[] = {
    {"line", draw_lines, 1, SERIES_MAX, "numbers x and y", false},
    {"scatter", draw_scatter, 1, SERIES_MAX, "numbers x and y", false},
    {"beeswarm", draw_beeswarm, 1, SERIES_MAX, "numbers x", false},
    {"parallel", draw_parallel, 2, PARALLEL_AXES, "numbers values", false},
    {"heat", draw_heat, 1, SERIES_MAX, "numbers values, and names of columns", true},
    {"bars", draw_bars, 1, 1, "numbers values of 0 or more, and names of rows", false},
    {"stacked", draw_bars, 1, SERIES_MAX, "numbers values of 0 or more, and names of rows", false}};

static const figure_kind *kind_of(const json_value *json)
{
    const char *name = record_string(json, "kind", "");
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; ++i) {
        if (strcmp(name, kinds[i].name) == 0) {
            return &kinds[i];
        }
    }
    return NULL;
}

static void draw_figure(figure *f, int number)
{
    const figure_kind *kind = kind_of(f->json);
    drawing *d = &f->drawing;
    d->title = record_string(f->json, "title", "A figure without a title");
    d->x_name = record_string(f->json, "x", "value");
    d->y_name = record_string(f->json, "y", "value");
    d->unit = quantity_unit_named(record_string(f->json, "unit", ""));
    read_series(f);
    if (kind == NULL) {
        snprintf(f->problem, sizeof f->problem,
                 "its kind is none of line, scatter, beeswarm, parallel, heat, bars and stacked");
    } else if (f->problem[0] == '\0' && (d->count < kind->least || d->count > kind->most)) {
        snprintf(f->problem, sizeof f->problem, "it has %d series; %s takes %d to %d", d->count, kind->name,
                 kind->least, kind->most);
    } else if (f->problem[0] == '\0' && !f->out->html && !kind->table) {
        text_paragraph(f->out, "muted", "%s: a drawing, which the HTML report shows.", d->title);
    } else if (f->problem[0] == '\0' && !kind->draw(f)) {
        snprintf(f->problem, sizeof f->problem, "its series lack %s", kind->needs);
    }
    if (f->problem[0] != '\0') {
        text_paragraph(f->out, "problem", "Figure %d, \"%.100s\", is left out: %s.", number, d->title, f->problem);
    }
}

void section_figures(report_text *out, run_record *run)
{
    const json_value *json = record_first(json_find(run->summary, "drawings"), JSON_ARRAY);
    if (json == NULL) {
        return;
    }
    text_heading(out, out->level, "Figures");
    for (int number = 1; json != NULL; json = json->next, ++number) {
        figure *f = record_alloc(run, 1, sizeof *f);
        if (number > DRAWINGS_MAX || f == NULL) {
            text_paragraph(out, "problem", "Only the first %d figures are drawn.", number - 1);
            return;
        }
        f->out = out;
        f->run = run;
        f->json = json;
        draw_figure(f, number);
    }
}
