/*
 * train/second/second_place.h: the ranks that invert a factor, and the ranks that turn a gradient.
 *
 * The ranks are cut into groups of `workers` ranks, and every layer belongs to one group. One rank of the group, the
 * owner, inverts a side of the layer and sends the result to its group. All ranks of the group turn the layer's
 * gradient; the other groups receive the direction.
 *
 *      P = 4             group 0        group 1         inverses travel     directions travel, every step
 *      everywhere        each rank inverts and turns    no                  no
 *      comm-opt          ranks 0 1 2 3                  to all ranks        no
 *      hybrid:0.5        ranks 0 1      ranks 2 3       in the group        from rank 0 to 2, from rank 1 to 3
 *      mem-opt           one rank each                  no                  to all ranks
 *
 * comm-opt is `workers` = P and mem-opt is `workers` = 1. A direction has the same bits wherever it is computed, if
 * ranks round alike, so a placement changes seconds and bytes and no result.
 *
 *   J. Pauloski et al.: KAISA: an adaptive second-order optimizer framework for deep neural networks. SC 2021,
 *   arXiv 2107.01739.  R. L. Graham: Bounds on multiprocessing timing anomalies. SIAM J. Appl. Math. 17(2), 1969,
 *   doi:10.1137/0117039 (longest processing time first ends at most 4/3 - 1/(3 P) times after the best assignment).
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/option_words.h"

/* --precondition-place without the share of hybrid:F. */
#define SECOND_PLACES(X)                                                                                               \
    X(SECOND_PLACE_EVERYWHERE, "everywhere")                                                                           \
    X(SECOND_PLACE_COMM_OPT, "comm-opt")                                                                               \
    X(SECOND_PLACE_MEM_OPT, "mem-opt")                                                                                 \
    X(SECOND_PLACE_HYBRID, "hybrid")                                                                                   \
    X(SECOND_PLACE_AUTO, "auto")
typedef enum second_place_kind { SECOND_PLACES(CHOICE_VALUE) } second_place_kind;

typedef struct second_place {
    second_place_kind kind;
    /* hybrid: share of the ranks that turn the gradient of a layer, above 0 and below 1. */
    double share;
} second_place;

enum { SECOND_IN, SECOND_OUT, SECOND_SIDES };

/* Work of a layer for each step of training, and the ranks that do it. */
typedef struct second_task {
    double invert[SECOND_SIDES]; /* operations of the side's inversion; 0: the side is not inverted */
    double turn;                 /* operations of a turned gradient */
    int group;                   /* [out] the group that turns the gradient */
    int owner[SECOND_SIDES];     /* [out] the rank of the job that inverts the side */
} second_task;

/* "auto", "mem-opt", "hybrid", "hybrid:0.25". Returns false if the text is none of these. hybrid alone: a half. */
bool second_place_parse(const char *text, second_place *place);
/* Ranks of a group: a divisor of `ranks`; 0: every rank does everything, as with one rank. Hybrid: the largest divisor
 * that is at most the share of the ranks, and at least 1. */
int second_place_workers(const second_place *place, int ranks);
/* Sets group and owner of each task: the dearest first, each to the group and the rank with the least work. workers:
 * a divisor of `ranks`. load [ranks]: work space; [out] operations of each rank's inversions and turns. */
void second_place_assign(int ranks, int workers, second_task *task, int tasks, double *load);
