/*
 * app/report/report_figures.c: drawings that summary.json and the files of other commands define, whatever the
 * workload: "drawings" (docs/formats.md).
 *
 * A drawing is of one of the kinds below and has series of numbers. The file may come from anywhere: texts are escaped,
 * numbers are bounded by the drawings, and a drawing that lacks something is told and left out.
 */
#include <string.h>

#include "app/report/drawing.h"
#include "app/report/sections.h"

enum { DRAWINGS_MAX = 64, FIGURE_SERIES_MAX = 32 };

static const struct figure_kind {
    const char *name;
    bool (*draw)(report_text *out, run_record *run, const drawing *d);
    int least, most;   /* series */
    const char *needs; /* what it draws, in messages */
} kinds[] = {{"line", lines_draw, 1, FIGURE_SERIES_MAX, "numbers x and y"},
             {"scatter", scatter_draw, 1, FIGURE_SERIES_MAX, "numbers x and y"},
             {"beeswarm", beeswarm_draw, 1, FIGURE_SERIES_MAX, "numbers x"},
             {"parallel", parallel_draw, 2, PARALLEL_AXES, "numbers values"},
             {"heat", heat_draw, 1, FIGURE_SERIES_MAX, "numbers values, and names of columns"},
             {"bars", bars_draw, 1, 1, "numbers values of 0 or more, and names of rows"},
             {"stacked", bars_draw, 1, FIGURE_SERIES_MAX, "numbers values of 0 or more, and names of rows"}};

static const struct figure_kind *kind_of(const json_value *json)
{
    const char *name = json_string(json, "kind", "");
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
    const json_value *s = json_first(json_find(json, "series"), JSON_ARRAY);
    const char *unit = json_string(json, "unit", "");
    d->title = json_string(json, "title", "A figure without a title");
    d->x_name = json_string(json, "x", "value");
    d->y_name = json_string(json, "y", "value");
    d->unit = quantity_unit_named(unit);
    for (; s != NULL && d->count < FIGURE_SERIES_MAX; s = s->next) {
        d->series[d->count++] = (drawing_series){.name = json_string(s, "name", ""),
                                                 .unit = quantity_unit_named(json_string(s, "unit", unit)),
                                                 .x = record_numbers(run, s, "x"),
                                                 .y = record_numbers(run, s, "y"),
                                                 .low = record_numbers(run, s, "low"),
                                                 .high = record_numbers(run, s, "high"),
                                                 .values = record_numbers(run, s, "values"),
                                                 .tint = record_numbers(run, s, "tint")};
    }
    const json_value *name = json_first(json_find(json, "names"), JSON_ARRAY);
    for (; name != NULL && d->names < NAMES_MAX; name = name->next) {
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
        problem = phrase_of("it has more than %d series", FIGURE_SERIES_MAX);
    } else if (d->count < kind->least || d->count > kind->most) {
        problem = phrase_of("it has %d series; %s takes %d to %d", d->count, kind->name, kind->least, kind->most);
    } else if (!out->html && kind->draw != heat_draw) {
        text_paragraph(out, "muted", "%s: a drawing, which the HTML report shows.", d->title);
    } else if (!kind->draw(out, run, d)) {
        problem = phrase_of("its series lack %s", kind->needs);
    }
    if (problem.text[0] != '\0') {
        text_paragraph(out, "problem", "Figure %d, \"%.100s\", is left out: %s.", number, d->title, problem.text);
    }
}

static void draw_figures(report_text *out, run_record *run, const json_value *json)
{
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

/* Drawings of another command, with its note. */
static void draw_others(report_text *out, run_record *run, const json_value *file, const char *title)
{
    const json_value *drawings = json_first(json_find(file, "drawings"), JSON_ARRAY);
    if (drawings != NULL) {
        text_heading(out, out->level, "%s", title);
        text_paragraph(out, "muted", "%s", json_string(file, "note", ""));
        draw_figures(out, run, drawings);
    }
}

void section_figures(report_text *out, run_record *run)
{
    const json_value *own = json_first(json_find(run->summary, "drawings"), JSON_ARRAY);
    if (own != NULL) {
        text_heading(out, out->level, "Figures");
        draw_figures(out, run, own);
    }
    draw_others(out, run, run->explanation, "Why answers are what they are");
    draw_others(out, run, run->plan, "Plans for queries");
}
