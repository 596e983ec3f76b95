/* train/score/ranking_scores.c: see train/score/ranking_scores.h. */
#include "train/score/ranking_scores.h"

#include <math.h>
#include <stdlib.h>

#include "base/alloc.h"
#include "train/model.h"

typedef struct ranked_row {
    uint64_t group;
    float answer, target;
    uint32_t split, place; /* place: by which equal answers are ordered */
} ranked_row;

static int by_answer(const void *a, const void *b)
{
    const ranked_row *x = a, *y = b;
    if (x->answer != y->answer) {
        return x->answer > y->answer ? -1 : 1;
    }
    return (x->place > y->place) - (x->place < y->place);
}

static int by_target(const void *a, const void *b)
{
    const ranked_row *x = a, *y = b;
    return (x->target < y->target) - (x->target > y->target);
}

static double dcg_of(const ranked_row *row, int64_t rows, int at)
{
    double sum = 0.0;
    for (int64_t i = 0; i < rows && i < at; ++i) {
        sum += (exp2((double)row[i].target) - 1.0) / log2(2.0 + (double)i);
    }
    return sum;
}

static int by_split(const void *a, const void *b)
{
    const ranked_row *x = a, *y = b;
    return x->split != y->split ? (x->split > y->split) - (x->split < y->split) : by_answer(a, b);
}

/* row: of one group. Adds its scores to those of the splits. */
static void judge_group(ranked_row *row, int64_t rows, int at, double *sum, int64_t *groups)
{
    qsort(row, (size_t)rows, sizeof *row, by_split);
    for (int64_t begin = 0, end; begin < rows; begin = end) {
        const uint32_t split = row[begin].split;
        for (end = begin + 1; end < rows && row[end].split == split;) {
            ++end;
        }
        if (split < TRAIN_SPLITS) {
            const double found = dcg_of(row + begin, end - begin, at);
            qsort(row + begin, (size_t)(end - begin), sizeof *row, by_target);
            const double best = dcg_of(row + begin, end - begin, at);
            sum[split] += best > 0.0 ? found / best : 1.0;
            groups[split] += 1;
        }
    }
}

static void judge_all(ranked_row *row, int64_t rows, int at, double *score)
{
    double sum[TRAIN_SPLITS] = {0.0};
    int64_t groups[TRAIN_SPLITS] = {0};
    for (int64_t begin = 0, end; begin < rows; begin = end) {
        for (end = begin + 1; end < rows && row[end].group == row[begin].group;) {
            ++end;
        }
        judge_group(row + begin, end - begin, at, sum, groups);
    }
    for (int s = 0; s < TRAIN_SPLITS; ++s) {
        score[s] = groups[s] > 0 ? sum[s] / (double)groups[s] : (double)NAN;
    }
}

weft_status ndcg_scores(weft_comm *comm, int at, const value_rows *rows, const uint64_t *group, double *score)
{
    const int ranks = comm_size(comm);
    ranked_row *mine = NULL, *all = NULL;
    int64_t *bytes = NULL, own = rows->rows * (int64_t)sizeof *mine, sum = 0;
    weft_status status;
    weft_status local = WEFT_NEW(&mine, rows->rows, WEFT_MEM_WORKSPACE);
    local = local == WEFT_OK ? WEFT_NEW(&bytes, ranks, WEFT_MEM_WORKSPACE) : local;
    COMM_AGREED_GOTO(comm_agree(comm, local), local, status, done);
    for (int64_t i = 0; i < rows->rows; ++i) {
        const bool none = isnan(rows->target[i]);
        mine[i] = (ranked_row){group[i], rows->answer[i], rows->target[i], none ? TRAIN_SPLIT_NONE : rows->split[i],
                               (uint32_t)i};
    }
    WEFT_TRY_GOTO(comm_allgather(comm, &own, sizeof own, bytes), status, done);
    for (int r = 0; r < ranks; ++r) {
        sum += bytes[r];
    }
    WEFT_TRY_GOTO(comm_agree(comm, WEFT_NEW(&all, sum / (int64_t)sizeof *all, WEFT_MEM_WORKSPACE)), status, done);
    WEFT_TRY_GOTO(comm_allgatherv(comm, mine, own, all, bytes), status, done);
    for (int64_t i = 0; i < sum / (int64_t)sizeof *all; ++i) {
        all[i].place = (uint32_t)i;
    }
    judge_all(all, sum / (int64_t)sizeof *all, at, score);
done:
    WEFT_FREE_ALL(mine, all, bytes);
    return status;
}
