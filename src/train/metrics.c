/* train/metrics.c: see train/metrics.h. */
#include "train/metrics.h"

#include <math.h>
#include <string.h>

enum { RADIX_BITS = 11, RADIX_SIZE = 1 << RADIX_BITS };

/* The low word carries the label in bit 0 and, while gathering, the split in bits 1 and 2. */
uint64_t metrics_record(float score, int label)
{
    uint32_t bits;
    memcpy(&bits, &score, sizeof bits);
    bits = (bits & 0x80000000u) != 0 ? ~bits : bits | 0x80000000u;
    return ((uint64_t)bits << 32) | (uint64_t)(label & 1);
}

static void radix_pass(const uint64_t *from, uint64_t *to, int64_t count, int shift)
{
    int64_t place[RADIX_SIZE] = {0};
    for (int64_t i = 0; i < count; ++i) {
        place[(from[i] >> shift) & (RADIX_SIZE - 1)] += 1;
    }
    int64_t sum = 0;
    for (int b = 0; b < RADIX_SIZE; ++b) {
        int64_t here = place[b];
        place[b] = sum;
        sum += here;
    }
    for (int64_t i = 0; i < count; ++i) {
        to[place[(from[i] >> shift) & (RADIX_SIZE - 1)]++] = from[i];
    }
}

double metrics_rocauc(uint64_t *records, uint64_t *spare, int64_t count)
{
    radix_pass(records, spare, count, 32);
    radix_pass(spare, records, count, 32 + RADIX_BITS);
    radix_pass(records, spare, count, 32 + 2 * RADIX_BITS);
    double positives = 0;
    double rank_sum = 0; /* of the positives, ranks from 1, ties share their mean rank */
    int64_t i = 0;
    while (i < count) {
        int64_t j = i;
        double tied = 0;
        while (j < count && spare[j] >> 32 == spare[i] >> 32) {
            tied += (double)(spare[j] & 1);
            j += 1;
        }
        rank_sum += tied * (0.5 * (double)(i + 1 + j));
        positives += tied;
        i = j;
    }
    double negatives = (double)count - positives;
    if (positives == 0 || negatives == 0) {
        return NAN;
    }
    return (rank_sum - positives * (positives + 1) / 2) / (positives * negatives);
}

static weft_status rocauc_buffers(train_metrics *m)
{
    int ranks = comm_size(m->comm);
    int64_t bytes = m->targets->rows * 8;
    WEFT_TRY(WEFT_NEW_ZERO(&m->gather_bytes, ranks, WEFT_MEM_WORKSPACE));
    m->gather_bytes[comm_rank(m->comm)] = bytes;
    WEFT_TRY(comm_allreduce(m->comm, m->gather_bytes, ranks, WEFT_DTYPE_I64, COMM_SUM));
    for (int r = 0; r < ranks; ++r) {
        m->all_rows += m->gather_bytes[r] / 8;
    }
    WEFT_TRY(WEFT_NEW(&m->local, m->targets->rows, WEFT_MEM_WORKSPACE));
    if (comm_rank(m->comm) == 0) {
        WEFT_TRY(WEFT_NEW(&m->all, m->all_rows, WEFT_MEM_WORKSPACE));
        WEFT_TRY(WEFT_NEW(&m->spare, 2 * m->all_rows, WEFT_MEM_WORKSPACE)); /* compacted split + sorting space */
    }
    return weft_malloc((size_t)(m->targets->rows * m->targets->outputs), weft_dtype_bytes(m->dtype), WEFT_MEM_WORKSPACE,
                       &m->logits);
}

weft_status metrics_create(weft_comm *comm, weft_hal *hal, weft_dtype dtype, const train_targets *targets,
                           train_metric metric, train_metrics *metrics)
{
    *metrics = (train_metrics){.comm = comm, .hal = hal, .targets = targets, .metric = metric, .dtype = dtype};
    bool classes = targets->loss == TRAIN_LOSS_XENT;
    if (metric == TRAIN_METRIC_ACCURACY) {
        WEFT_CHECK(classes, WEFT_ERR_USAGE, "--metric acc needs classes; with --loss bce use --metric rocauc");
        return tensor_create(hal, WEFT_DTYPE_I64, TRAIN_SPLITS, 2, WEFT_MEM_WORKSPACE, &metrics->counts);
    }
    WEFT_CHECK(!classes || targets->outputs == 2, WEFT_ERR_USAGE,
               "--metric rocauc needs two classes or binary tasks; these labels have %lld classes: use --metric acc",
               (long long)targets->outputs);
    return rocauc_buffers(metrics);
}

void metrics_destroy(train_metrics *metrics)
{
    tensor_destroy(&metrics->counts);
    weft_free(metrics->gather_bytes);
    weft_free(metrics->local);
    weft_free(metrics->all);
    weft_free(metrics->spare);
    weft_free(metrics->logits);
    memset(metrics, 0, sizeof *metrics);
}

