/*
 * hal/cpu/fixed/fixed.h: sums in fixed point (hal/ops.def) of the form I16: what cpu_fixed.c and its kernels share.
 *
 * I16 is LISTS, or BLOCKS where hardly a row is without edges in a block (hal/cpu/sparse/spmm.c), whose packed strips
 * hold two columns in a word of 32 bits, which halves the bytes that an edge reads:
 *
 *      word w of a source     column strip / 2 + w in its upper half, column w + 2^15 in its lower half
 *      raw sums of a row      low[w]  = the sum of the words less 2^15 for each edge, modulo 2^32
 *                             high[w] = the sum of the upper halves, of words shifted down
 *      sums                   column strip / 2 + w: high[w]      column w: low[w] - 2^16 high[w]
 *
 * so a vector of words takes a load, a shift and two additions. All of it is modulo 2^32, in which a sum that fits into
 * 32 bits comes out right. The lower half is moved by 2^15 so that it never borrows from the upper one. With products
 * of pairs (VNNI) halves are as they are, and each is multiplied by 1, its neighbour by 0, and added: two operations.
 *
 * Arithmetic of float32 is multiplied and added one by one, without fused operations: results have the same bits with
 * every instruction set, on every backend, and by fixed_run and fixed_finish.
 */
#pragma once

#include "hal/cpu/sparse/spmm.h"

/* How sums become rows of out: out = post * (quantum * sum) + old out, where it adds, + diag * self. */
typedef struct fixed_end {
    const float *quantum;     /* of the columns */
    const float *post, *diag; /* or NULL */
    const float *self;
    int64_t ldself;
    bool adds;
    float *out;
    int64_t ldo;
} fixed_end;

/* One sweep over the matrix for one strip of columns, of which `width` exist. */
typedef struct fixed_pass {
    int strip, width;
    const void *x; /* sources of float32, or (`integers`) of int16 */
    int64_t ldx;
    const float *pre; /* or NULL */
    uint32_t *packed; /* [cols, strip / 2] */
    int32_t *sum;     /* [rows, strip] raw sums: low, then high */
    bool first, last; /* the sweep over the first block starts the sums, the last one writes out */
    bool integers;    /* x and out are integers: the sums go to, or are added to, integer_out */
    int32_t *integer_out;
    int64_t ldo;
    fixed_end end; /* of float32 */
} fixed_pass;

/* Kernels of one instruction set. */
typedef struct fixed_kernels {
    /* Packs sources [begin, end); columns past the width become zeros. */
    void (*pack)(const fixed_pass *pass, int64_t begin, int64_t end);
    /* One chunk of a part that starts at row `begin`; pass->packed begins at the chunk's block. */
    void (*lists)(const spmm_blocks *m, const spmm_chunk *chunk, int64_t begin, const fixed_pass *pass);
    /* The same of rows [begin, end) of BLOCKS; start, column: of the chunk. */
    void (*blocks)(const uint32_t *start, const uint16_t *column, int64_t begin, int64_t end, const fixed_pass *pass);
    /* Rows [begin, end) of `cols` sums. */
    void (*finish)(const fixed_end *end, int64_t cols, const int32_t *sum, int64_t ldsum, int64_t begin, int64_t last);
    /* q = scale * x / quantum of one row; largest = max(largest, |scale * x|). */
    void (*round)(int64_t cols, const float *x, float scale, const float *quantum, int16_t *q);
    void (*largest)(int64_t cols, const float *x, float scale, float *largest);
} fixed_kernels;

extern const fixed_kernels fixed_kernels_base;
extern const fixed_kernels fixed_kernels_avx2;
extern const fixed_kernels fixed_kernels_avx512vnni;
