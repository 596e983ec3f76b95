/*
 * partition/cover/cover_sides.h: on which side of each cut the replicas go.
 *
 * Between two densely linked parts a minimum cover is nearly all of the smaller boundary, so a part with large
 * boundaries would receive the replicas of every other part. Putting a whole cut on one side costs little more there.
 * Each cut makes three offers; what a part holds beyond its share has a price, and the cuts revise their choice in turn
 * until none changes (at most SWEEPS times). O(cuts) a sweep.
 */
#pragma once

#include <stdint.h>

#include "base/status.h"

typedef enum cover_side {
    SIDE_COVER, /* by the minimum cover: some on each side */
    SIDE_LOW,   /* all pairs in the part with the smaller number */
    SIDE_HIGH,
    SIDES
} cover_side;

/* Replicas and pairs that the two parts of a cut get, for each choice of a side. */
typedef struct cover_offer {
    int64_t low_replicas[SIDES], high_replicas[SIDES];
    int64_t low_pairs[SIDES], high_pairs[SIDES];
    cover_side side; /* [out] */
} cover_offer;

/* Cut b of parts i < j has number j (j - 1) / 2 + i. */
static inline int64_t cover_cut(int a, int b)
{
    int64_t low = a < b ? a : b, high = a < b ? b : a;
    return high * (high - 1) / 2 + low;
}

/* share [parts] or NULL: partition/shares.h. vertices, pairs [parts]: what the parts hold without any cut; changed to
 * what they hold with them. */
void cover_choose_sides(int parts, const double *share, int64_t *vertices, int64_t *pairs, cover_offer *offer);
