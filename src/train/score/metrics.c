/* train/score/metrics.c: see train/score/metrics.h. */
#include "train/score/metrics.h"
#include "train/train_options.def"

#include <assert.h>
#include <math.h>
#include <string.h>

#include "train/score/area_over_ranks.h"
#include "train/score/rank_scores.h"
#include "train/score/ranking_scores.h"
#include "train/score/score_record.h"

/* With two classes the score is the difference of the logits; of more classes each is a task, whose score is the
 * logarithm of its probability. */
static int64_t task_count(const train_metrics *m)
{
    return m->desc.loss == TRAIN_LOSS_XENT && m->desc.outputs == 2 ? 1 : m->desc.outputs;
}

static weft_status rocauc_buffers(train_metrics *m)
{
    const int64_t rows = m->desc.rows;
    WEFT_TRY(WEFT_NEW(&m->record, rows, WEFT_MEM_WORKSPACE));
    WEFT_TRY(WEFT_NEW(&m->mark, rows * task_count(m), WEFT_MEM_WORKSPACE));
    return weft_malloc((size_t)(rows * m->desc.outputs), weft_dtype_bytes(m->desc.dtype), WEFT_MEM_WORKSPACE,
                       &m->logits);
}

static weft_status value_buffers(train_metrics *m)
{
    const int64_t rows = m->desc.rows;
    assert(m->desc.outputs == 1 && m->desc.dtype == WEFT_DTYPE_F32);
    WEFT_TRY(WEFT_NEW(&m->target, rows, WEFT_MEM_WORKSPACE));
    WEFT_TRY(WEFT_NEW(&m->mark, rows, WEFT_MEM_WORKSPACE));
    return weft_malloc((size_t)rows, sizeof(float), WEFT_MEM_WORKSPACE, &m->logits);
}

static bool counts_by_class(train_metric metric)
{
    return metric == TRAIN_METRIC_F1 || metric == TRAIN_METRIC_TOP5;
}

static bool ranks_positives(train_metric metric)
{
    return metric == TRAIN_METRIC_MRR || metric == TRAIN_METRIC_HITS;
}

weft_status metrics_create(weft_comm *comm, weft_hal *hal, const metrics_desc *desc, train_metrics *metrics)
{
    *metrics = (train_metrics){.comm = comm, .hal = hal, .desc = *desc};
    WEFT_TRY(tensor_create(hal, desc->dtype, 1, desc->outputs, WEFT_MEM_WORKSPACE, &metrics->sums));
    WEFT_TRY(
        weft_malloc((size_t)desc->outputs, weft_dtype_bytes(desc->dtype), WEFT_MEM_WORKSPACE, &metrics->sums_host));
    const bool classes = desc->loss == TRAIN_LOSS_XENT, numbers = metric_kind_of(desc->metric)->numbers;
    WEFT_CHECK(numbers == (desc->loss == TRAIN_LOSS_VALUE), WEFT_ERR_USAGE,
               FLAG_METRIC " %s: %s; " FLAG_METRIC " auto chooses one that suits them",
               metric_kind_of(desc->metric)->word,
               numbers ? "the targets are classes, and this is a score of numbers"
                       : "the targets are numbers, and this is a score of classes");
    if (numbers) {
        return value_buffers(metrics);
    }
    if (desc->metric == TRAIN_METRIC_ACCURACY) {
        WEFT_CHECK(classes, WEFT_ERR_USAGE,
                   FLAG_METRIC " acc needs classes; with " FLAG_LOSS " bce use " FLAG_METRIC " rocauc");
        return tensor_create(hal, WEFT_DTYPE_I64, TRAIN_SPLITS, 2, WEFT_MEM_WORKSPACE, &metrics->counts);
    }
    if (counts_by_class(desc->metric)) {
        WEFT_CHECK(classes, WEFT_ERR_USAGE,
                   FLAG_METRIC " %s needs classes; with " FLAG_LOSS " bce use " FLAG_METRIC " rocauc",
                   metric_kind_of(desc->metric)->word);
        return class_scores_create(desc->metric, desc->outputs, &metrics->by_class);
    }
    WEFT_CHECK(!ranks_positives(desc->metric) || (!classes && desc->outputs == 1 && desc->dtype == WEFT_DTYPE_F32),
               WEFT_ERR_USAGE,
               FLAG_METRIC
               " %s ranks positives among negatives, and needs targets of one task, such as links: take " FLAG_METRIC
               " auto",
               metric_kind_of(desc->metric)->word);
    return rocauc_buffers(metrics);
}

void metrics_destroy(train_metrics *metrics)
{
    TENSOR_DESTROY_ALL(&metrics->counts, &metrics->sums);
    class_scores_destroy(&metrics->by_class);
    WEFT_FREE_ALL(metrics->sums_host, metrics->record, metrics->logits, metrics->target, metrics->mark);
    memset(metrics, 0, sizeof *metrics);
}

static double logit_at(const train_metrics *m, int64_t i)
{
    return m->desc.dtype == WEFT_DTYPE_F64 ? ((const double *)m->logits)[i] : (double)((const float *)m->logits)[i];
}

