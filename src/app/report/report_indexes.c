/*
 * app/report/report_indexes.c: how well a model tells two classes apart: "indexes" in summary.json, with the curves of
 * all thresholds, the calibration, the answers at the threshold, and groups of rows.
 */
#include <math.h>

#include "app/report/drawing.h"
#include "app/report/sections.h"

/* A curve, with the edges of a band where it has one. guide: what a model without knowledge, or a calibrated one, has
 * at both ends of the drawing. */
static void draw_curve(report_text *out, run_record *run, const json_value *curve, drawing d, const char *x,
                       const char *y, double *guide)
{
    double ends[2] = {0.0, 1.0};
    d.from_zero = true;
    d.series[d.count++] = (drawing_series){.colour = "time", .faint = true, .x = {ends, 2}, .y = {guide, 2}};
    d.series[d.count++] = (drawing_series){.name = "model",
                                           .colour = "test",
                                           .x = record_numbers(run, curve, x),
                                           .y = record_numbers(run, curve, y),
                                           .low = record_numbers(run, curve, "low"),
                                           .high = record_numbers(run, curve, "high")};
    lines_draw(out, run, &d);
}

/* Leaves a pair of columns open, in the right one. */
static void draw_curves(report_text *out, run_record *run, const json_value *indexes)
{
    const json_value *c = json_find(indexes, "confusion");
    const double share = json_number(indexes, "positives") / json_number(indexes, "rows");
    const double alarms = json_number(c, "false_positives"), quiet = json_number(c, "true_negatives");
    double rising[2] = {0.0, 1.0}, level[2] = {share, share};
    drawing roc = {.title = "ROC curve, and the threshold", .x_name = "1 - specificity", .y_name = "sensitivity"};
    roc.mark_x = alarms / (alarms + quiet);
    roc.mark_y = json_number(json_find(indexes, "sensitivity"), "value");
    roc.mark_colour = "valid";
    roc.mark = phrase_of("threshold %.4g", json_number(json_find(indexes, "threshold"), "value"));
    text_html(out, PAIR_BEGIN);
    draw_curve(out, run, json_find(indexes, "roc"), roc, "false_positive_rate", "sensitivity", rising);
    text_html(out, PAIR_NEXT);
    draw_curve(out, run, json_find(indexes, "precision_recall"),
               (drawing){.title = "Precision over recall", .x_name = "recall", .y_name = "precision"}, "recall",
               "precision", level);
    text_html(out, PAIR_END PAIR_BEGIN);
    draw_curve(out, run, json_find(json_find(indexes, "calibration"), "bins"),
               (drawing){.title = "Share of positive rows over probability, with 95 %", .x_name = "probability"},
               "probability", "share", rising);
    text_html(out, PAIR_NEXT);
}

static void draw_answers(report_text *out, run_record *run, const json_value *indexes)
{
    static const char *const keys[4] = {"true_negatives", "false_positives", "false_negatives", "true_positives"};
    char name[2][RECORD_CLASS_BYTES];
    double value[4], rows[2];
    drawing d = {.title = "Answers at the threshold", .y_name = "label", .diagonal = true};
    for (int i = 0; i < 4; ++i) {
        value[i] = json_number(json_find(indexes, "confusion"), keys[i]);
    }
    for (int k = 0; k < 2; ++k) {
        rows[k] = value[2 * k] + value[2 * k + 1];
        d.name[d.names++] = record_class(run, k, name[k]);
        d.series[d.count++] = (drawing_series){.name = name[k], .values = {&value[2 * k], 2}, .tint = {&rows[k], 1}};
    }
    heat_draw(out, run, &d);
}

static void table_of_indexes(report_text *out, const json_value *indexes)
{
    static const char *const names[][2] = {{"auc", "AUC"},
                                           {"sensitivity", "sensitivity"},
                                           {"specificity", "specificity"},
                                           {"accuracy", "accuracy"},
                                           {"precision", "precision"},
                                           {"f1", "F1"},
                                           {"slope", "calibration slope"},
                                           {"intercept", "calibration intercept"}};
    TEXT_TABLE(out, "lrrr", "index", "value", "95 % from", "to");
    for (size_t i = 0; i < sizeof names / sizeof *names; ++i) {
        const json_value *own = json_find(indexes, names[i][0]);
        const json_value *value = own != NULL ? own : json_find(json_find(indexes, "calibration"), names[i][0]);
        text_cell(out, "%s", names[i][1]);
        section_cell(out, json_number(value, "value"), UNIT_RATE);
        section_cell(out, json_number(value, "low"), UNIT_RATE);
        section_cell(out, json_number(value, "high"), UNIT_RATE);
    }
    text_table_end(out);
}

static void table_of_groups(report_text *out, const json_value *column)
{
    static const char *const keys[] = {"auc", "sensitivity", "specificity", "accuracy", "f1", "brier"};
    TEXT_TABLE(out, "lrrrrrrrr", json_string(column, "column", "group"), "rows", "positive", "AUC", "sensitivity",
               "specificity", "accuracy", "F1", "Brier score");
    for (const json_value *g = json_first(json_find(column, "groups"), JSON_ARRAY); g != NULL; g = g->next) {
        text_cell(out, "%s", json_string(g, "group", "–"));
        section_cell(out, json_number(g, "rows"), UNIT_COUNT);
        section_cell(out, json_number(g, "positives"), UNIT_COUNT);
        for (size_t i = 0; i < sizeof keys / sizeof *keys; ++i) {
            section_cell(out, json_number(json_find(g, keys[i]), "value"), UNIT_RATE);
        }
    }
    text_table_end(out);
}

void section_indexes(report_text *out, run_record *run)
{
    const json_value *indexes = json_find(run->summary, "indexes");
    const json_value *brier = json_find(indexes, "brier");
    if (indexes == NULL) {
        return;
    }
    text_heading(out, out->level, "Two classes");
    text_paragraph(out, "muted", "Positive is %s: %s of %s rows of the %s split. Brier score %s, average precision %s.",
                   json_string(indexes, "positive", "class 1"), quantity_count(json_number(indexes, "positives")).text,
                   quantity_count(json_number(indexes, "rows")).text, json_string(indexes, "split", "test"),
                   quantity_of(json_number(brier, "value"), UNIT_RATE).text,
                   quantity_of(json_number(indexes, "average_precision"), UNIT_RATE).text);
    section_lines(out, json_find(indexes, "notes"), "muted");
    if (out->html) {
        draw_curves(out, run, indexes);
    }
    draw_answers(out, run, indexes);
    table_of_indexes(out, indexes);
    text_html(out, PAIR_END);
    const json_value *column = json_first(json_find(indexes, "by"), JSON_ARRAY);
    for (; column != NULL; column = column->next) {
        table_of_groups(out, column);
    }
}
