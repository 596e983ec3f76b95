/* train/indexes/binary_indexes.c: see train/indexes/binary_indexes.h. */
#include "train/indexes/binary_indexes.h"

#include <assert.h>

#include "base/alloc.h"
#include "train/metrics.h"

bool binary_targets(const train_targets *targets)
{
    return targets->labelled && ((targets->loss == TRAIN_LOSS_XENT && targets->outputs == 2) ||
                                 (targets->loss == TRAIN_LOSS_BCE && targets->outputs == 1));
}

/* ---- records ----------------------------------------------------------------------------------------------------- */

/* A record of train/metrics.h with the row's split, TRAIN_SPLITS of rows without one, in the bits above the label. */
typedef struct index_records {
    uint64_t *mine, *all, *spare; /* all [count] and spare [2 count]: on rank 0 */
    int64_t *bytes;               /* [P] */
    int64_t own, count;
    bool finite;
} index_records;

static float score_of(const train_targets *t, const float *logits, int64_t row)
{
    const float *answer = logits + row * t->outputs;
    return (t->loss == TRAIN_LOSS_XENT ? (float)((double)answer[1] - (double)answer[0]) : answer[0]) + 0.0F;
}

/* -1: the row has no label. */
static int label_of(const train_targets *t, int64_t row)
{
    if (t->loss == TRAIN_LOSS_XENT) {
        return t->label_host[row];
    }
    return isnan(t->target_host[row]) ? -1 : t->target_host[row] > 0.5F;
}

static void fill_records(const train_targets *t, const float *logits, index_records *r)
{
    r->finite = true;
    for (int64_t i = 0; i < t->rows; ++i) {
        const int label = label_of(t, i);
        const uint64_t split = t->split_host[i] < TRAIN_SPLITS ? t->split_host[i] : TRAIN_SPLITS;
        if (label >= 0) {
            const float score = score_of(t, logits, i);
            r->finite = r->finite && isfinite(score);
            r->mine[r->own++] = metrics_record(score, label) | split << 1;
        }
    }
}

/* Free with free_records, also after a failure. Collective. */
static weft_status gather_records(weft_comm *comm, const train_targets *t, const float *logits, index_records *r)
{
    const int ranks = comm_size(comm);
    int64_t infinite;
    weft_status local = WEFT_NEW(&r->mine, t->rows, WEFT_MEM_WORKSPACE);
    local = local == WEFT_OK ? WEFT_NEW(&r->bytes, ranks, WEFT_MEM_WORKSPACE) : local;
    WEFT_TRY(comm_agree(comm, local));
    fill_records(t, logits, r);
    infinite = !r->finite;
    WEFT_TRY(comm_allreduce(comm, &infinite, 1, WEFT_DTYPE_I64, COMM_SUM));
    r->finite = infinite == 0;
    const int64_t bytes = r->own * (int64_t)sizeof *r->mine;
    WEFT_TRY(comm_allgather(comm, &bytes, sizeof bytes, r->bytes));
    for (int i = 0; i < ranks; ++i) {
        r->count += r->bytes[i] / (int64_t)sizeof *r->mine;
    }
    if (comm_rank(comm) == 0) {
        local = WEFT_NEW(&r->all, r->count, WEFT_MEM_WORKSPACE);
        local = local == WEFT_OK ? WEFT_NEW(&r->spare, 2 * r->count, WEFT_MEM_WORKSPACE) : local;
    }
    WEFT_TRY(comm_agree(comm, local));
    return comm_gatherv(comm, 0, r->mine, bytes, r->all, r->bytes);
}

static void free_records(index_records *r)
{
    WEFT_FREE_ALL(r->mine, r->all, r->spare, r->bytes);
}

/* The levels of a split, or of all rows. */
static weft_status levels_of(const index_records *r, int split, score_levels *levels)
{
    int64_t count = 0;
    for (int64_t i = 0; i < r->count; ++i) {
        if (split == INDEX_ALL_ROWS || (int)(r->all[i] >> 1 & 3) == split) {
            r->spare[count++] = r->all[i] & ~(uint64_t)6;
        }
    }
    return score_levels_make(r->spare, r->spare + r->count, count, levels);
}

/* ---- the threshold ----------------------------------------------------------------------------------------------- */

