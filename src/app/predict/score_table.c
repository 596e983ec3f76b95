/* app/predict/score_table.c: the counting; see app/predict/score_table.h. Printing is in score_table_print.c. */
#include "app/predict/score_table.h"

#include <math.h>
#include <string.h>

#include "app/predict/predictions.h"
#include "base/log.h"

static const uint8_t split_numbers[] = {[SCORE_TEST] = 2, [SCORE_VALID] = 1, [SCORE_TRAIN] = 0};

int score_split_judged(score_split split)
{
    return split == SCORE_LABELLED ? INDEX_ALL_ROWS : split_numbers[split];
}

bool score_split_has(score_split split, const train_targets *targets, int64_t i)
{
    return split == SCORE_LABELLED || targets->split_host[i] == split_numbers[split];
}

static weft_status count_classes(const app_context *context, const train_targets *targets, const float *logits,
                                 score_table *table)
{
    int64_t classes = targets->outputs;
    table->classes = classes;
    WEFT_TRY(comm_agree(context->comm, WEFT_NEW_ZERO(&table->confusion, classes * classes, WEFT_MEM_WORKSPACE)));
    for (int64_t i = 0; i < targets->rows; ++i) {
        int32_t label = targets->label_host[i];
        if (label >= 0 && score_split_has(table->split, targets, i)) {
            table->confusion[label * classes + predictions_class(logits + i * classes, classes)] += 1;
        }
    }
    return comm_allreduce(context->comm, table->confusion, classes * classes, WEFT_DTYPE_I64, COMM_SUM);
}

static weft_status reserve_tasks(score_table *table, int64_t tasks)
{
    table->tasks = tasks;
    WEFT_TRY(WEFT_NEW_ZERO(&table->positive, tasks, WEFT_MEM_WORKSPACE));
    WEFT_TRY(WEFT_NEW_ZERO(&table->negative, tasks, WEFT_MEM_WORKSPACE));
    return WEFT_NEW_ZERO(&table->auc, tasks, WEFT_MEM_WORKSPACE);
}

/* split: 2 for the chosen rows, whose labels are counted; none for the others. */
static void mark_chosen(const train_targets *targets, score_table *table, uint8_t *split)
{
    for (int64_t i = 0; i < targets->rows; ++i) {
        split[i] = score_split_has(table->split, targets, i) ? split_numbers[SCORE_TEST] : TRAIN_SPLIT_NONE;
        for (int64_t c = 0; split[i] != TRAIN_SPLIT_NONE && c < table->tasks; ++c) {
            float target = targets->target_host[i * table->tasks + c];
            table->positive[c] += target > 0.5f;
            table->negative[c] += target <= 0.5f;
        }
    }
}

/* All rows are one batch. Destroy the metrics also after a failure. Collective. */
static weft_status add_rows(const app_context *context, const train_targets *targets, train_metric metric,
                            const weft_tensor *view, train_metrics *metrics)
{
    const metrics_desc desc = {.metric = metric,
                               .loss = targets->loss,
                               .outputs = targets->outputs,
                               .rows = targets->rows,
                               .dtype = view->dtype};
    weft_status status = metrics_create(context->comm, context->hal, &desc, metrics);
    status = status == WEFT_OK ? metrics_begin(metrics) : status;
    status = status == WEFT_OK ? metrics_add(metrics, view, targets) : status;
    return comm_agree(context->comm, status);
}

static weft_status score_tasks(const app_context *context, const train_targets *of_set, const weft_tensor *view,
                               score_table *table)
{
    train_metrics metrics = {.comm = NULL};
    weft_status status = add_rows(context, of_set, TRAIN_METRIC_ROCAUC, view, &metrics);
    for (int64_t task = 0; task < table->tasks && status == WEFT_OK; ++task) {
        double score[TRAIN_SPLITS] = {0};
        status = metrics_end_task(&metrics, task, score);
        table->auc[task] = score[split_numbers[SCORE_TEST]];
    }
    metrics_destroy(&metrics);
    return status;
}

