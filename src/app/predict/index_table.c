/* app/predict/index_table.c: see app/predict/index_table.h. */
#include "app/predict/index_table.h"

#include <inttypes.h>

#include "base/number.h"

/* Texts of threshold_source. */
static const char *const source_texts[] = {[THRESHOLD_GIVEN] = "given",
                                           [THRESHOLD_RUN] = "that of the training run",
                                           [THRESHOLD_VALID] = "by Youden's index of validation rows",
                                           [THRESHOLD_TRAIN] = "by Youden's index of training rows",
                                           [THRESHOLD_HALF] = "no rows chose it"};

/* ---- rows -------------------------------------------------------------------------------------------------------- */

enum { ROWS = 11 + INDEX_ANSWER_ROWS };

static index_value plain(double value)
{
    return (index_value){value, NAN, NAN};
}

int index_answer_rows(const binary_indexes *x, index_row *row)
{
    int count = 0;
    row[count++] = (index_row){"sensitivity", "sensitivity", x->sensitivity, false};
    row[count++] = (index_row){"specificity", "specificity", x->specificity, false};
    row[count++] = (index_row){"accuracy", "accuracy", x->accuracy, false};
    row[count++] = (index_row){"precision", "precision", x->precision, false};
    row[count++] = (index_row){"negative_predictive_value", "negative predictive value", x->negative_value, false};
    row[count++] = (index_row){"f1", "F1", x->f1, false};
    return count;
}

static int rows_of(const binary_indexes *x, index_row *row)
{
    const index_calibration *c = &x->calibration;
    int count = 0;
    row[count++] = (index_row){"auc", "AUC", x->area, false};
    row[count++] = (index_row){"average_precision", "average precision", plain(x->average_precision), false};
    row[count++] = (index_row){"log_loss", "log loss", plain(c->log_loss), false};
    row[count++] = (index_row){"brier", "Brier score", plain(c->brier), false};
    row[count++] = (index_row){"reliability", "reliability", plain(c->reliability), false};
    row[count++] = (index_row){"resolution", "resolution", plain(c->resolution), false};
    row[count++] = (index_row){"uncertainty", "uncertainty", plain(c->uncertainty), false};
    row[count++] = (index_row){"calibration_slope", "calibration slope", c->slope, false};
    row[count++] = (index_row){"calibration_intercept", "calibration intercept", c->intercept, false};
    row[count++] = (index_row){"calibration_in_the_large", "intercept at slope 1", c->intercept_alone, false};
    row[count++] = (index_row){"threshold", "threshold", plain(x->threshold.value), true};
    return count + index_answer_rows(x, row + count);
}

/* ---- Markdown and CSV -------------------------------------------------------------------------------------------- */

static void print_number(FILE *out, double value, int digits, const char *undefined)
{
    if (isnan(value)) {
        fputs(undefined, out);
    } else {
        fprintf(out, "%.*f", digits, value);
    }
}

static void print_value(FILE *out, const index_row *row, int digits, const char *undefined)
{
    char text[NUMBER_TEXT_MAX];
    if (row->exact && !isnan(row->value.value)) {
        fputs(number_format_real(row->value.value, text), out);
    } else {
        print_number(out, row->value.value, digits, undefined);
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
        print_value(out, &row[i], 4, "-");
        fputs(" | ", out);
        print_number(out, row[i].value.low, 4, "");
        fputs(" | ", out);
        print_number(out, row[i].value.high, 4, "");
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
static void print_line(FILE *out, const index_table_desc *d, const char *end, const index_row *row)
{
    fprintf(out, "index,%s%s,%" PRId64 ",", row->key, end, d->indexes->rows);
    print_value(out, row, 6, "");
    fputs(",,,\n", out);
}

static void print_csv(FILE *out, const index_table_desc *d, const index_row *row, int rows)
{
    for (int i = 0; i < rows; ++i) {
        const index_value v = row[i].value;
        if (!isnan(v.value)) {
            print_line(out, d, "", &row[i]);
        }
        if (!isnan(v.low)) {
            print_line(out, d, "_low", &(index_row){row[i].key, "", plain(v.low), false});
            print_line(out, d, "_high", &(index_row){row[i].key, "", plain(v.high), false});
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
    print_number(out, v->value, 4, "-");
    if (!isnan(v->low)) {
        fprintf(out, " (%.4f to %.4f)", v->low, v->high);
    }
}

void index_table_print_brief(FILE *out, const index_table_desc *d)
{
    const binary_indexes *x = d->indexes;
    index_row row[INDEX_ANSWER_ROWS];
    char text[NUMBER_TEXT_MAX];
    if (!x->finite) {
        return;
    }
    const index_value brier = plain(x->calibration.brier);
    fprintf(out, "Indexes (%s, %" PRId64 " of %" PRId64 " rows positive): ", d->split, x->positives, x->rows);
    print_brief(out, "AUC", &x->area);
    print_brief(out, ", Brier score", &brier);
    print_brief(out, ", calibration slope", &x->calibration.slope);
    fprintf(out, "\n  at threshold %s (%s): ", number_format_real(x->threshold.value, text),
            source_texts[x->threshold.source]);
    const int rows = index_answer_rows(x, row);
    for (int i = 0; i < rows; ++i) {
        fputs(i > 0 ? ", " : "", out);
        print_brief(out, row[i].label, &row[i].value);
    }
    fputc('\n', out);
}
