/* comm/sparse/select_internal.h: the selector as its methods see it. */
#pragma once

#include <stdbool.h>

#include "comm/sparse/select.h"
#include "hal/pack.h"

enum {
    SELECT_HIGH_BINS = 1 << 15, /* sign removed: 8 bits of exponent, 7 of mantissa */
    SELECT_LOW_BINS = 1 << 16,  /* the other 16 bits of the mantissa */
    SELECT_SMALL = 1 << 13      /* vectors of at most this many elements are candidates as a whole */
};

/* One thread's run of the vector and what it found there. */
typedef struct select_part {
    int64_t begin, end;
    int32_t *index; /* [part_capacity + HAL_PACK_SLACK] candidates, ascending */
    float *value;
    int64_t found; /* candidates; -1: they did not fit */
    uint32_t top;  /* largest magnitude */
    double sum;
    uint32_t *bins;       /* [SELECT_LOW_BINS] */
    int64_t above, equal; /* elements over a threshold, and on it (or in a band below it) */
    int64_t to;           /* where this part's output begins */
    int64_t skip, ties;   /* of the `equal` ones: leave out the first `skip`, then take `ties` */
} select_part;

/* What a checkpoint keeps. */
typedef struct select_state {
    uint64_t calls;
    int64_t k;         /* of the last call of SELECT_REUSE */
    int64_t threshold; /* its bits, or 0: none yet */
} select_state;

struct selector {
    select_options options;
    const hal_pack *kernels;
    int64_t max_count, part_capacity;
    select_part *part; /* [options.threads] */
    uint32_t *work;    /* magnitudes of a sample or of candidates: [options.threads * part_capacity] */
    select_state state;
    /* the running call */
    int parts;
    const float *x;
    uint32_t floor, upper, bin;
    int32_t *index;
    float *value;
};

/* Run fn on every part, each on its own thread; on the calling thread alone when there is one part. */
void select_each(selector *s, void (*fn)(selector *s, select_part *part));
/* Cut [0, count) into parts. */
void select_cut(selector *s, const float *x, int64_t count);
/* Candidates: everything of magnitude >= floor, in every part. False: some part's did not fit. */
bool select_candidates(selector *s, uint32_t floor, int64_t *total);
/* WEFT_ERR_DIVERGED with the first index that is not finite, when any part's top says so. */
weft_status select_finite(const selector *s, int64_t count);
/* Hand `wanted` of the parts' `equal` ones out, from the skip-th on, and place every part's output. */
void select_place(selector *s, int64_t skip, int64_t wanted);

/* The k-th largest of value[0..n), magnitudes as bits, 1 <= k <= n; value is overwritten. *above: how many are larger.
 */
uint32_t select_kth(uint32_t *value, int64_t n, int64_t k, int64_t *above);

/* The methods; index and value have room for k (reuse: capacity). 0 < k < count. *threshold: bits of the k-th. */
weft_status select_radix(selector *s, const float *x, int64_t count, int64_t k, int32_t *index, float *value,
                         uint32_t *threshold);
weft_status select_mstopk(selector *s, const float *x, int64_t count, int64_t k, int32_t *index, float *value);
weft_status select_reuse(selector *s, const float *x, int64_t count, int64_t k, int64_t capacity, int32_t *index,
                         float *value, int64_t *found);