/* ---- a batch ---- */

/* Unlabelled rows join no split. */
static uint8_t mark_of(const train_targets *t, int64_t row, int64_t task)
{
    uint8_t split = t->split_host[row] < TRAIN_SPLITS ? t->split_host[row] : TRAIN_SPLITS;
    bool positive;
    if (t->loss == TRAIN_LOSS_XENT) {
        positive = t->outputs == 2 ? (t->label_host[row] & 1) != 0 : t->label_host[row] == task;
        split = t->label_host[row] < 0 ? TRAIN_SPLITS : split;
    } else {
        float target = t->target_host[row * t->outputs + task];
        positive = target > 0.5f;
        split = isnan(target) ? TRAIN_SPLITS : split;
    }
    return (uint8_t)(positive | split << 1);
}

/* Logits of a row become logarithms of probabilities: differences from the logarithm of the sum of their powers. */
static void normalise_row(const train_metrics *m, int64_t row)
{
    const int64_t first = row * m->desc.outputs;
    double highest = logit_at(m, first), sum = 0.0;
    for (int64_t c = 1; c < m->desc.outputs; ++c) {
        highest = fmax(highest, logit_at(m, first + c));
    }
    for (int64_t c = 0; c < m->desc.outputs; ++c) {
        sum += exp(logit_at(m, first + c) - highest);
    }
    for (int64_t c = 0; c < m->desc.outputs; ++c) {
        const double value = logit_at(m, first + c) - highest - log(sum);
        if (m->desc.dtype == WEFT_DTYPE_F64) {
            ((double *)m->logits)[first + c] = value;
        } else {
            ((float *)m->logits)[first + c] = (float)value;
        }
    }
}

/* Counts need a batch's logits for a moment; the largest batch sets the room. */
static weft_status count_classes(train_metrics *m, const weft_tensor *logits, const train_targets *targets)
{
    if (targets->rows > m->room) {
        weft_free(m->logits);
        m->logits = NULL;
        WEFT_TRY(weft_malloc((size_t)(targets->rows * m->desc.outputs), weft_dtype_bytes(m->desc.dtype),
                             WEFT_MEM_WORKSPACE, &m->logits));
        m->room = targets->rows;
    }
    WEFT_TRY(tensor_download(logits, m->logits));
    class_scores_add(&m->by_class, m->desc.dtype, m->logits, targets);
    return WEFT_OK;
}

static weft_status keep_logits(train_metrics *m, const weft_tensor *logits, const train_targets *targets)
{
    WEFT_CHECK(m->desc.metric != TRAIN_METRIC_HITS || targets->hits_at > 0, WEFT_ERR_USAGE,
               FLAG_METRIC " hits is a score of links: take " FLAG_METRIC " rocauc or mrr");
    m->group = targets->group;
    m->hits_at = targets->hits_at;
    int64_t tasks = task_count(m);
    size_t before = (size_t)(m->added * m->desc.outputs) * weft_dtype_bytes(m->desc.dtype);
    WEFT_TRY(tensor_download(logits, (unsigned char *)m->logits + before));
    for (int64_t i = 0; i < targets->rows; ++i) {
        for (int64_t task = 0; task < tasks; ++task) {
            m->mark[(m->added + i) * tasks + task] = mark_of(targets, i, task);
        }
        if (m->desc.loss == TRAIN_LOSS_XENT && tasks > 1) {
            normalise_row(m, m->added + i);
        }
    }
    return WEFT_OK;
}

static weft_status keep_values(train_metrics *m, const weft_tensor *answers, const train_targets *targets)
{
    m->quantile = targets->quantile;
    m->group = targets->group;
    m->ndcg_at = targets->ndcg_at;
    for (int64_t i = 0; i < targets->rows; ++i) {
        m->target[m->added + i] = targets->target_host[i];
        m->mark[m->added + i] = targets->split_host[i];
    }
    return tensor_download(answers, (float *)m->logits + m->added);
}

static weft_status count_right(train_metrics *m, const weft_tensor *logits, const train_targets *targets)
{
    for (int s = 0; s < TRAIN_SPLITS; ++s) {
        weft_tensor of_split = tensor_view(&m->counts, s, 1, 0, 2);
        WEFT_TRY(tensor_accuracy(logits, targets->label, targets->mask[s], &of_split));
    }
    return WEFT_OK;
}

weft_status metrics_begin(train_metrics *m)
{
    m->added = 0;
    WEFT_TRY(tensor_zero(&m->sums));
    if (m->by_class.count != NULL) {
        class_scores_begin(&m->by_class);
    }
    return m->desc.metric == TRAIN_METRIC_ACCURACY ? tensor_zero(&m->counts) : WEFT_OK;
}

