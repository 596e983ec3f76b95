/*
 * partition/cover/refine.h: balance and refine a vertex-cut.
 *
 * Balance. While a part holds more than its share of pairs, its pairs move where they cost the fewest new replicas:
 * first only moves that add no replica, then moves that add one, then two.
 *
 * Refinement. With c_x(p) the pairs of x in p, a pair {u, v} moves from q to r, which must hold u or v and have room,
 * when
 *
 *      1 / (c_u(r) + 1) + 1 / (c_v(r) + 1)  <  1 / c_u(q) + 1 / c_v(q)
 *
 * that is, towards parts where its ends have many pairs. A move that adds a replica takes at least one away, so the
 * number of replicas never rises. Parts that already hold 1.3 times the mean number of vertices accept no new ones.
 *
 * With a price_power, each side of the rule is multiplied by its part's price, (vertices / mean) to that power, and the
 * limit is 1.1 times the mean: moves that cost a little lead out of parts that hold too many vertices.
 *
 * With shares (partition/shares.h) the mean and the limits of a part are its share of the whole.
 *
 * Refinement works in batches: wishes are found in parallel against frozen counts, then granted in order against live
 * ones, so the result does not depend on the threads. O(pairs x parts) a pass below 65 parts, and less above.
 */
#pragma once

#include "partition/cover/counts.h"

typedef struct refine_options {
    int parts, threads;
    int passes;          /* at most; ends when one gains less than 0.2 %, with prices when it moves less than that */
    double balance;      /* allowed pairs of a part over the mean */
    double price_power;  /* 0: a replica costs the same everywhere */
    const double *share; /* [parts] or NULL: partition/shares.h */
} refine_options;

typedef struct refine_result {
    int64_t replicas; /* (vertex, part) that occur */
    int64_t largest;  /* vertices of the part that holds most, as counts_largest has it */
    int64_t moved;    /* pairs moved by refinement */
    int passes;
} refine_result;

/* pair_part [pairs] and the counts of it: changed in place. */
weft_status refine_pairs(const pair_list *list, const refine_options *options, part_counts *counts, uint16_t *pair_part,
                         refine_result *result);
