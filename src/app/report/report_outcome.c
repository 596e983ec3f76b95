/*
 * app/report/report_outcome.c: what the predictions of a training are worth, by class or by task: "outcome" in
 * summary.json.
 */
#include <math.h>
#include <stdio.h>

#include "app/report/drawing.h"
#include "app/report/sections.h"

enum {
    CLASSES_MAX = 1024,
    OPEN_MAX = 24 /* rows of a table that is not folded */
};

/* A column of a table: an array of the file. */
typedef struct outcome_column {
    const char *key;
    quantity_unit unit;
} outcome_column;

enum { COUNTS = 4, COLUMNS = 7 };

static const outcome_column class_columns[COLUMNS] = {
    {"train", UNIT_COUNT},    {"valid", UNIT_COUNT}, {"test", UNIT_COUNT}, {"predicted", UNIT_COUNT},
    {"precision", UNIT_RATE}, {"recall", UNIT_RATE}, {"f1", UNIT_RATE}};
static const outcome_column task_columns[] = {
    {"positive", UNIT_COUNT}, {"negative", UNIT_COUNT}, {"rocauc", UNIT_RATE}};

/* Rows 0 ... rows - 1, named as classes or by their number, of an open table; `object` holds the columns. */
static void rows_of(report_text *out, run_record *run, const json_value *object, const outcome_column *columns,
                    int count, int rows, bool classes)
{
    record_column values[COLUMNS];
    char name[RECORD_CLASS_BYTES];
    for (int c = 0; c < count; ++c) {
        values[c] = record_numbers(run, object, columns[c].key);
    }
    for (int k = 0; k < rows; ++k) {
        text_cell(out, "%s", classes ? record_class(run, k, name) : quantity_count(k).text);
        for (int c = 0; c < count; ++c) {
            section_cell(out, record_at(&values[c], k), columns[c].unit);
        }
    }
}

/* Means over classes or rows: they have no counts. */
static void average_row(report_text *out, const json_value *outcome, const char *key)
{
    text_cell(out, "%s", key);
    for (int c = 0; c < COLUMNS; ++c) {
        section_cell(out, c < COUNTS ? NAN : json_number(json_find(outcome, key), class_columns[c].key),
                     class_columns[c].unit);
    }
}

/* ---- confusion ---- */

/* One row per label, shaded by the share of its count. Columns are narrow: their heads are numbers alone. */
static void draw_confusion(report_text *out, run_record *run, const json_value *matrix, const record_column *support)
{
    char name[HEAT_MAX][RECORD_CLASS_BYTES], number[HEAT_MAX][16];
    const json_value *row = json_first(matrix, JSON_ARRAY);
    drawing d = {.y_name = "label", .diagonal = true, .numbered = run->class_name == NULL};
    for (int k = 0; k < support->count; ++k, row = row != NULL ? row->next : NULL) {
        snprintf(number[k], sizeof number[k], "%d", k);
        d.name[d.names++] = number[k];
        d.series[d.count++] = (drawing_series){
            .name = record_class(run, k, name[k]), .values = record_values(run, row), .tint = {&support->value[k], 1}};
    }
    heat_draw(out, run, &d);
    text_paragraph(out, "muted", "A row a label, a column a prediction; shaded by the share of the label's count.");
}

static void table_of_pairs(report_text *out, const run_record *run, const json_value *outcome,
                           const record_column *support)
{
    char name[RECORD_CLASS_BYTES];
    TEXT_TABLE(out, run->class_name != NULL ? "llrr" : "rrrr", "label", "taken for", "count", "of the label");
    for (const json_value *pair = json_first(json_find(outcome, "confused"), JSON_ARRAY); pair != NULL;
         pair = pair->next) {
        const double label = json_number(pair, "label"), count = json_number(pair, record_rows_word(run));
        text_cell(out, "%s", record_class(run, label, name));
        text_cell(out, "%s", record_class(run, json_number(pair, "predicted"), name));
        section_cell(out, count, UNIT_COUNT);
        section_cell(out, count / record_at(support, label), UNIT_PERCENT);
    }
    text_table_end(out);
}

static void tell_confusion(report_text *out, run_record *run, const json_value *outcome, const record_column *support)
{
    const json_value *matrix = json_find(outcome, "confusion");
    const bool folded = support->count > OPEN_MAX;
    if (matrix != NULL && matrix->kind == JSON_ARRAY && support->count > 0 && support->count <= HEAT_MAX) {
        text_fold_begin(out, folded, "Labels, and what they are predicted as", false);
        draw_confusion(out, run, matrix, support);
        text_fold_end(out, folded);
    }
    if (json_first(json_find(outcome, "confused"), JSON_ARRAY) != NULL) {
        text_fold_begin(out, true, "Classes that are taken for another most often", false);
        table_of_pairs(out, run, outcome, support);
        text_fold_end(out, true);
    }
}

/* ---- the section ---- */

static void tell_classes(report_text *out, run_record *run, const json_value *outcome, const record_column *support)
{
    const bool folded = support->count > OPEN_MAX;
    const json_value *macro = json_find(outcome, "macro"), *micro = json_find(outcome, "micro");
    text_heading(out, out->level, "Classes");
    text_paragraph(
        out, "muted",
        "Predictions of the last run at its best epoch, on the %s split. Precision, recall and F1 are 0 where "
        "they are undefined; macro is the mean over the classes that occur, micro is over all rows.",
        json_string(outcome, "split", "test"));
    if (support->count > 0) {
        text_fold_begin(out, folded, "Figures of each class", false);
        TEXT_TABLE(out, run->class_name != NULL ? "lrrrrrrr" : "rrrrrrrr", "class", "in training", "in validation",
                   "in test", "predicted", "precision", "recall", "F1");
        rows_of(out, run, json_find(outcome, "classes"), class_columns, COLUMNS, support->count, true);
        average_row(out, outcome, "macro");
        average_row(out, outcome, "micro");
        text_table_end(out);
        text_fold_end(out, folded);
    } else {
        text_paragraph(out, "", "Macro F1 %s, micro F1 %s.", quantity_of(json_number(macro, "f1"), UNIT_RATE).text,
                       quantity_of(json_number(micro, "f1"), UNIT_RATE).text);
    }
    tell_confusion(out, run, outcome, support);
}

static void tell_tasks(report_text *out, run_record *run, const json_value *outcome, int count)
{
    text_heading(out, out->level, "Tasks");
    text_paragraph(out, "muted", "Predictions of the last run at its best epoch, on the %s split.",
                   json_string(outcome, "split", "test"));
    text_fold_begin(out, count > OPEN_MAX, "Figures of each task", false);
    TEXT_TABLE(out, "rrrr", "task", "positive", "negative", "ROC-AUC");
    rows_of(out, run, json_find(outcome, "tasks"), task_columns, 3, count, false);
    text_table_end(out);
    text_fold_end(out, count > OPEN_MAX);
}

void section_outcome(report_text *out, run_record *run)
{
    const json_value *outcome = json_find(run->summary, "outcome");
    const json_value *tasks = json_find(outcome, "tasks");
    const bool binary = tasks != NULL && tasks->kind == JSON_OBJECT;
    record_column support =
        record_numbers(run, binary ? tasks : json_find(outcome, "classes"), binary ? "rocauc" : "support");
    support.count = support.count < CLASSES_MAX ? support.count : CLASSES_MAX;
    if (binary) {
        tell_tasks(out, run, outcome, support.count);
    } else if (support.count > 0 || json_find(outcome, "macro") != NULL) {
        tell_classes(out, run, outcome, &support);
    }
}
