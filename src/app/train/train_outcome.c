/* app/train/train_outcome.c: see app/train/train_outcome.h. summary.json's part is written in train_outcome_write.c. */
#include "app/train/train_outcome.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "app/predict/run_threshold.h"
#include "app/record/run_record.h"
#include "app/workload/class_counts.h"
#include "base/alloc.h"
#include "base/log.h"

/* ---- counting ---- */

static weft_status count_classes(const workload *work, train_outcome *outcome)
{
    weft_comm *comm = work->context->comm;
    const int64_t classes = work->targets->outputs;
    outcome->classes = classes;
    WEFT_TRY(comm_agree(comm, WEFT_NEW(&outcome->by_class, TRAIN_SPLITS * classes, WEFT_MEM_GENERAL)));
    return class_counts_of(work, outcome->by_class);
}

/* Training splits are often made of equally large classes: of those the one with more validation rows, then the
 * first. -1: no row is labelled for training. */
static int64_t largest_class(const train_outcome *outcome)
{
    const int64_t *train = outcome->by_class, *valid = outcome->by_class + outcome->classes;
    int64_t largest = -1;
    for (int64_t c = 0; c < outcome->classes; ++c) {
        const bool larger =
            largest < 0 ? train[c] > 0
                        : train[c] > train[largest] || (train[c] == train[largest] && valid[c] > valid[largest]);
        largest = larger ? c : largest;
    }
    return largest;
}

static double baseline_of(const train_outcome *outcome, int split)
{
    if (outcome->counted[split] == 0 || metric_kind_of(outcome->metric)->numbers) {
        return NAN;
    }
    if (outcome->metric == TRAIN_METRIC_ROCAUC) {
        return 0.5;
    }
    return outcome->largest < 0 || outcome->metric != TRAIN_METRIC_ACCURACY
               ? NAN
               : (double)outcome->by_class[split * outcome->classes + outcome->largest] /
                     (double)outcome->counted[split];
}

static score_split told_split(const train_targets *targets)
{
    return targets->counted[2] > 0 ? SCORE_TEST : targets->counted[1] > 0 ? SCORE_VALID : SCORE_TRAIN;
}

/* The model is trained by now: groups that cannot be made are a warning. */
static weft_status make_groups(const workload *work, const float *logits, score_table *table)
{
    const weft_status status = subgroups_make(work, option_text(work->context->options, OPT_BY), logits,
                                              score_split_judged(table->split), &table->indexes.threshold, &table->by);
    if (status == WEFT_ERR_USAGE) {
        log_warn("%s", weft_error_message());
        weft_error_clear();
        return WEFT_OK;
    }
    return status;
}

weft_status train_outcome_measure(const workload *work, train_metric metric, const weft_tensor *view,
                                  const float *logits, train_outcome *outcome)
{
    index_threshold threshold;
    const train_targets *targets = work->targets;
    outcome->metric = metric;
    outcome->mixed = work->context->mixed;
    outcome->no_rate = work->ops->fit != NULL;
    outcome->habits = work->ops->habits != NULL ? work->ops->habits(work->context->options)
                                                : (train_habits){.normed = true, .normalized = true};
    outcome->largest = -1;
    memcpy(outcome->counted, targets->counted, sizeof outcome->counted);
    if (targets->loss == TRAIN_LOSS_XENT) {
        WEFT_TRY(count_classes(work, outcome));
        outcome->largest = largest_class(outcome);
    }
    for (int s = 0; s < TRAIN_SPLITS; ++s) {
        outcome->baseline[s] = baseline_of(outcome, s);
    }
    outcome->tabled = targets->outputs <= OUTCOME_CLASSES_MAX;
    if (!outcome->tabled) {
        return WEFT_OK;
    }
    WEFT_TRY(threshold_asked(work->context->options, NULL, &threshold));
    WEFT_TRY(score_table_make(work->context, targets, metric, told_split(targets), &threshold, view, logits,
                              &outcome->table));
    outcome->table.class_name = targets->loss == TRAIN_LOSS_XENT ? work->class_name : NULL;
    return make_groups(work, logits, &outcome->table);
}

