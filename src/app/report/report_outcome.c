/*
 * app/report/report_outcome.c: what the predictions of a training are worth, by class or by task, and what training warned of:
 * "outcome" in summary.json.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "app/report/sections.h"
#include "base/alloc.h"

enum {
    CLASSES_MAX = 1024,
    MATRIX_MAX = 64, /* classes of a confusion matrix: training writes no larger one, and its cells are the square */
    OPEN_MAX = 24    /* rows of a table that is not folded */
};

void section_warnings(report_text *out, const report_run *run)
{
    const json_value *warnings = json_find(json_find(run->summary, "outcome"), "warnings");
    if (warnings == NULL || warnings->kind != JSON_ARRAY) {
        return;
    }
    for (const json_value *line = warnings->child; line != NULL; line = line->next) {
        if (line->kind == JSON_TEXT) {
            text_paragraph(out, "warning", "%s", line->text);
        }
    }
}

/* ---- columns ---- */

typedef enum column_id { TRAIN, VALID, TEST, SUPPORT, PREDICTED, PRECISION, RECALL, F1, COLUMNS } column_id;

static const char *const column_keys[COLUMNS] = {"train",     "valid",     "test",   "support",
                                                 "predicted", "precision", "recall", "f1"};

typedef struct class_table {
    double *column[COLUMNS]; /* [classes]; NULL: not there */
    int classes;
} class_table;

static int length_of(const json_value *array)
{
    int count = 0;
    if (array != NULL && array->kind == JSON_ARRAY) {
        for (const json_value *v = array->child; v != NULL && count < CLASSES_MAX; v = v->next) {
            count += 1;
        }
    }
    return count;
}

static void class_table_free(class_table *t)
{
    for (int c = 0; c < COLUMNS; ++c) {
        weft_free(t->column[c]);
    }
}

static weft_status class_table_read(const json_value *classes, class_table *t)
{
    *t = (class_table){.classes = length_of(json_find(classes, "support"))};
    for (int c = 0; c < COLUMNS; ++c) {
        weft_status status = report_rank_column(classes, column_keys[c], t->classes, &t->column[c]);
        if (status != WEFT_OK) {
            class_table_free(t);
            return status;
        }
    }
    return WEFT_OK;
}

static double cell_of(const class_table *t, column_id column, int class)
{
    return t->column[column] != NULL && class >= 0 && class < t->classes ? t->column[column][class] : NAN;
}

static const char *rate_text(double rate, quantity *space)
{
    *space = (quantity){"–"};
    if (isfinite(rate)) {
        snprintf(space->text, sizeof space->text, "%.4f", rate);
    }
    return space->text;
}

static void average_row(report_text *out, const json_value *outcome, const char *key, const char *name)
{
    quantity space;
    const json_value *figures = json_find(outcome, key);
    text_cell(out, "%s", name);
    for (column_id c = TRAIN; c <= PREDICTED; ++c) {
        if (c != SUPPORT) {
            text_cell(out, "–");
        }
    }
    for (column_id c = PRECISION; c <= F1; ++c) {
        text_cell(out, "%s", rate_text(report_number(figures, column_keys[c]), &space));
    }
}

/* The chosen split's own column is the support. */
static void table_of_classes(report_text *out, const report_run *run, const json_value *outcome, const class_table *t)
{
    quantity space;
    char name[REPORT_CLASS_BYTES];
    text_table_begin(out, report_class_named(run) ? "lrrrrrrr" : "rrrrrrrr",
                     "class|in training|in validation|in test|predicted|precision|recall|F1");
    for (int k = 0; k < t->classes; ++k) {
        text_cell(out, "%s", report_class(run, k, name));
        for (column_id c = TRAIN; c <= PREDICTED; ++c) {
            if (c != SUPPORT) {
                text_cell(out, "%s", quantity_count(cell_of(t, c, k)).text);
            }
        }
        for (column_id c = PRECISION; c <= F1; ++c) {
            text_cell(out, "%s", rate_text(cell_of(t, c, k), &space));
        }
    }
    average_row(out, outcome, "macro", "macro");
    average_row(out, outcome, "micro", "micro");
    text_table_end(out);
}

/* ---- confusion ---- */

/* A row a label, shaded by the share of its count. Columns are narrow: their heads are numbers alone. */
static void table_of_confusion(report_text *out, const report_run *run, const json_value *matrix, const class_table *t)
{
    char align[MATRIX_MAX + 2];
    char label[REPORT_CLASS_BYTES];
    memset(align, 'r', (size_t)t->classes + 1);
    align[t->classes + 1] = '\0';
    align[0] = report_class_named(run) ? 'l' : 'r';
    text_columns_begin(out, align);
    text_column_name(out, "label");
    for (int k = 0; k < t->classes; ++k) {
        char name[16];
        snprintf(name, sizeof name, "%d", k);
        text_column_name(out, name);
    }
    text_columns_end(out);
    const json_value *row = matrix->child;
    for (int k = 0; k < t->classes; ++k) {
        const json_value *v = row != NULL && row->kind == JSON_ARRAY ? row->child : NULL;
        text_cell(out, "%s", report_class(run, k, label));
        for (int p = 0; p < t->classes; ++p) {
            double count = v != NULL && v->kind == JSON_NUMBER ? v->number : NAN;
            double share = count / cell_of(t, SUPPORT, k);
            text_cell_shaded(out, isfinite(share) ? share : 0, p == k, "%s", quantity_count(count).text);
            v = v != NULL ? v->next : NULL;
        }
        row = row != NULL ? row->next : NULL;
    }
    text_table_end(out);
    text_paragraph(out, "muted", "A row a label, a column a prediction; shaded by the share of the label's count.");
}

