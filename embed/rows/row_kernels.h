/*
 * embed/rows/row_kernels.h: loops over the numbers of rows, compiled once an instruction set (base/isa.h).
 *
 * Numbers of 32 bits in two halves: the upper 16 bits are the number rounded to bfloat16, which forward passes read,
 * and the lower ones, as a signed integer, what rounding left: upper << 16 plus lower are the bits of the float32,
 * exactly. (Cutting would save an addition and draw all weights that are read towards zero by 2^-9 of their size.)
 */
#pragma once

#include <stdint.h>
#include <string.h>

#include "embed/embed.h"
#include "embed/rows/row_slabs.h"

typedef struct row_rule {
    embed_rule rule;
    embed_number number;
    int width, stride;
    int first;        /* column of a whole row at which those of the store begin; 0 where it has whole rows */
    int whole_width;  /* of a whole row */
    int whole_stride; /* the same with `linear` */
    float spread;     /* of new rows */
    uint64_t seed;
    float rate, epsilon, l1, l2;
    double beta1, beta2;
} row_rule;

/* Numbers of 4 bytes that a rule keeps a row. row-adagrad: the mean of squares of `width` numbers, and that of
 * `linear`: they are two tables whose rows lie side by side. lazy-adam: first moments, second moments, updates so far.
 * */
static inline int row_rule_state(embed_rule rule, int width, bool linear)
{
    const int stride = width + linear;
    const int state[] = {[EMBED_SGD] = 0,
                         [EMBED_ROW_ADAGRAD] = (width > 0) + linear,
                         [EMBED_ADAGRAD] = stride,
                         [EMBED_FTRL] = 2 * stride,
                         [EMBED_LAZY_ADAM] = 2 * stride + 1};
    return state[rule];
}

static inline float row_join(uint16_t upper, uint16_t lower)
{
    const uint32_t bits = ((uint32_t)upper << 16) + (uint32_t)(int32_t)(int16_t)lower;
    float value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

static inline void row_split(float value, uint16_t *upper, uint16_t *lower)
{
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    *upper = (uint16_t)((bits + 0x8000U) >> 16);
    *lower = (uint16_t)bits;
}

/* Rows of `row` [n]; those that are -1 are zeros, and are skipped by the others. */
typedef struct row_kernels {
    /* out [n, stride], leading dimension ld. */
    void (*read)(const row_rule *rule, const row_slabs *slabs, const int64_t *row, int64_t n, float *out, int64_t ld);
    /* gradient [n, stride], leading dimension ld. row [known]: the first n rows are updated; those behind them, which
     * the next call updates, are prefetched. */
    void (*update)(const row_rule *rule, const row_slabs *slabs, const int64_t *row, int64_t n, int64_t known,
                   const float *gradient, int64_t ld);
    /* First numbers of rows, functions of (key [n], seed, column); states are 0. */
    void (*make)(const row_rule *rule, const row_slabs *slabs, const int64_t *row, const uint64_t *key, int64_t n);
} row_kernels;

extern const row_kernels row_kernels_base, row_kernels_avx2, row_kernels_avx512;
