/*
 * app/explain/explain_drawings.c: an explanation in the drawings of a report: importance, a beeswarm, the dependence of
 * the leading inputs, pairs, and the forces on the first row.
 */
#include <math.h>
#include <stdio.h>

#include "app/explain/drawing_json.h"
#include "app/explain/explain_file.h"
#include "base/integer/integers.h"
#include "base/text/append.h"

/* Inputs whose dependence is drawn, and those with a force of their own. */
enum { DEPENDENCES = 4, FORCES = 7, TITLE_BYTES = 256 };

static const char added[] = "change of the answer";

static const char *name_of(const explanation *e, int k)
{
    return e->work->ops->input_name(e->work, e->leading[k]);
}

/* The title, and whose answer it is where a row has several. */
static const char *title_of(const explanation *e, const char *title, char text[TITLE_BYTES])
{
    const workload *work = e->work;
    snprintf(text, TITLE_BYTES, "%s", title);
    if (work->outputs > 1 && work->class_name != NULL && work->classes == work->outputs) {
        text_append(text, TITLE_BYTES, ", class %s", work->class_name[e->output]);
    } else if (work->outputs > 1) {
        text_append(text, TITLE_BYTES, ", answer %lld", (long long)e->output);
    }
    return text;
}

static void end_drawing(json_writer *json)
{
    json_end(json);
    json_end(json);
}

static void draw_importance(const explanation *e, json_writer *json)
{
    const char *name[EXPLAIN_DRAWN];
    double value[EXPLAIN_DRAWN];
    for (int k = 0; k < e->drawn; ++k) {
        name[k] = name_of(e, k);
        value[k] = e->importance[e->leading[k]];
    }
    drawing_json_bars(json, "Importance: mean magnitude of what an input adds to the answers", name, value, e->drawn);
}

/* The share of the sampled rows with a smaller value, 0 to 1; NaN where the value is missing. */
static double rank_of(const explanation *e, int64_t row, int k)
{
    const double value = e->value[row * e->drawn + k];
    int64_t below = 0, others = 0;
    for (int64_t i = 0; i < e->sampled; ++i) {
        const double other = e->value[i * e->drawn + k];
        below += other < value;
        others += i != row && !isnan(other);
    }
    return isnan(value) ? NAN : others > 0 ? (double)below / (double)others : 0.5;
}

static void draw_swarm(const explanation *e, json_writer *json)
{
    char title[TITLE_BYTES];
    drawing_json_begin(json, "beeswarm", title_of(e, "What inputs add, a point a row, tinted by the value", title),
                       added, "input");
    drawing_json_series(json);
    for (int k = 0; k < e->drawn; ++k) {
        double tint[EXPLAIN_SAMPLE];
        for (int64_t i = 0; i < e->sampled; ++i) {
            tint[i] = rank_of(e, i, k);
        }
        json_object(json, NULL);
        json_text(json, "name", name_of(e, k));
        drawing_json_numbers(json, "x", e->share + k, e->sampled, e->drawn + 2);
        drawing_json_numbers(json, "tint", tint, e->sampled, 1);
        json_end(json);
    }
    end_drawing(json);
}

static void draw_dependence(const explanation *e, int k, json_writer *json)
{
    char title[TITLE_BYTES], text[TITLE_BYTES];
    snprintf(title, sizeof title, "What %.100s adds, by its value", name_of(e, k));
    drawing_json_begin(json, "scatter", title_of(e, title, text), name_of(e, k), added);
    drawing_json_series(json);
    json_object(json, NULL);
    json_text(json, "name", "");
    drawing_json_numbers(json, "x", e->value + k, e->sampled, e->drawn);
    drawing_json_numbers(json, "y", e->share + k, e->sampled, e->drawn + 2);
    json_end(json);
    end_drawing(json);
}

static void draw_pairs(const explanation *e, json_writer *json)
{
    const char *name[EXPLAIN_PAIRED];
    for (int k = 0; k < e->paired; ++k) {
        name[k] = name_of(e, k);
    }
    drawing_json_begin(json, "heat", "Mean magnitude of what two inputs add together, and one by itself", "", "input");
    drawing_json_names(json, name, e->paired);
    drawing_json_series(json);
    for (int k = 0; k < e->paired; ++k) {
        json_object(json, NULL);
        json_text(json, "name", name[k]);
        drawing_json_numbers(json, "values", e->pair + (int64_t)k * e->paired, e->paired, 1);
        json_end(json);
    }
    end_drawing(json);
}

/* ---- forces ------------------------------------------------------------------------------------------------------ */

static void draw_force(json_writer *json, const char *name, double share)
{
    const double values[] = {fmax(share, 0.0), fmax(-share, 0.0)};
    json_object(json, NULL);
    json_text(json, "name", name);
    drawing_json_numbers(json, "values", values, 2, 1);
    json_end(json);
}

/* Of the first row: what raises its answer, and what lowers it. Inputs that are not shown are one force. */
static void draw_forces(const explanation *e, json_writer *json)
{
    static const char *const sides[] = {"raised", "lowered"};
    const double base = e->share[e->drawn + 1];
    double answer = base, magnitude[EXPLAIN_DRAWN], rest = e->share[e->drawn];
    int64_t strongest[FORCES];
    char title[TITLE_BYTES], text[TITLE_BYTES];
    for (int k = 0; k < e->drawn; ++k) {
        magnitude[k] = fabs(e->share[k]);
        answer += e->share[k];
        rest += e->share[k];
    }
    answer += e->share[e->drawn];
    snprintf(title, sizeof title, "The first row: what leads from %.4g, the mean answer, to %.4g", base, answer);
    drawing_json_begin(json, "stacked", title_of(e, title, text), added, "");
    drawing_json_names(json, sides, 2);
    drawing_json_series(json);
    const int forces = drawing_leading(magnitude, e->drawn, FORCES, strongest);
    for (int i = 0; i < forces; ++i) {
        const int k = (int)strongest[i];
        snprintf(text, sizeof text, "%.100s = %.6g", name_of(e, k), e->value[k]);
        draw_force(json, isnan(e->value[k]) ? name_of(e, k) : text, e->share[k]);
        rest -= e->share[k];
    }
    if (forces < e->work->inputs) {
        draw_force(json, "all others", rest);
    }
    end_drawing(json);
}

void explain_draw(const explanation *e, json_writer *json)
{
    if (e->sampled == 0) {
        return;
    }
    draw_importance(e, json);
    draw_swarm(e, json);
    for (int k = 0; k < smaller(e->drawn, DEPENDENCES); ++k) {
        draw_dependence(e, k, json);
    }
    if (e->paired > 0) {
        draw_pairs(e, json);
    }
    draw_forces(e, json);
}