static weft_status try_split(const index_records *r, int split, threshold_source source, index_threshold *threshold)
{
    score_levels levels;
    const weft_status status = levels_of(r, split, &levels);
    if (status == WEFT_OK && levels.positives > 0 && levels.negatives > 0) {
        const double value = youden_threshold(&levels, &threshold->youden);
        threshold->value = isnan(value) ? 0.5 : value;
        threshold->source = isnan(value) ? THRESHOLD_HALF : source;
    }
    score_levels_free(&levels);
    return status;
}

static weft_status choose_threshold(const index_records *r, int judged, index_threshold *threshold)
{
    static const threshold_source source[] = {THRESHOLD_TRAIN, THRESHOLD_VALID};
    *threshold = (index_threshold){0.5, THRESHOLD_HALF, NAN};
    for (int split = 1; split >= 0 && threshold->source == THRESHOLD_HALF; --split) {
        if (judged != split && judged != INDEX_ALL_ROWS) {
            WEFT_TRY(try_split(r, split, source[split], threshold));
        }
    }
    return WEFT_OK;
}

/* ---- the indexes ------------------------------------------------------------------------------------------------- */

static void add_note(binary_indexes *indexes, bool holds, const char *text)
{
    if (holds) {
        assert(indexes->notes < INDEX_NOTES);
        indexes->note[indexes->notes++] = text;
    }
}

static void note_limits(const score_levels *levels, binary_indexes *x)
{
    const bool both = levels->positives > 0 && levels->negatives > 0;
    const bool few = levels->positives < 2 || levels->negatives < 2;
    add_note(x, x->rows == 0, "no row is judged");
    add_note(x, x->rows > 0 && !both, "all rows are of one class: AUC, calibration and Youden's index need both");
    add_note(x, both && few, "fewer than two rows of a class: AUC has no interval");
    add_note(x, both && !few && x->area_se == 0.0,
             "the interval of AUC has no width: a score parts the classes, or there is one score alone");
    add_note(x, both && isnan(x->calibration.slope.value),
             "slope and intercept of the calibration have no finite fit: a score parts the classes, or there is one "
             "score alone");
}

static void measure(const score_levels *levels, binary_indexes *x)
{
    const index_confusion c = confusion_at(levels, x->threshold.value);
    x->rows = levels->positives + levels->negatives;
    x->positives = levels->positives;
    x->confusion = c;
    x->area = roc_area(levels, &x->area_se);
    x->sensitivity = wilson_share(c.true_positives, levels->positives);
    x->specificity = wilson_share(c.true_negatives, levels->negatives);
    x->accuracy = wilson_share(c.true_positives + c.true_negatives, x->rows);
    x->precision = wilson_share(c.true_positives, c.true_positives + c.false_positives);
    x->negative_value = wilson_share(c.true_negatives, c.true_negatives + c.false_negatives);
    x->f1 = f1_of(&c);
    calibration_of(levels, &x->calibration);
    roc_curve_of(levels, &x->roc);
    x->average_precision = precision_curve_of(levels, &x->precision_recall);
    note_limits(levels, x);
}

static weft_status judge(const index_records *r, int judged, binary_indexes *x)
{
    score_levels levels;
    x->finite = r->finite;
    if (!r->finite) {
        add_note(x, true, "answers are not finite: nothing is judged");
        return WEFT_OK;
    }
    WEFT_TRY(isnan(x->threshold.value) ? choose_threshold(r, judged, &x->threshold) : WEFT_OK);
    const weft_status status = levels_of(r, judged, &levels);
    if (status == WEFT_OK) {
        measure(&levels, x);
        add_note(x, x->threshold.source == THRESHOLD_HALF,
                 "the threshold is 0.5: no other rows with both classes show a better one");
    }
    score_levels_free(&levels);
    return status;
}

weft_status binary_indexes_make(weft_comm *comm, const train_targets *targets, const float *logits, int judged,
                                const index_threshold *threshold, binary_indexes *indexes)
{
    index_records records = {.own = 0};
    *indexes = (binary_indexes){.made = binary_targets(targets)};
    if (!indexes->made) {
        return WEFT_OK;
    }
    indexes->threshold = *threshold;
    weft_status status = gather_records(comm, targets, logits, &records);
    if (status == WEFT_OK) {
        status = comm_agree(comm, comm_rank(comm) == 0 ? judge(&records, judged, indexes) : WEFT_OK);
    }
    free_records(&records);
    return status;
}
