/*
 * app/report/report_figures.c: drawings that summary.json defines, whatever the workload: "drawings" (docs/formats.md).
 *
 * A drawing is of one of the kinds below and has series of numbers. The file may come from anywhere: texts are escaped,
 * numbers are bounded by the drawings, and a drawing that lacks something is told and left out.
 */
#include <math.h>
#include <string.h>

#include "app/report/drawing.h"
#include "app/report/sections.h"

enum { DRAWINGS_MAX = 64 };

/* Lines: x and y, with the edges low and high of a band. */
static bool draw_lines(report_text *out, run_record *run, const drawing *d)
{
    chart *c = record_alloc(run, 1, sizeof *c);
    record_curve *curves = record_alloc(run, d->count, sizeof *curves);
    if (c == NULL || curves == NULL) {
        return false;
    }
    *c = (chart){.title = d->title, .x_name = d->x_name, .y_name = d->y_name, .unit = d->unit};
    for (int k = 0; k < d->count; ++k) {
        const drawing_series *s = &d->series[k];
        const int points = s->x.count < s->y.count ? s->x.count : s->y.count;
        const bool band = s->low.count >= points && s->high.count >= points;
        curves[k] = (record_curve){s->x.value, s->y.value, points};
        c->line[c->lines++] =
            (chart_line){&curves[k], s->name, drawing_colour(k), false, s->low.value, band ? s->high.value : NULL};
    }
    return chart_draw(out, c);
}

/* Bars: a row per name, of one part per series. A value that is missing is 0. */
static bool draw_bars(report_text *out, run_record *run, const drawing *d)
{
    const char *part[SERIES_MAX], *colour[SERIES_MAX];
    double *value = record_alloc(run, (int64_t)d->count * d->names, sizeof *value);
    if (value == NULL || d->names == 0) {
        return false;
    }
    for (int i = 0; i < d->count * d->names; ++i) {
        const int k = i % d->count, row = i / d->count;
        const double at = record_at(&d->series[k].values, row);
        part[k] = d->series[k].name;
        colour[k] = drawing_colour(k);
        value[i] = scale_takes(at) ? at : 0;
        if (value[i] < 0) {
            return false;
        }
    }
    bars_draw(out, &(bars){d->title, d->unit, d->names, d->count, d->name, part, colour, value});
    return true;
}

/* A heat map: a row per series, a column per name, shaded from the smallest value to the largest. */
static bool draw_heat(report_text *out, run_record *run, const drawing *d)
{
    const char *row[SERIES_MAX];
    double low = INFINITY, high = -INFINITY;
    const int columns = d->names < HEAT_MAX ? d->names : HEAT_MAX, cells = d->count * columns;
    double *value = record_alloc(run, 2 * (int64_t)cells, sizeof *value);
    if (value == NULL || cells == 0) {
        return false;
    }
    for (int i = 0; i < cells; ++i) {
        row[i / columns] = d->series[i / columns].name;
        value[i] = record_at(&d->series[i / columns].values, i % columns);
    }
    scale_widen(&low, &high, value, cells);
    if (!(low <= high)) {
        return false;
    }
    for (int i = 0; i < cells; ++i) {
        value[cells + i] = high > low ? (value[i] - low) / (high - low) : 0;
    }
    text_paragraph(out, "", "%s", d->title);
    heat_draw(out, &(heat){d->y_name, true, false, d->unit, d->count, columns, row, d->name, value, value + cells});
    return true;
}

static const struct figure_kind {
    const char *name;
    bool (*draw)(report_text *out, run_record *run, const drawing *d);
    int least, most;   /* series */
    const char *needs; /* what it draws, in messages */
} kinds[] = {{"line", draw_lines, 1, SERIES_MAX, "numbers x and y"},
             {"scatter", scatter_draw, 1, SERIES_MAX, "numbers x and y"},
             {"beeswarm", beeswarm_draw, 1, SERIES_MAX, "numbers x"},
             {"parallel", parallel_draw, 2, PARALLEL_AXES, "numbers values"},
             {"heat", draw_heat, 1, SERIES_MAX, "numbers values, and names of columns"},
             {"bars", draw_bars, 1, 1, "numbers values of 0 or more, and names of rows"},
             {"stacked", draw_bars, 1, SERIES_MAX, "numbers values of 0 or more, and names of rows"}};

static const struct figure_kind *kind_of(const json_value *json)
{
    const char *name = record_string(json, "kind", "");
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; ++i) {
        if (strcmp(name, kinds[i].name) == 0) {
            return &kinds[i];
        }
    }
    return NULL;
}

/* Returns false if there are more series than a drawing takes. */
static bool read_drawing(run_record *run, const json_value *json, drawing *d)
{
    const json_value *s = record_first(json_find(json, "series"), JSON_ARRAY);
    const char *unit = record_string(json, "unit", "");
    d->title = record_string(json, "title", "A figure without a title");
    d->x_name = record_string(json, "x", "value");
    d->y_name = record_string(json, "y", "value");
    d->unit = quantity_unit_named(unit);
    for (; s != NULL && d->count < SERIES_MAX; s = s->next) {
        d->series[d->count++] =
            (drawing_series){record_string(s, "name", ""),     quantity_unit_named(record_string(s, "unit", unit)),
                             record_numbers(run, s, "x"),      record_numbers(run, s, "y"),
                             record_numbers(run, s, "low"),    record_numbers(run, s, "high"),
                             record_numbers(run, s, "values"), record_numbers(run, s, "tint")};
    }
    const json_value *name = record_first(json_find(json, "names"), JSON_ARRAY);
    for (; name != NULL && d->names < BAR_RANKS; name = name->next) {
        d->name[d->names++] = name->kind == JSON_TEXT ? name->text : "–";
    }
    return s == NULL;
}

static void draw_figure(report_text *out, run_record *run, const json_value *json, int number, drawing *d)
{
    const struct figure_kind *kind = kind_of(json);
    phrase problem = {""};
    const bool complete = read_drawing(run, json, d);
    if (kind == NULL) {
        problem = phrase_of("its kind is none of line, scatter, beeswarm, parallel, heat, bars and stacked");
    } else if (!complete) {
        problem = phrase_of("it has more than %d series", SERIES_MAX);
    } else if (d->count < kind->least || d->count > kind->most) {
        problem = phrase_of("it has %d series; %s takes %d to %d", d->count, kind->name, kind->least, kind->most);
    } else if (!out->html && kind->draw != draw_heat) {
        text_paragraph(out, "muted", "%s: a drawing, which the HTML report shows.", d->title);
    } else if (!kind->draw(out, run, d)) {
        problem = phrase_of("its series lack %s", kind->needs);
    }
    if (problem.text[0] != '\0') {
        text_paragraph(out, "problem", "Figure %d, \"%.100s\", is left out: %s.", number, d->title, problem.text);
    }
}

void section_figures(report_text *out, run_record *run)
{
    const json_value *json = record_first(json_find(run->summary, "drawings"), JSON_ARRAY);
    if (json != NULL) {
        text_heading(out, out->level, "Figures");
    }
    for (int number = 1; json != NULL && run->failed == WEFT_OK; json = json->next, ++number) {
        drawing *d = record_alloc(run, 1, sizeof *d);
        if (number > DRAWINGS_MAX) {
            text_paragraph(out, "problem", "Only the first %d figures are drawn.", DRAWINGS_MAX);
            return;
        }
        if (d != NULL) {
            draw_figure(out, run, json, number, d);
        }
    }
}
