/*
 * partition/cover/counts.h: how many pairs of each vertex lie in each part, while pairs move.
 *
 * A row is dense (one count a part, up to whole vector lanes) when a vertex may meet all of at most COUNTS_DENSE parts,
 * and otherwise a short list of (part, count) in no order: a vertex meets at most as many parts as it has neighbours.
 * Memory: at most 6 bytes for each of min(parts, neighbours) of a vertex.
 */
#ifndef WEFT_PARTITION_COVER_COUNTS_H
#define WEFT_PARTITION_COVER_COUNTS_H

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
    counts_row *row; /* [vertices] */
    int32_t *count;  /* [slots] */
    uint16_t *part;  /* [slots] used by lists */
} part_counts;

/* Slots of a dense row; those beyond the last part stay 0. */
static inline int64_t counts_stride(int parts)
{
    return ((int64_t)parts + COUNTS_LANES - 1) / COUNTS_LANES * COUNTS_LANES;
}

weft_status counts_create(const pair_list *list, const uint16_t *pair_part, int parts, int threads,
                          part_counts *counts);
void counts_free(part_counts *counts);

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

static inline void counts_increment(part_counts *counts, int64_t v, int part)
{
    int64_t slot = counts_slot(counts, v, part);
    if (slot < 0) {
        slot = counts->row[v].first + counts->row[v].used++;
        counts->part[slot] = (uint16_t)part;
        counts->count[slot] = 0;
    }
    ++counts->count[slot];
}

static inline void counts_decrement(part_counts *counts, int64_t v, int part)
{
    int64_t slot = counts_slot(counts, v, part);
    --counts->count[slot];
    if (counts->count[slot] == 0 && !counts_is_dense(counts, v)) {
        int64_t last = counts->row[v].first + --counts->row[v].used;
        counts->part[slot] = counts->part[last];
        counts->count[slot] = counts->count[last];
    }
}

#endif
