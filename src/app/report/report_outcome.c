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
            text_cell(out, "%s", quantity_of(record_at(&values[c], k), columns[c].unit).text);
        }
    }
}

/* Means over classes or rows: they have no counts. */
static void average_row(report_text *out, const json_value *outcome, const char *key)
{
    text_cell(out, "%s", key);
    for (int c = 0; c < COLUMNS; ++c) {
        double value = c < COUNTS ? NAN : record_number(json_find(outcome, key), class_columns[c].key);
        text_cell(out, "%s", quantity_of(value, class_columns[c].unit).text);
    }
}

/* ---- confusion ---- */

/* [out] cells: the counts of a confusion matrix, and behind them their shares of the label's count. */
static void read_cells(const json_value *matrix, const record_column *support, double *cells)
{
    const int classes = support->count;
    const json_value *row = record_first(matrix, JSON_ARRAY), *v = NULL;
    for (int i = 0; i < classes * classes; ++i) {
        v = i % classes == 0 ? record_first(row, JSON_ARRAY) : v;
        cells[i] = v != NULL && v->kind == JSON_NUMBER ? v->number : NAN;
        cells[classes * classes + i] = cells[i] / support->value[i / classes];
        v = v != NULL ? v->next : NULL;
        row = row != NULL && (i + 1) % classes == 0 ? row->next : row;
    }
}

/* One row per label, shaded by the share of its count. Columns are narrow: their heads are numbers alone. */
static void draw_confusion(report_text *out, run_record *run, const json_value *matrix, const record_column *support)
{
    const int classes = support->count;
    char name[HEAT_MAX][RECORD_CLASS_BYTES], number[HEAT_MAX][16];
    const char *names[HEAT_MAX], *numbers[HEAT_MAX];
    double *cells = record_alloc(run, 2 * (int64_t)classes * classes, sizeof *cells);
    if (cells == NULL) {
        return;
    }
    for (int k = 0; k < classes; ++k) {
        names[k] = record_class(run, k, name[k]);
        snprintf(number[k], sizeof number[k], "%d", k);
        numbers[k] = number[k];
    }
    read_cells(matrix, support, cells);
    heat_draw(out, &(heat){"label", record_class_named(run), true, UNIT_COUNT, classes, classes, names, numbers, cells,
                           cells + classes * classes});
    text_paragraph(out, "muted", "A row a label, a column a prediction; shaded by the share of the label's count.");
}

static void table_of_pairs(report_text *out, const run_record *run, const json_value *outcome,
                           const record_column *support)
{
    const char *rows = record_rows_word(run);
    char name[2][RECORD_CLASS_BYTES];
    text_table_begin(out, record_class_named(run) ? "llrr" : "rrrr", "label|taken for|count|of the label");
    for (const json_value *pair = record_first(json_find(outcome, "confused"), JSON_ARRAY); pair != NULL;
         pair = pair->next) {
        double label = record_number(pair, "label"), count = record_number(pair, rows);
        TEXT_CELLS(out, record_class(run, label, name[0]), record_class(run, record_number(pair, "predicted"), name[1]),
                   quantity_count(count).text, quantity_percent(count / record_at(support, label)).text);
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
    if (record_first(json_find(outcome, "confused"), JSON_ARRAY) != NULL) {
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
        record_string(outcome, "split", "test"));
    if (support->count > 0) {
        text_fold_begin(out, folded, "Figures of each class", false);
        text_table_begin(out, record_class_named(run) ? "lrrrrrrr" : "rrrrrrrr",
                         "class|in training|in validation|in test|predicted|precision|recall|F1");
        rows_of(out, run, json_find(outcome, "classes"), class_columns, COLUMNS, support->count, true);
        average_row(out, outcome, "macro");
        average_row(out, outcome, "micro");
        text_table_end(out);
        text_fold_end(out, folded);
    } else {
        text_paragraph(out, "", "Macro F1 %s, micro F1 %s.", quantity_of(record_number(macro, "f1"), UNIT_RATE).text,
                       quantity_of(record_number(micro, "f1"), UNIT_RATE).text);
    }
    tell_confusion(out, run, outcome, support);
}

static void tell_tasks(report_text *out, run_record *run, const json_value *outcome, int count)
{
    text_heading(out, out->level, "Tasks");
    text_paragraph(out, "muted", "Predictions of the last run at its best epoch, on the %s split.",
                   record_string(outcome, "split", "test"));
    text_fold_begin(out, count > OPEN_MAX, "Figures of each task", false);
    text_table_begin(out, "rrrr", "task|positive|negative|ROC-AUC");
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
