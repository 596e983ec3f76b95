/* app/predict/index_write.c: indexes as JSON; see app/predict/index_table.h. */
#include "app/predict/index_table.h"

static const char *const source_words[] = {[THRESHOLD_GIVEN] = "given",
                                           [THRESHOLD_RUN] = "run",
                                           [THRESHOLD_VALID] = "valid",
                                           [THRESHOLD_TRAIN] = "train",
                                           [THRESHOLD_HALF] = "none"};

void index_write_value(json_writer *json, const char *key, index_value v)
{
    json_object(json, key);
    json_real(json, "value", v.value);
    json_real(json, "low", v.low);
    json_real(json, "high", v.high);
    json_end(json);
}

static void write_axis(json_writer *json, const char *key, const double *value, int points)
{
    json_array(json, key);
    for (int i = 0; i < points; ++i) {
        json_real(json, NULL, value[i]);
    }
    json_end(json);
}

/* Columns of the bins. */
static void write_bins(json_writer *json, const index_calibration *c)
{
    static const char *const keys[] = {"rows", "positives", "probability", "share", "low", "high"};
    json_object(json, "bins");
    for (int k = 0; k < 6; ++k) {
        double column[CALIBRATION_BINS];
        for (int b = 0; b < c->bins; ++b) {
            const calibration_bin *bin = &c->bin[b];
            const double value[] = {(double)bin->rows, (double)bin->positives, bin->mean,
                                    bin->share.value,  bin->share.low,         bin->share.high};
            column[b] = value[k];
        }
        write_axis(json, keys[k], column, c->bins);
    }
    json_end(json);
}

static void write_probabilities(json_writer *json, const index_calibration *c, bool drawn)
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
    index_write_value(json, "slope", c->slope);
    index_write_value(json, "intercept", c->intercept);
    index_write_value(json, "in_the_large", c->intercept_alone);
    if (drawn) {
        write_bins(json, c);
    }
    json_end(json);
}

static void write_answers(json_writer *json, const binary_indexes *x)
{
    index_row row[INDEX_ANSWER_ROWS];
    const int rows = index_answer_rows(x, row);
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
    for (int i = 0; i < rows; ++i) {
        index_write_value(json, row[i].key, row[i].value);
    }
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

static void write_figures(json_writer *json, const binary_indexes *x, bool drawn)
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
    write_probabilities(json, &x->calibration, drawn);
    write_answers(json, x);
    if (drawn) {
        write_curves(json, x);
    }
}

void index_write(json_writer *json, const binary_indexes *x, bool drawn)
{
    if (x->finite) {
        write_figures(json, x, drawn);
    }
    json_array(json, "notes");
    for (int i = 0; i < x->notes; ++i) {
        json_text(json, NULL, x->note[i]);
    }
    json_end(json);
}