weft_status metrics_add(train_metrics *m, const weft_tensor *logits, const train_targets *targets)
{
    assert(targets->loss == m->desc.loss && targets->outputs == m->desc.outputs);
    WEFT_CHECK(m->added + targets->rows <= m->desc.rows, WEFT_ERR_INTERNAL,
               "an evaluation of %lld rows and %lld more; it was to have %lld", (long long)m->added,
               (long long)targets->rows, (long long)m->desc.rows);
    WEFT_TRY(m->desc.metric == TRAIN_METRIC_ACCURACY   ? count_right(m, logits, targets)
             : counts_by_class(m->desc.metric)         ? count_classes(m, logits, targets)
             : metric_kind_of(m->desc.metric)->numbers ? keep_values(m, logits, targets)
                                                       : keep_logits(m, logits, targets));
    m->added += targets->rows;
    return tensor_col_sum(logits, 1.0, &m->sums);
}

/* ---- scores ---- */

/* Records of one task; rows that were promised and have not come join no split. */
static void fill_records(const train_metrics *m, int64_t task)
{
    int64_t tasks = task_count(m);
    for (int64_t i = 0; i < m->desc.rows; ++i) {
        uint64_t mark = TRAIN_SPLITS << 1;
        float score = 0;
        if (i < m->added) {
            mark = m->mark[i * tasks + task];
            score = (float)(m->desc.loss == TRAIN_LOSS_XENT && tasks == 1 ? logit_at(m, 2 * i + 1) - logit_at(m, 2 * i)
                                                                          : logit_at(m, i * tasks + task));
        }
        m->record[i] = score_record(score, 0) | mark;
    }
}

_Static_assert(AREA_SPLITS == (int)TRAIN_SPLITS, "records hold splits as targets do");

weft_status metrics_end_task(train_metrics *m, int64_t task, double *score)
{
    fill_records(m, task);
    return area_over_ranks(m->comm, m->record, m->desc.rows, score);
}

static weft_status end_rocauc(train_metrics *m, double *score)
{
    int64_t tasks = task_count(m);
    int64_t valid_tasks[TRAIN_SPLITS] = {0};
    double sum[TRAIN_SPLITS] = {0};
    for (int64_t task = 0; task < tasks; ++task) {
        double auc[TRAIN_SPLITS];
        WEFT_TRY(metrics_end_task(m, task, auc));
        for (int s = 0; s < TRAIN_SPLITS; ++s) {
            sum[s] += isnan(auc[s]) ? 0.0 : auc[s];
            valid_tasks[s] += !isnan(auc[s]);
        }
    }
    for (int s = 0; s < TRAIN_SPLITS; ++s) {
        score[s] = valid_tasks[s] > 0 ? sum[s] / (double)valid_tasks[s] : NAN;
    }
    return WEFT_OK;
}

static weft_status end_accuracy(train_metrics *m, double *score)
{
    int64_t counts[TRAIN_SPLITS][2];
    WEFT_TRY(tensor_download(&m->counts, counts));
    WEFT_TRY(comm_allreduce(m->comm, counts, 2 * TRAIN_SPLITS, WEFT_DTYPE_I64, COMM_SUM));
    for (int s = 0; s < TRAIN_SPLITS; ++s) {
        score[s] = counts[s][1] > 0 ? (double)counts[s][0] / (double)counts[s][1] : NAN;
    }
    return WEFT_OK;
}

static weft_status look_at_sums(train_metrics *m)
{
    double infinite = 0.0;
    WEFT_TRY(tensor_download(&m->sums, m->sums_host));
    for (int64_t c = 0; c < m->desc.outputs; ++c) {
        const double sum = m->desc.dtype == WEFT_DTYPE_F64 ? ((const double *)m->sums_host)[c]
                                                           : (double)((const float *)m->sums_host)[c];
        infinite += isfinite(sum) ? 0.0 : 1.0;
    }
    WEFT_TRY(comm_allreduce(m->comm, &infinite, 1, WEFT_DTYPE_F64, COMM_SUM));
    m->finite = infinite == 0.0;
    return WEFT_OK;
}

weft_status metrics_end(train_metrics *m, double *score)
{
    WEFT_TRY(look_at_sums(m));
    if (metric_kind_of(m->desc.metric)->numbers) {
        const value_rows rows = {m->added, m->logits, m->target, m->mark};
        if (m->desc.metric == TRAIN_METRIC_NDCG) {
            return m->group != NULL || m->added == 0 ? ndcg_scores(m->comm, m->ndcg_at, &rows, m->group, score)
                                                     : weft_fail(WEFT_ERR_INTERNAL, "NDCG without groups");
        }
        return value_scores(m->comm, m->desc.metric, m->quantile, &rows, score);
    }
    if (counts_by_class(m->desc.metric)) {
        return class_scores_end(&m->by_class, m->comm, score);
    }
    if (ranks_positives(m->desc.metric)) {
        const ranked_answers rows = {.rows = m->added,
                                     .score = m->logits,
                                     .mark = m->mark,
                                     .group = m->group,
                                     .hits_at = m->desc.metric == TRAIN_METRIC_HITS ? m->hits_at : 0};
        return rank_scores(m->comm, &rows, score);
    }
    return m->desc.metric == TRAIN_METRIC_ROCAUC ? end_rocauc(m, score) : end_accuracy(m, score);
}