static void table_of_pairs(report_text *out, const report_run *run, const json_value *outcome, const class_table *t)
{
    const char *rows = report_string(outcome, "rows", "");
    char name[REPORT_CLASS_BYTES];
    text_table_begin(out, report_class_named(run) ? "llrr" : "rrrr", "label|taken for|count|of the label");
    for (const json_value *pair = json_find(outcome, "confused")->child; pair != NULL; pair = pair->next) {
        double label = report_number(pair, "label"), count = report_number(pair, rows);
        bool known = label >= 0 && label < t->classes;
        text_cell(out, "%s", report_class(run, label, name));
        text_cell(out, "%s", report_class(run, report_number(pair, "predicted"), name));
        text_cell(out, "%s", quantity_count(count).text);
        text_cell(out, "%s", quantity_percent(known ? count / cell_of(t, SUPPORT, (int)label) : NAN).text);
    }
    text_table_end(out);
}

static void tell_confusion(report_text *out, const report_run *run, const json_value *outcome, const class_table *t)
{
    const json_value *matrix = json_find(outcome, "confusion"), *pairs = json_find(outcome, "confused");
    if (matrix != NULL && matrix->kind == JSON_ARRAY && t->classes > 0 && t->classes <= MATRIX_MAX) {
        bool folded = t->classes > OPEN_MAX;
        if (folded) {
            text_fold_begin(out, "Labels, and what they are predicted as", false);
        }
        table_of_confusion(out, run, matrix, t);
        if (folded) {
            text_fold_end(out);
        }
    }
    if (pairs != NULL && pairs->kind == JSON_ARRAY && pairs->child != NULL) {
        text_fold_begin(out, "Classes that are taken for another most often", false);
        table_of_pairs(out, run, outcome, t);
        text_fold_end(out);
    }
}

static void tell_classes(report_text *out, const report_run *run, const json_value *outcome, const class_table *t)
{
    text_heading(out, out->level, "Classes");
    text_paragraph(
        out, "muted",
        "Predictions of the last run at its best epoch, on the %s split. Precision, recall and F1 are 0 where "
        "they are undefined; macro is the mean over the classes that occur, micro is over all rows.",
        report_string(outcome, "split", "test"));
    if (t->classes > 0) {
        bool folded = t->classes > OPEN_MAX;
        if (folded) {
            text_fold_begin(out, "Figures of each class", false);
        }
        table_of_classes(out, run, outcome, t);
        if (folded) {
            text_fold_end(out);
        }
    } else {
        text_paragraph(out, "", "Macro F1 %.4f, micro F1 %.4f.", report_number(json_find(outcome, "macro"), "f1"),
                       report_number(json_find(outcome, "micro"), "f1"));
    }
    tell_confusion(out, run, outcome, t);
}

/* ---- tasks ---- */

static weft_status tell_tasks(report_text *out, const json_value *outcome, const json_value *tasks)
{
    static const char *const keys[] = {"positive", "negative", "rocauc"};
    double *column[3] = {NULL, NULL, NULL};
    quantity space;
    weft_status status = WEFT_OK;
    const int count = length_of(json_find(tasks, "rocauc"));
    for (int c = 0; c < 3; ++c) {
        WEFT_TRY_GOTO(report_rank_column(tasks, keys[c], count, &column[c]), status, done);
    }
    text_heading(out, out->level, "Tasks");
    text_paragraph(out, "muted", "Predictions of the last run at its best epoch, on the %s split.",
                   report_string(outcome, "split", "test"));
    if (count > OPEN_MAX) {
        text_fold_begin(out, "Figures of each task", false);
    }
    text_table_begin(out, "rrrr", "task|positive|negative|ROC-AUC");
    for (int k = 0; k < count; ++k) {
        text_cell(out, "%d", k);
        text_cell(out, "%s", quantity_count(column[0] != NULL ? column[0][k] : NAN).text);
        text_cell(out, "%s", quantity_count(column[1] != NULL ? column[1][k] : NAN).text);
        text_cell(out, "%s", rate_text(column[2] != NULL ? column[2][k] : NAN, &space));
    }
    text_table_end(out);
    if (count > OPEN_MAX) {
        text_fold_end(out);
    }
done:
    for (int c = 0; c < 3; ++c) {
        weft_free(column[c]);
    }
    return status;
}

weft_status section_outcome(report_text *out, const report_run *run)
{
    const json_value *outcome = json_find(run->summary, "outcome");
    const json_value *tasks = json_find(outcome, "tasks");
    class_table t;
    if (tasks != NULL && tasks->kind == JSON_OBJECT) {
        return tell_tasks(out, outcome, tasks);
    }
    WEFT_TRY(class_table_read(json_find(outcome, "classes"), &t));
    if (t.classes > 0 || json_find(outcome, "macro") != NULL) {
        tell_classes(out, run, outcome, &t);
    }
    class_table_free(&t);
    return WEFT_OK;
}
