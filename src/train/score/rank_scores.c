/* train/score/rank_scores.c: see train/score/rank_scores.h. */
#include "train/score/rank_scores.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>

#include "base/alloc.h"
#include "base/integer/search.h"
#include "train/model.h"

/* What positives of a split add up to, over this rank and then over all. */
typedef struct rank_sums {
    double value, positives, negatives;
} rank_sums;

static int split_of(const ranked_answers *a, int64_t row)
{
    return a->mark[row] >> 1;
}

static bool is_positive(const ranked_answers *a, int64_t row)
{
    return (a->mark[row] & 1) != 0;
}

/* What a positive is worth that has so many negatives above it, and so many of its score. */
static double worth(const ranked_answers *a, double above, double equal)
{
    const double rank = 1.0 + above + 0.5 * equal;
    return a->hits_at > 0 ? (rank <= (double)a->hits_at ? 1.0 : 0.0) : 1.0 / rank;
}

/* ---- groups ---- */

/* Rows [begin, end) are one group of one split. */
static void judge_group(const ranked_answers *a, int64_t begin, int64_t end, rank_sums *sums)
{
    for (int64_t p = begin; p < end; ++p) {
        double above = 0.0, equal = 0.0;
        if (!is_positive(a, p)) {
            sums->negatives += 1.0;
            continue;
        }
        for (int64_t i = begin; i < end; ++i) {
            above += !is_positive(a, i) && a->score[i] > a->score[p] ? 1.0 : 0.0;
            equal += !is_positive(a, i) && a->score[i] == a->score[p] ? 1.0 : 0.0;
        }
        sums->value += worth(a, above, equal);
        sums->positives += 1.0;
    }
}

static void judge_groups(const ranked_answers *a, rank_sums *sums)
{
    for (int64_t begin = 0, end; a->group != NULL && begin < a->rows; begin = end) {
        for (end = begin + 1;
             end < a->rows && a->group[end] == a->group[begin] && split_of(a, end) == split_of(a, begin);) {
            ++end;
        }
        if (split_of(a, begin) < TRAIN_SPLITS) {
            judge_group(a, begin, end, &sums[split_of(a, begin)]);
        }
    }
}

/* ---- negatives that all positives of a split share ---- */

static int by_score(const void *a, const void *b)
{
    const float x = *(const float *)a, y = *(const float *)b;
    return (x > y) - (x < y);
}

/* negative: [count] ascending. The K-th best one must stand below a hit. */
static double worth_among(const ranked_answers *a, float score, const float *negative, int64_t count)
{
    int64_t below = 0;
    SEARCH_FIRST(below, count, negative[at] < score);
    int64_t not_above = below;
    SEARCH_FIRST(not_above, count, negative[at] <= score);
    if (a->hits_at > 0) {
        return count < a->hits_at || score > negative[count - a->hits_at] ? 1.0 : 0.0;
    }
    return worth(a, (double)(count - not_above), (double)(not_above - below));
}

/* This rank's negatives of a split in `mine` [rows]; returns how many. */
static int64_t collect(const ranked_answers *a, int split, float *mine)
{
    int64_t count = 0;
    for (int64_t i = 0; i < a->rows; ++i) {
        if (split_of(a, i) == split && !is_positive(a, i)) {
            mine[count++] = a->score[i];
        }
    }
    return count;
}

static weft_status judge_split(weft_comm *comm, const ranked_answers *a, int split, float *mine, rank_sums *sums)
{
    float *all = NULL;
    size_t *bytes = NULL;
    const size_t own = (size_t)collect(a, split, mine) * sizeof *mine;
    int64_t count = 0;
    weft_status status = comm_allgather_bytes(comm, mine, own, (void **)&all, &bytes);
    for (int r = 0; r < comm_size(comm) && status == WEFT_OK; ++r) {
        count += (int64_t)(bytes[r] / sizeof *all);
    }
    if (status == WEFT_OK && count > 0) {
        qsort(all, (size_t)count, sizeof *all, by_score);
    }
    for (int64_t i = 0; i < a->rows && status == WEFT_OK; ++i) {
        if (split_of(a, i) == split && is_positive(a, i)) {
            sums->value += worth_among(a, a->score[i], all, count);
            sums->positives += 1.0;
        }
    }
    sums->negatives = (double)own / sizeof *mine;
    WEFT_FREE_ALL(all, bytes);
    return status;
}

static weft_status judge_splits(weft_comm *comm, const ranked_answers *a, rank_sums *sums)
{
    float *mine = NULL;
    WEFT_TRY(comm_agree(comm, WEFT_NEW(&mine, a->rows, WEFT_MEM_WORKSPACE)));
    weft_status status = WEFT_OK;
    for (int s = 0; s < TRAIN_SPLITS && status == WEFT_OK; ++s) {
        status = judge_split(comm, a, s, mine, &sums[s]);
    }
    weft_free(mine);
    return status;
}

weft_status rank_scores(weft_comm *comm, const ranked_answers *rows, double *score)
{
    rank_sums sums[TRAIN_SPLITS] = {{0.0, 0.0, 0.0}};
    int32_t grouped = rows->group != NULL;
    WEFT_TRY(comm_allreduce(comm, &grouped, 1, WEFT_DTYPE_I32, COMM_MAX)); /* a rank without rows does not know */
    if (grouped != 0) {
        judge_groups(rows, sums);
    } else {
        WEFT_TRY(judge_splits(comm, rows, sums));
    }
    WEFT_TRY(comm_allreduce(comm, sums, 3 * (int64_t)TRAIN_SPLITS, WEFT_DTYPE_F64, COMM_SUM));
    for (int s = 0; s < TRAIN_SPLITS; ++s) {
        const bool judged = sums[s].positives > 0.0 && sums[s].negatives > 0.0;
        score[s] = judged ? sums[s].value / sums[s].positives : (double)NAN;
    }
    return WEFT_OK;
}
