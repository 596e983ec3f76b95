/*
 * partition/cover/counts.h: how many pairs of each vertex lie in each part, and what parts hold, while pairs move.
 *
 * A row is dense (one count a part, up to whole vector lanes) when a vertex may meet all of at most COUNTS_DENSE parts,
 * and otherwise a short list of (part, count) in no order: a vertex meets at most as many parts as it has neighbours.
 * Memory: at most 6 bytes for each of min(parts, neighbours) of a vertex.
 */
#pragma once

#include <stdbool.h>

#include "partition/cover/edge_pairs.h"

enum { COUNTS_DENSE = 64, COUNTS_LANES = 4 };

typedef struct counts_row {
    int64_t first;  /* its first slot */
    int32_t used;   /* slots in use of a list, -1 for a dense row */
    int32_t degree; /* partners of the vertex */
} counts_row;

typedef struct part_counts {
    int parts;
    int64_t slots;
    counts_row *row;  /* [vertices] */
    int32_t *count;   /* [slots] */
    uint16_t *part;   /* [slots] used by lists */
    int64_t *load;    /* [parts] pairs */
    int64_t *held;    /* [parts] vertices */
    int64_t replicas; /* (vertex, part) that occur: the sum of held */
} part_counts;

/* Slots of a dense row; those beyond the last part stay 0. */
static inline int64_t counts_stride(int parts)
{
    return ((int64_t)parts + COUNTS_LANES - 1) / COUNTS_LANES * COUNTS_LANES;
}

weft_status counts_create(const pair_list *list, const uint16_t *pair_part, int parts, int threads,
                          part_counts *counts);
void counts_free(part_counts *counts);
/* Vertices of the part that holds most; of shares [parts], not NULL: as if parts were as large as the mean, rounded
 * up. */
int64_t counts_largest(const part_counts *counts, const double *share);

static inline bool counts_is_dense(const part_counts *counts, int64_t v)
{
    return counts->row[v].used < 0;
}

/* Slot of (v, part), or -1. */
static inline int64_t counts_slot(const part_counts *counts, int64_t v, int part)
{
    int64_t first = counts->row[v].first;
    if (counts_is_dense(counts, v)) {
        return first + part;
    }
    for (int32_t i = 0; i < counts->row[v].used; ++i) {
        if (counts->part[first + i] == part) {
            return first + i;
        }
    }
    return -1;
}

static inline int32_t counts_get(const part_counts *counts, int64_t v, int part)
{
    int64_t slot = counts_slot(counts, v, part);
    return slot < 0 ? 0 : counts->count[slot];
}

/* The slot of (v, part), made where there is none. */
static inline int64_t counts_take_slot(part_counts *counts, int64_t v, int part)
{
    int64_t slot = counts_slot(counts, v, part);
    if (slot < 0) {
        slot = counts->row[v].first + counts->row[v].used++;
        counts->part[slot] = (uint16_t)part;
        counts->count[slot] = 0;
    }
    return slot;
}

/* One pair of v less in a part, or one more. */
static inline void counts_leave(part_counts *counts, int64_t v, int part)
{
    const int64_t slot = counts_slot(counts, v, part);
    if (--counts->count[slot] > 0) {
        return;
    }
    --counts->held[part];
    --counts->replicas;
    if (!counts_is_dense(counts, v)) {
        const int64_t last = counts->row[v].first + --counts->row[v].used;
        counts->part[slot] = counts->part[last];
        counts->count[slot] = counts->count[last];
    }
}

static inline void counts_join(part_counts *counts, int64_t v, int part)
{
    if (counts->count[counts_take_slot(counts, v, part)]++ == 0) {
        ++counts->held[part];
        ++counts->replicas;
    }
}

/* A pair {u, v} of part `from` goes to part `to`. */
static inline void counts_move(part_counts *counts, int64_t u, int64_t v, int from, int to)
{
    counts_leave(counts, u, from);
    counts_leave(counts, v, from);
    counts_join(counts, u, to);
    counts_join(counts, v, to);
    --counts->load[from];
    ++counts->load[to];
}
