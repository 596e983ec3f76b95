/* app/train/train_outcome_write.c: "outcome" in summary.json (docs/formats.md has every key); see
 * app/train/train_outcome.h. */
#include "app/train/train_outcome.h"

#include <string.h>

/* The key of the word for rows, unless the word is this one. */
static const char rows_key[] = "rows";

static const char *const split_names[TRAIN_SPLITS] = {"train", "valid", "test"};
static const char *const told_names[] = {[SCORE_TEST] = "test", [SCORE_VALID] = "valid", [SCORE_TRAIN] = "train"};

static void write_column(json_writer *json, const char *key, const int64_t *value, int64_t count)
{
    json_array(json, key);
    for (int64_t i = 0; i < count; ++i) {
        json_int(json, NULL, value[i]);
    }
    json_end(json);
}

static void write_baseline(json_writer *json, const train_outcome *outcome)
{
    json_object(json, "baseline");
    json_text(json, "answer", outcome->metric == TRAIN_METRIC_ROCAUC ? "guess" : "largest class");
    if (outcome->metric == TRAIN_METRIC_ACCURACY) {
        json_int(json, "class", outcome->largest);
    }
    for (int s = 0; s < TRAIN_SPLITS; ++s) {
        json_real(json, split_names[s], outcome->baseline[s]);
    }
    json_end(json);
}

static void write_counts(json_writer *json, const train_outcome *outcome)
{
    if (strcmp(outcome->rows, rows_key) != 0) { /* that word is the key of the counts themselves */
        json_text(json, rows_key, outcome->rows);
    }
    json_object(json, outcome->rows);
    for (int s = 0; s < TRAIN_SPLITS; ++s) {
        json_int(json, split_names[s], outcome->counted[s]);
    }
    json_end(json);
}

/* ---- classes ---- */

static const char *const count_names[] = {"support", "predicted", "hits"};
static const char *const rate_names[] = {"precision", "recall", "f1"};

static int64_t count_of(const score_figures *f, int column)
{
    return column == 0 ? f->support : column == 1 ? f->predicted : f->hits;
}

static double rate_of(const score_figures *f, int column)
{
    return column == 0 ? f->precision : column == 1 ? f->recall : f->f1;
}

static void write_class_columns(json_writer *json, const train_outcome *outcome)
{
    const int64_t classes = outcome->classes;
    json_object(json, "classes");
    for (int s = 0; s < TRAIN_SPLITS; ++s) {
        write_column(json, split_names[s], outcome->by_class + s * classes, classes);
    }
    for (int column = 0; column < 3; ++column) {
        json_array(json, count_names[column]);
        for (int64_t c = 0; c < classes; ++c) {
            const score_figures f = score_table_class(&outcome->table, c);
            json_int(json, NULL, count_of(&f, column));
        }
        json_end(json);
    }
    for (int column = 0; column < 3; ++column) {
        json_array(json, rate_names[column]);
        for (int64_t c = 0; c < classes; ++c) {
            const score_figures f = score_table_class(&outcome->table, c);
            json_real(json, NULL, rate_of(&f, column));
        }
        json_end(json);
    }
    json_end(json);
}

static void write_average(json_writer *json, const char *key, const score_figures *f)
{
    json_object(json, key);
    for (int column = 0; column < 3; ++column) {
        json_real(json, rate_names[column], rate_of(f, column));
    }
    json_end(json);
}

static void write_matrix(json_writer *json, const score_table *table)
{
    json_array(json, "confusion");
    for (int64_t label = 0; label < table->classes; ++label) {
        write_column(json, NULL, table->confusion + label * table->classes, table->classes);
    }
    json_end(json);
}

/* The next pair after (count, at) in the order of falling counts, then of places in the matrix; -1: no more. */
static int64_t next_pair(const score_table *table, int64_t count, int64_t at)
{
    int64_t best = -1;
    for (int64_t i = 0; i < table->classes * table->classes; ++i) {
        const int64_t here = table->confusion[i];
        const bool wrong = i / table->classes != i % table->classes;
        const bool later = here < count || (here == count && i > at);
        if (wrong && here > 0 && later && (best < 0 || here > table->confusion[best])) {
            best = i;
        }
    }
    return best;
}

static void write_pairs(json_writer *json, const train_outcome *outcome)
{
    const score_table *table = &outcome->table;
    int64_t count = INT64_MAX, at = -1;
    json_array(json, "confused");
    for (int pair = 0; pair < OUTCOME_PAIRS_MAX && (at = next_pair(table, count, at)) >= 0; ++pair) {
        count = table->confusion[at];
        json_object(json, NULL);
        json_int(json, "label", at / table->classes);
        json_int(json, "predicted", at % table->classes);
        json_int(json, outcome->rows, count);
        json_end(json);
    }
    json_end(json);
}

static void write_classes(json_writer *json, const train_outcome *outcome)
{
    score_figures macro, micro;
    if (outcome->classes <= OUTCOME_CLASSES_TOLD) {
        write_class_columns(json, outcome);
    }
    score_table_averages(&outcome->table, &macro, &micro);
    write_average(json, "macro", &macro);
    write_average(json, "micro", &micro);
    if (outcome->classes <= OUTCOME_MATRIX_MAX) {
        write_matrix(json, &outcome->table);
    }
    write_pairs(json, outcome);
}

/* ---- tasks ---- */

static void write_tasks(json_writer *json, const score_table *table)
{
    json_object(json, "tasks");
    write_column(json, "positive", table->positive, table->tasks);
    write_column(json, "negative", table->negative, table->tasks);
    json_array(json, "rocauc");
    for (int64_t task = 0; task < table->tasks; ++task) {
        json_real(json, NULL, table->auc[task]);
    }
    json_end(json);
    json_end(json);
}

void train_outcome_write(json_writer *json, const train_outcome *outcome, const weft_options *options,
                         const train_result *result)
{
    char line[OUTCOME_LINES][OUTCOME_BYTES];
    const int count = train_outcome_warnings(outcome, options, result, line);
    json_object(json, "outcome");
    json_array(json, "warnings");
    for (int i = 0; i < count; ++i) {
        json_text(json, NULL, line[i]);
    }
    json_end(json);
    if (!metric_kind_of(outcome->metric)->numbers) {
        write_baseline(json, outcome);
    }
    write_counts(json, outcome);
    if (outcome->tabled) {
        json_text(json, "split", told_names[outcome->table.split]);
        if (outcome->table.classes > 0) {
            write_classes(json, outcome);
        } else if (outcome->table.tasks > 0 && outcome->table.tasks <= OUTCOME_CLASSES_TOLD) {
            write_tasks(json, &outcome->table);
        }
    }
    json_end(json);
}
