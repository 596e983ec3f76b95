/*
 * trees/loss/rank_loss.h: LambdaMART: rows of a group are brought into the order of their grades.
 *
 * Of two rows of a group with different grades, one of which stands among the first `truncation` by margin, the better
 * is pushed up and the other down, by the change of NDCG that their exchange would make times the probability that the
 * margins order them wrongly. Gains are 2^grade - 1, discounts 1 / log2(2 + place); forces of a group are divided by
 * their sum s and multiplied by log2(1 + s), so that long groups do not rule.
 *
 * A group may lie on several ranks: every rank holds grades and margins of all rows, 9 bytes a row, gathers 4 bytes of
 * each before a round, and works out the forces of the groups in which it has rows. Numbers of a group depend on the
 * group alone, so results do not depend on ranks.
 *
 *   C. Burges: From RankNet to LambdaRank to LambdaMART. Microsoft Research MSR-TR-2010-82, 2010.
 */
#pragma once

#include "comm/comm.h"
#include "trees/data/tree_columns.h"

enum { RANK_GRADE_MAX = 31 };

typedef struct rank_groups {
    int64_t first, rows, all; /* this rank's rows are first .. first + rows - 1 of `all` */
    int64_t *start;           /* [groups + 1] rows of a group stand together */
    int64_t groups;
    int64_t longest;
    int truncation;
    int64_t *bytes;  /* [ranks] of the margins that each rank gives */
    float *grade;    /* [all] */
    float *margin;   /* [all] of the last round */
    uint8_t *counts; /* [all] */
    double loss;     /* of this rank's rows at the last gradients: sum of the pairs' weighted log-losses, halved */
} rank_groups;

/*
 * group, grade, counts: [rows] of this rank, whose rows stand behind those of the ranks before it. Destroy also after a
 * failure. WEFT_ERR_DATA: a group's rows do not stand together; a grade is no whole number from 0 to RANK_GRADE_MAX.
 * Collective.
 */
weft_status rank_groups_create(weft_comm *comm, int64_t rows, const uint64_t *group, const float *grade,
                               const uint8_t *counts, int truncation, rank_groups *groups);
void rank_groups_destroy(rank_groups *groups); /* zeros are fine */
/* [out] gradient, hessian: [rows] at these margins [rows], times weight [rows], NULL: 1; zeros for rows that do not
 * count. Collective. */
weft_status rank_gradients(weft_comm *comm, rank_groups *groups, const float *margin, const float *weight,
                           float *gradient, float *hessian);
