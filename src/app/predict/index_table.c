/* app/predict/index_table.c: see app/predict/index_table.h. */
#include "app/predict/index_table.h"

#include <inttypes.h>
#include <stddef.h>

/* Words of threshold_source: for files, and for people. */
static const char *const source_words[] = {[THRESHOLD_GIVEN] = "given",
                                           [THRESHOLD_RUN] = "run",
                                           [THRESHOLD_VALID] = "valid",
                                           [THRESHOLD_TRAIN] = "train",
                                           [THRESHOLD_HALF] = "none"};
static const char *const source_texts[] = {[THRESHOLD_GIVEN] = "given",
                                           [THRESHOLD_RUN] = "that of the training run",
                                           [THRESHOLD_VALID] = "by Youden's index of validation rows",
                                           [THRESHOLD_TRAIN] = "by Youden's index of training rows",
                                           [THRESHOLD_HALF] = "no rows chose it"};

/* ---- rows -------------------------------------------------------------------------------------------------------- */

typedef struct index_row {
    const char *key, *label;
    index_value value; /* a limit that is NaN is not printed */
} index_row;

enum { ROWS = 17 };

static index_value plain(double value)
{
    return (index_value){value, NAN, NAN};
}

/* Of the answers at the threshold, behind those of the order and of the probabilities. */
static int rows_at_threshold(const binary_indexes *x, index_row *row)
{
    int count = 0;
    row[count++] = (index_row){"threshold", "threshold", plain(x->threshold.value)};
    row[count++] = (index_row){"sensitivity", "sensitivity", x->sensitivity};
    row[count++] = (index_row){"specificity", "specificity", x->specificity};
    row[count++] = (index_row){"accuracy", "accuracy", x->accuracy};
    row[count++] = (index_row){"precision", "precision", x->precision};
    row[count++] = (index_row){"negative_predictive_value", "negative predictive value", x->negative_value};
    row[count++] = (index_row){"f1", "F1", x->f1};
    return count;
}

static int rows_of(const binary_indexes *x, index_row *row)
{
    const index_calibration *c = &x->calibration;
    int count = 0;
    row[count++] = (index_row){"auc", "AUC", x->area};
    row[count++] = (index_row){"average_precision", "average precision", plain(x->average_precision)};
    row[count++] = (index_row){"log_loss", "log loss", plain(c->log_loss)};
    row[count++] = (index_row){"brier", "Brier score", plain(c->brier)};
    row[count++] = (index_row){"reliability", "reliability", plain(c->reliability)};
    row[count++] = (index_row){"resolution", "resolution", plain(c->resolution)};
    row[count++] = (index_row){"uncertainty", "uncertainty", plain(c->uncertainty)};
    row[count++] = (index_row){"calibration_slope", "calibration slope", c->slope};
    row[count++] = (index_row){"calibration_intercept", "calibration intercept", c->intercept};
    row[count++] = (index_row){"calibration_in_the_large", "intercept at slope 1", c->intercept_alone};
    return count + rows_at_threshold(x, row + count);
}

/* ---- Markdown and CSV -------------------------------------------------------------------------------------------- */

static void print_number(FILE *out, double value, const char *undefined)
{
    if (isnan(value)) {
        fputs(undefined, out);
    } else {
        fprintf(out, "%.4f", value);
    }
}

static void print_positive(FILE *out, const index_table_desc *d)
{
    if (d->positive != NULL) {
        table_print_text(out, d->positive, TABLE_MD);
    } else {
        fputs("class 1", out);
    }
}

static void print_md(FILE *out, const index_table_desc *d, const index_row *row, int rows)
{
    const binary_indexes *x = d->indexes;
    fprintf(out, "\n| index (%s) | value | 95 %% from | to |\n|---|---:|---:|---:|\n", d->split);
    for (int i = 0; i < rows; ++i) {
        fprintf(out, "| %s | ", row[i].label);
        print_number(out, row[i].value.value, "-");
        fputs(" | ", out);
        print_number(out, row[i].value.low, "");
        fputs(" | ", out);
        print_number(out, row[i].value.high, "");
        fputs(" |\n", out);
    }
    fprintf(out, "\nPositive: ");
    print_positive(out, d);
    fprintf(out, ", %" PRId64 " of %" PRId64 " rows. Threshold: %s.\n", x->positives, x->rows,
            source_texts[x->threshold.source]);
    for (int i = 0; i < x->notes; ++i) {
        fprintf(out, "Note: %s.\n", x->note[i]);
    }
}

/* A line a number. end: behind the name. */
static void print_line(FILE *out, const index_table_desc *d, const char *name, const char *end, double value)
{
    fprintf(out, "index,%s%s,%" PRId64 ",%.6f,,,\n", name, end, d->indexes->rows, value);
}

static void print_csv(FILE *out, const index_table_desc *d, const index_row *row, int rows)
{
    for (int i = 0; i < rows; ++i) {
        const index_value v = row[i].value;
        if (!isnan(v.value)) {
            print_line(out, d, row[i].key, "", v.value);
        }
        if (!isnan(v.low)) {
            print_line(out, d, row[i].key, "_low", v.low);
            print_line(out, d, row[i].key, "_high", v.high);
        }
    }
}

void index_table_print(FILE *out, const index_table_desc *d, table_format format)
{
    index_row row[ROWS];
    const int rows = d->indexes->finite ? rows_of(d->indexes, row) : 0;
    if (format == TABLE_CSV) {
        print_csv(out, d, row, rows);
    } else {
        print_md(out, d, row, rows);
    }
}

