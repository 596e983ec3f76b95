/* train/indexes/binary_indexes.c: see train/indexes/binary_indexes.h. */
#include "train/indexes/binary_indexes.h"

#include <assert.h>

/* ---- the threshold ----------------------------------------------------------------------------------------------- */

/* [out] splits: that whose rows choose a threshold for `judged`, as bits; 0: there is none with both classes.
 * Collective. */
static weft_status find_choosing(weft_comm *comm, const train_targets *t, int judged, unsigned *splits)
{
    int64_t rows[TRAIN_SPLITS][2] = {{0}};
    for (int64_t i = 0; i < t->rows; ++i) {
        const int label = binary_label(t, i);
        if (label >= 0 && t->split_host[i] < TRAIN_SPLITS) {
            rows[t->split_host[i]][label] += 1;
        }
    }
    WEFT_TRY(comm_allreduce(comm, rows, TRAIN_SPLITS * 2, WEFT_DTYPE_I64, COMM_SUM));
    *splits = 0;
    for (int split = 1; split >= 0 && *splits == 0 && judged != INDEX_ALL_ROWS; --split) {
        *splits = split != judged && rows[split][0] > 0 && rows[split][1] > 0 ? index_splits(split) : 0;
    }
    return WEFT_OK;
}

static weft_status try_split(const index_records *r, int split, threshold_source source, index_threshold *threshold)
{
    score_levels levels;
    const weft_status status = index_records_levels(r, split, NULL, 0, &levels);
    if (status == WEFT_OK && levels.positives > 0 && levels.negatives > 0) { /* its rows were gathered */
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
    add_note(x, both && !few && (levels->positives < INDEX_FEW || levels->negatives < INDEX_FEW),
             "fewer than 10 rows of a class: intervals of AUC and of the calibration are no more than a hint");
    add_note(x, both && few, "fewer than two rows of a class: AUC has no interval");
    add_note(x, both && !few && x->area_se == 0.0,
             "the interval of AUC has no width: a score parts the classes, or there is one score alone");
    add_note(x, both && isnan(x->calibration.slope.value),
             "slope and intercept of the calibration have no finite fit: a score parts the classes, or there is one "
             "score alone");
}

void binary_indexes_of(const score_levels *levels, const index_threshold *threshold, binary_indexes *x)
{
    const index_confusion c = confusion_at(levels, threshold->value);
    *x = (binary_indexes){.made = true, .finite = true, .threshold = *threshold};
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

static weft_status judge(const index_records *r, int judged, const index_threshold *given, binary_indexes *x)
{
    score_levels levels;
    index_threshold threshold = *given;
    if (!r->finite) {
        add_note(x, true, "answers are not finite: nothing is judged");
        return WEFT_OK;
    }
    WEFT_TRY(isnan(threshold.value) ? choose_threshold(r, judged, &threshold) : WEFT_OK);
    const weft_status status = index_records_levels(r, judged, NULL, 0, &levels);
    if (status == WEFT_OK) {
        binary_indexes_of(&levels, &threshold, x);
        add_note(x, threshold.source == THRESHOLD_HALF,
                 "the threshold is 0.5: no other rows with both classes show a better one");
    }
    score_levels_free(&levels);
    return status;
}

weft_status binary_indexes_make(weft_comm *comm, const train_targets *targets, const float *logits, int judged,
                                const index_threshold *threshold, binary_indexes *indexes)
{
    index_records records;
    *indexes = (binary_indexes){.made = binary_targets(targets)};
    if (!indexes->made) {
        return WEFT_OK;
    }
    unsigned choosing = 0;
    WEFT_TRY(find_choosing(comm, targets, judged, &choosing));
    weft_status status =
        index_records_gather(comm, targets, logits, index_splits(judged) | choosing, false, NULL, &records);
    if (status == WEFT_OK) {
        status = comm_agree(comm, comm_rank(comm) == 0 ? judge(&records, judged, threshold, indexes) : WEFT_OK);
    }
    index_records_free(&records);
    return status;
}