/* The metrics look at splits; to score any set of rows they get targets whose test split is that set. */
static weft_status count_tasks(const app_context *context, const train_targets *targets, const weft_tensor *view,
                               score_table *table)
{
    uint8_t *split = NULL;
    weft_comm *comm = context->comm;
    weft_status status = reserve_tasks(table, targets->outputs);
    status = status == WEFT_OK ? WEFT_NEW(&split, targets->rows, WEFT_MEM_WORKSPACE) : status;
    if (status == WEFT_OK) {
        mark_chosen(targets, table, split);
    }
    WEFT_TRY_GOTO(comm_agree(comm, status), status, done);
    WEFT_TRY_GOTO(comm_allreduce(comm, table->positive, table->tasks, WEFT_DTYPE_I64, COMM_SUM), status, done);
    WEFT_TRY_GOTO(comm_allreduce(comm, table->negative, table->tasks, WEFT_DTYPE_I64, COMM_SUM), status, done);
    train_targets of_set = *targets;
    of_set.split_host = split;
    status = score_tasks(context, &of_set, view, table);
done:
    weft_free(split);
    return status;
}

static weft_status score_splits(const app_context *context, const train_targets *targets, const weft_tensor *view,
                                score_table *table)
{
    train_metrics metrics = {.comm = NULL};
    weft_status status = add_rows(context, targets, table->metric, view, &metrics);
    status = status == WEFT_OK ? metrics_end(&metrics, table->score) : status;
    if (status == WEFT_OK && !metrics.finite) {
        log_warn("outputs of the model are not finite: what is scored and predicted of such rows means nothing");
    }
    metrics_destroy(&metrics);
    return status;
}

weft_status score_table_make(const app_context *context, const train_targets *targets, train_metric metric,
                             score_split split, const index_threshold *threshold, const weft_tensor *view,
                             const float *logits, score_table *table)
{
    *table = (score_table){.metric = metric, .split = split, .labelled = targets->labelled};
    memcpy(table->counted, targets->counted, sizeof table->counted);
    if (!targets->labelled) {
        return WEFT_OK;
    }
    WEFT_TRY(score_splits(context, targets, view, table));
    WEFT_TRY(
        binary_indexes_make(context->comm, targets, logits, score_split_judged(split), threshold, &table->indexes));
    if (targets->loss == TRAIN_LOSS_VALUE) {
        return WEFT_OK;
    }
    return targets->loss == TRAIN_LOSS_XENT ? count_classes(context, targets, logits, table)
                                            : count_tasks(context, targets, view, table);
}

void score_table_destroy(score_table *table)
{
    subgroups_free(&table->by);
    WEFT_FREE_ALL(table->confusion, table->positive, table->negative, table->auc);
    *table = (score_table){.classes = 0};
}

/* ---- figures ---- */

static double ratio(double part, double whole)
{
    return whole > 0 ? part / whole : 0.0;
}

static void set_rates(score_figures *f)
{
    f->precision = ratio((double)f->hits, (double)f->predicted);
    f->recall = ratio((double)f->hits, (double)f->support);
    f->f1 = ratio(2.0 * (double)f->hits, (double)(f->predicted + f->support));
}

score_figures score_table_class(const score_table *t, int64_t class)
{
    score_figures f = {.hits = t->confusion[class * t->classes + class]};
    for (int64_t c = 0; c < t->classes; ++c) {
        f.support += t->confusion[class * t->classes + c];
        f.predicted += t->confusion[c * t->classes + class];
    }
    set_rates(&f);
    return f;
}

void score_table_averages(const score_table *t, score_figures *macro, score_figures *micro)
{
    int64_t present = 0;
    *macro = *micro = (score_figures){.support = 0};
    for (int64_t c = 0; c < t->classes; ++c) {
        score_figures f = score_table_class(t, c);
        micro->support += f.support;
        micro->predicted += f.predicted;
        micro->hits += f.hits;
        macro->precision += f.precision;
        macro->recall += f.recall;
        macro->f1 += f.f1;
        present += f.support + f.predicted > 0;
    }
    set_rates(micro);
    macro->support = micro->support;
    macro->precision = ratio(macro->precision, (double)present);
    macro->recall = ratio(macro->recall, (double)present);
    macro->f1 = ratio(macro->f1, (double)present);
}

double score_table_auc(const score_table *t)
{
    double sum = 0;
    int64_t count = 0;
    for (int64_t task = 0; task < t->tasks; ++task) {
        if (!isnan(t->auc[task])) {
            sum += t->auc[task];
            count += 1;
        }
    }
    return count > 0 ? sum / (double)count : NAN;
}