static void print_brief(FILE *out, const char *label, const index_value *v)
{
    fprintf(out, "%s ", label);
    print_number(out, v->value, "-");
    if (!isnan(v->low)) {
        fprintf(out, " (%.4f to %.4f)", v->low, v->high);
    }
}

void index_table_print_brief(FILE *out, const index_table_desc *d)
{
    const binary_indexes *x = d->indexes;
    index_row row[ROWS];
    if (!x->finite) {
        return;
    }
    const index_value brier = plain(x->calibration.brier);
    fprintf(out, "Indexes (%s, %" PRId64 " of %" PRId64 " rows positive): ", d->split, x->positives, x->rows);
    print_brief(out, "AUC", &x->area);
    print_brief(out, ", Brier score", &brier);
    print_brief(out, ", calibration slope", &x->calibration.slope);
    fprintf(out, "\n  at threshold %.4f (%s): ", x->threshold.value, source_texts[x->threshold.source]);
    const int rows = rows_at_threshold(x, row);
    for (int i = 1; i < rows; ++i) {
        fputs(i > 1 ? ", " : "", out);
        print_brief(out, row[i].label, &row[i].value);
    }
    fputc('\n', out);
}

/* ---- JSON -------------------------------------------------------------------------------------------------------- */

static void write_value(json_writer *json, const char *key, index_value v)
{
    json_object(json, key);
    json_real(json, "value", v.value);
    json_real(json, "low", v.low);
    json_real(json, "high", v.high);
    json_end(json);
}

static void write_bins(json_writer *json, const index_calibration *c)
{
    json_array(json, "bins");
    for (int b = 0; b < c->bins; ++b) {
        json_object(json, NULL);
        json_int(json, "rows", c->bin[b].rows);
        json_int(json, "positives", c->bin[b].positives);
        json_real(json, "probability", c->bin[b].mean);
        json_real(json, "share", c->bin[b].share.value);
        json_real(json, "low", c->bin[b].share.low);
        json_real(json, "high", c->bin[b].share.high);
        json_end(json);
    }
    json_end(json);
}

static void write_probabilities(json_writer *json, const index_calibration *c)
{
    json_real(json, "log_loss", c->log_loss);
    json_object(json, "brier");
    json_real(json, "value", c->brier);
    json_real(json, "reliability", c->reliability);
    json_real(json, "resolution", c->resolution);
    json_real(json, "uncertainty", c->uncertainty);
    json_real(json, "within_bins", c->within);
    json_end(json);
    json_object(json, "calibration");
    write_value(json, "slope", c->slope);
    write_value(json, "intercept", c->intercept);
    write_value(json, "in_the_large", c->intercept_alone);
    write_bins(json, c);
    json_end(json);
}

static void write_answers(json_writer *json, const binary_indexes *x)
{
    index_row row[ROWS];
    const int rows = rows_at_threshold(x, row);
    json_object(json, "threshold");
    json_real(json, "value", x->threshold.value);
    json_text(json, "chosen_on", source_words[x->threshold.source]);
    json_real(json, "youden", x->threshold.youden);
    json_end(json);
    json_object(json, "confusion");
    json_int(json, "true_positives", x->confusion.true_positives);
    json_int(json, "false_positives", x->confusion.false_positives);
    json_int(json, "false_negatives", x->confusion.false_negatives);
    json_int(json, "true_negatives", x->confusion.true_negatives);
    json_end(json);
    for (int i = 1; i < rows; ++i) {
        write_value(json, row[i].key, row[i].value);
    }
}

static void write_axis(json_writer *json, const char *key, const double *value, int points)
{
    json_array(json, key);
    for (int i = 0; i < points; ++i) {
        json_real(json, NULL, value[i]);
    }
    json_end(json);
}

static void write_curves(json_writer *json, const binary_indexes *x)
{
    json_object(json, "roc");
    write_axis(json, "false_positive_rate", x->roc.x, x->roc.points);
    write_axis(json, "sensitivity", x->roc.y, x->roc.points);
    json_end(json);
    json_object(json, "precision_recall");
    write_axis(json, "recall", x->precision_recall.x, x->precision_recall.points);
    write_axis(json, "precision", x->precision_recall.y, x->precision_recall.points);
    json_end(json);
}

static void write_indexes(json_writer *json, const binary_indexes *x)
{
    json_int(json, "rows", x->rows);
    json_int(json, "positives", x->positives);
    json_object(json, "auc");
    json_real(json, "value", x->area.value);
    json_real(json, "low", x->area.low);
    json_real(json, "high", x->area.high);
    json_real(json, "se", x->area_se);
    json_end(json);
    json_real(json, "average_precision", x->average_precision);
    write_probabilities(json, &x->calibration);
    write_answers(json, x);
    write_curves(json, x);
}

void index_table_write(json_writer *json, const index_table_desc *d)
{
    const binary_indexes *x = d->indexes;
    json_object(json, "indexes");
    json_text(json, "split", d->split);
    json_text(json, "positive", d->positive != NULL ? d->positive : "1");
    if (x->finite) {
        write_indexes(json, x);
    }
    json_array(json, "notes");
    for (int i = 0; i < x->notes; ++i) {
        json_text(json, NULL, x->note[i]);
    }
    json_end(json);
    json_end(json);
}