void train_outcome_destroy(train_outcome *outcome)
{
    weft_free(outcome->by_class);
    score_table_destroy(&outcome->table);
    *outcome = (train_outcome){.classes = 0};
}

/* ---- losses before a resumption ---- */

void train_outcome_recall(train_outcome *outcome, const char *metrics)
{
    run_record before;
    memset(&before, 0, sizeof before);
    if (record_metrics_read(metrics, &before) != WEFT_OK) {
        log_warn("%s: losses before the resumption are not judged", weft_error_message());
        weft_error_clear();
    }
    for (int s = 0; s < before.series_count; ++s) {
        const record_series *series = &before.series[s];
        for (int64_t i = 0; i < series->count; ++i) {
            const double loss = series->epoch[i].value[RECORD_LOSS];
            if (isfinite(loss)) {
                outcome_watch(&outcome->losses, series->run - 1, series->epoch[i].epoch, loss);
            }
        }
    }
    record_close(&before);
}

/* ---- telling ---- */

static void find_early(const train_outcome *outcome, const train_result *result, outcome_facts *f)
{
    for (int r = 0; r < result->runs; ++r) {
        const train_run *run = &result->run[r];
        if (!metric_kind_of(outcome->metric)->error &&
            outcome_is_early(run->best_epoch, run->epochs, run->best_valid)) {
            if (f->early_runs == 0) {
                f->early_run = r;
                f->early_epoch = run->best_epoch;
                f->early_end = run->epochs;
            }
            f->early_runs += 1;
        }
    }
}

static int64_t count_train_classes(const train_outcome *outcome)
{
    int64_t occurring = 0;
    for (int64_t c = 0; outcome->by_class != NULL && c < outcome->classes; ++c) {
        occurring += outcome->by_class[c] > 0;
    }
    return occurring;
}

int train_outcome_warnings(const train_outcome *outcome, const weft_options *o, const train_result *result,
                           char line[OUTCOME_LINES][OUTCOME_BYTES])
{
    const train_habits habits = outcome->habits;
    outcome_facts facts = {.metric = metric_kind_of(outcome->metric)->text,
                           .numbers = metric_kind_of(outcome->metric)->numbers,
                           .shares = outcome->metric == TRAIN_METRIC_ACCURACY,
                           .train_classes = count_train_classes(outcome),
                           .valid = result->valid_mean,
                           .test = result->test_mean,
                           .valid_baseline = outcome->baseline[1],
                           .test_baseline = outcome->baseline[2],
                           .valid_rows = outcome->counted[1],
                           .test_rows = outcome->counted[2],
                           .rows = outcome->rows,
                           .split_cure = outcome->split_cure,
                           .guess_cure = outcome->guess_cure,
                           .test_cure = outcome->test_cure,
                           .runs = result->runs,
                           .losses = outcome->losses,
                           .lr = option_real(o, OPT_LR),
                           .no_rate = outcome->no_rate,
                           .normed = habits.normed,
                           .old_gradients = habits.old_gradients,
                           .drift = result->drift,
                           .mixed = outcome->mixed,
                           .input_dropped = habits.input_dropped,
                           .normalized = habits.normalized};
    find_early(outcome, result, &facts);
    return outcome_warn(&facts, line);
}

static void print_baseline(const train_outcome *outcome)
{
    const int split = outcome->counted[2] > 0 ? 2 : 1;
    const double baseline = outcome->baseline[split];
    if (isnan(baseline)) {
        return;
    }
    if (outcome->metric == TRAIN_METRIC_ROCAUC) {
        printf("     Baseline: %.2f (a guess)\n", 100.0 * baseline);
    } else {
        printf("     Baseline: %.2f (class %" PRId64 ", the largest in training: its share of the %s split)\n",
               100.0 * baseline, outcome->largest, split == 2 ? "test" : "validation");
    }
}

void train_outcome_print(const train_outcome *outcome, const weft_options *options, const train_result *result)
{
    char line[OUTCOME_LINES][OUTCOME_BYTES];
    const int count = train_outcome_warnings(outcome, options, result, line);
    print_baseline(outcome);
    score_table_print_brief(stdout, &outcome->table);
    for (int i = 0; i < count; ++i) {
        printf("warning: %s\n", line[i]);
    }
}