static double logit_at(const train_metrics *m, int64_t i)
{
    return m->dtype == WEFT_DTYPE_F64 ? ((const double *)m->logits)[i] : (double)((const float *)m->logits)[i];
}

/* Records of one task: with two classes the score is the difference of the logits. Unlabelled rows join no split. */
static void fill_records(const train_metrics *m, int64_t task)
{
    const train_targets *t = m->targets;
    for (int64_t i = 0; i < t->rows; ++i) {
        double score;
        int label;
        uint64_t split = t->split_host[i] < TRAIN_SPLITS ? t->split_host[i] : TRAIN_SPLITS;
        if (t->loss == TRAIN_LOSS_XENT) {
            score = logit_at(m, 2 * i + 1) - logit_at(m, 2 * i);
            label = t->label_host[i];
            split = label < 0 ? TRAIN_SPLITS : split;
        } else {
            float target = t->target_host[i * t->outputs + task];
            score = logit_at(m, i * t->outputs + task);
            label = target > 0.5f;
            split = isnan(target) ? TRAIN_SPLITS : split;
        }
        m->local[i] = metrics_record((float)score, label) | split << 1;
    }
}

static double split_auc(train_metrics *m, uint64_t split)
{
    int64_t count = 0;
    for (int64_t i = 0; i < m->all_rows; ++i) {
        if (((m->all[i] >> 1) & 3) == split) {
            m->spare[count++] = m->all[i] & ~(uint64_t)6;
        }
    }
    return metrics_rocauc(m->spare, m->spare + m->all_rows, count);
}

/* Scores of one task on rank 0, from logits in m->logits. */
static weft_status task_rocauc(train_metrics *m, int64_t task, double *score)
{
    fill_records(m, task);
    WEFT_TRY(comm_gatherv(m->comm, 0, m->local, m->targets->rows * 8, m->all, m->gather_bytes));
    for (int s = 0; s < TRAIN_SPLITS; ++s) {
        score[s] = comm_rank(m->comm) == 0 ? split_auc(m, (uint64_t)s) : NAN;
    }
    return WEFT_OK;
}

weft_status metrics_score_task(train_metrics *m, const weft_tensor *logits, int64_t task, double *score)
{
    WEFT_TRY(tensor_download(logits, m->logits));
    WEFT_TRY(task_rocauc(m, task, score));
    return comm_bcast(m->comm, 0, score, TRAIN_SPLITS * (int64_t)sizeof *score);
}

static weft_status score_rocauc(train_metrics *m, const weft_tensor *logits, double *score)
{
    WEFT_TRY(tensor_download(logits, m->logits));
    int64_t tasks = m->targets->loss == TRAIN_LOSS_XENT ? 1 : m->targets->outputs;
    int64_t valid_tasks[TRAIN_SPLITS] = {0};
    double sum[TRAIN_SPLITS] = {0};
    for (int64_t task = 0; task < tasks; ++task) {
        double auc[TRAIN_SPLITS];
        WEFT_TRY(task_rocauc(m, task, auc));
        for (int s = 0; s < TRAIN_SPLITS; ++s) {
            sum[s] += isnan(auc[s]) ? 0.0 : auc[s];
            valid_tasks[s] += !isnan(auc[s]);
        }
    }
    for (int s = 0; s < TRAIN_SPLITS; ++s) {
        score[s] = valid_tasks[s] > 0 ? sum[s] / (double)valid_tasks[s] : NAN;
    }
    return comm_bcast(m->comm, 0, score, TRAIN_SPLITS * (int64_t)sizeof *score);
}

static weft_status score_accuracy(train_metrics *m, const weft_tensor *logits, double *score)
{
    const train_targets *t = m->targets;
    int64_t counts[TRAIN_SPLITS][2];
    WEFT_TRY(tensor_zero(&m->counts));
    for (int s = 0; s < TRAIN_SPLITS; ++s) {
        weft_tensor of_split = tensor_view(&m->counts, s, 1, 0, 2);
        WEFT_TRY(tensor_accuracy(logits, t->label, t->mask[s], &of_split));
    }
    WEFT_TRY(tensor_download(&m->counts, counts));
    WEFT_TRY(comm_allreduce(m->comm, counts, 2 * TRAIN_SPLITS, WEFT_DTYPE_I64, COMM_SUM));
    for (int s = 0; s < TRAIN_SPLITS; ++s) {
        score[s] = counts[s][1] > 0 ? (double)counts[s][0] / (double)counts[s][1] : NAN;
    }
    return WEFT_OK;
}

weft_status metrics_score(train_metrics *metrics, const weft_tensor *logits, double *score)
{
    if (metrics->metric == TRAIN_METRIC_ROCAUC) {
        return score_rocauc(metrics, logits, score);
    }
    return score_accuracy(metrics, logits, score);
}
