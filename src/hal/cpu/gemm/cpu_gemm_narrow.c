/*
 * hal/cpu/gemm/cpu_gemm_narrow.c: matrix products some of whose matrices are of bfloat16, by the f32 kernels of
 * kernels_gemm_body.h.
 *
 * Tall products are bound by memory: blocks of rows that fit the cache are widened to float32 there, multiplied, and
 * rounded once when they leave. So only half the bytes travel, and float32 operands, the weights, are not rounded.
 *
 * By rows, C[m, n] = A op(B): B is packed as a whole, each thread takes blocks of rows
 *
 *      A rows --widen--> [WIDEN_ROWS, k]  x  packed B  -->  [WIDEN_ROWS, n] --round--> C rows
 *
 * By reduction, C[m, n] = A^T B: each thread sums its part of k, a block of rows of A and B at a time, into a float32 C
 * of its own; the sums are added in the order of the threads. Memory of that: m * n floats a thread. Where both
 * matrices are of bfloat16 and the processor multiplies pairs, cpu_gemm_pairs.c does it without widening.
 *
 * Where the processor multiplies such numbers, products of tall matrices of bfloat16 go by blocks of rows
 * (gemm_tall.h), and other products of two of them to the library, but for sums of many terms (see use_library).
 */
#include <string.h>

#include "hal/cpu/cpu_backend.h"
#include "hal/cpu/gemm/gemm_sizes.h"
#include "hal/cpu/gemm/gemm_tall.h"
#include "hal/cpu/gemm/gemm_widen.h"
#include "hal/cpu/kernels.h"
#include "hal/cpu/library/onednn.h"

static int parts_of(const weft_hal *hal, const cpu_product *g)
{
    return cpu_parts(hal, smaller(g->m * g->n, INT64_MAX / g->k) * g->k / 8);
}

/* B in the kernels' layout. room: [the rows of b, its columns] floats */
static void pack_b(const cpu_kernels *kernels, const hal_pack_cast *cast, const cpu_product *g, float *room,
                   float *packed)
{
    int64_t ld = 0;
    const int64_t rows = g->trans_b ? g->n : g->k;
    const int64_t cols = g->trans_b ? g->k : g->n;
    const float *b = widened(cast, g->b, g->narrow_b, rows, cols, g->ldb, room, &ld);
    kernels->gemm_pack(0, g->k, g->k, g->n, (float)g->alpha, b, g->trans_b ? 1 : ld, g->trans_b ? ld : 1, packed);
}

/* ---- by rows ---------------------------------------------------------------------------------------------------- */

typedef struct row_rooms {
    float *a; /* [WIDEN_ROWS, k] */
    float *c; /* [WIDEN_ROWS, n] */
} row_rooms;

/* Rows [row, row + rows) of C. */
static void multiply_block(const cpu_kernels *kernels, const hal_pack_cast *cast, const cpu_product *g,
                           const float *packed, int64_t row, int64_t rows, const row_rooms *room)
{
    int64_t lda = 0;
    const float *a =
        widened(cast, cells_at(g->a, g->narrow_a, row * g->lda), g->narrow_a, rows, g->k, g->lda, room->a, &lda);
    if (!g->narrow_c) {
        kernels->gemm_multiply(rows, g->n, g->k, a, lda, packed, (float)g->beta, g->bias, (float *)g->c + row * g->ldc,
                               g->ldc);
        return;
    }
    uint16_t *c = (uint16_t *)g->c + row * g->ldc;
    for (int64_t i = 0; i < rows && g->beta != 0.0; ++i) {
        cast->decode(c + i * g->ldc, room->c + i * g->n, g->n);
    }
    kernels->gemm_multiply(rows, g->n, g->k, a, lda, packed, (float)g->beta, g->bias, room->c, g->n);
    for (int64_t i = 0; i < rows; ++i) {
        cast->encode(room->c + i * g->n, c + i * g->ldc, g->n);
    }
}

static weft_status by_rows(weft_hal *hal, const cpu_product *g)
{
    const cpu_kernels *kernels = &cpu_state_of(hal)->kernels;
    const hal_pack_cast *cast = casts_of(hal);
    const int parts = parts_of(hal, g);
    const int64_t packed_size = g->k * kernels->gemm_columns(g->n);
    const int64_t b_size = g->narrow_b ? g->k * g->n : 0;
    const int64_t block = smaller(g->m, WIDEN_ROWS);
    const int64_t part_size = block * (g->k + g->n);
    float *packed = NULL;
    WEFT_TRY(cpu_workspace(hal, (size_t)(packed_size + b_size + parts * part_size) * sizeof *packed, (void **)&packed));
    float *rooms = packed + packed_size + b_size;
    pack_b(kernels, cast, g, packed + packed_size, packed);
#pragma omp parallel for schedule(static) num_threads(parts) if (parts > 1)
    for (int part = 0; part < parts; ++part) {
        const row_rooms room = {.a = rooms + part * part_size, .c = rooms + part * part_size + block * g->k};
        const hal_span own = hal_split_rows(g->m, parts, part);
        for (int64_t row = own.begin; row < own.end; row += block) {
            multiply_block(kernels, cast, g, packed, row, smaller(block, own.end - row), &room);
        }
    }
    return WEFT_OK;
}

/* ---- by reduction ----------------------------------------------------------------------------------------------- */

/* Where a thread of a reduction works: [REDUCE, m], [REDUCE, n], packed, and its sum [m, n], each of floats. */
typedef struct reduction_rooms {
    float *a, *b, *packed, *sum;
} reduction_rooms;

/* sum = the terms [begin, end) of k; zeros where there are none. */
static void reduce(const cpu_kernels *kernels, const hal_pack_cast *cast, const cpu_product *g, int64_t begin,
                   int64_t end, const reduction_rooms *room)
{
    if (begin >= end) {
        memset(room->sum, 0, (size_t)(g->m * g->n) * sizeof *room->sum);
    }
    for (int64_t p = begin; p < end; p += WIDEN_ROWS) {
        const int64_t k = smaller(WIDEN_ROWS, end - p);
        int64_t lda = 0;
        const float *a =
            widened(cast, cells_at(g->a, g->narrow_a, p * g->lda), g->narrow_a, k, g->m, g->lda, room->a, &lda);
        const cpu_product terms = {.trans_b = g->trans_b,
                                   .n = g->n,
                                   .k = k,
                                   .alpha = g->alpha,
                                   .b = cells_at(g->b, g->narrow_b, g->trans_b ? p : p * g->ldb),
                                   .ldb = g->ldb,
                                   .narrow_b = g->narrow_b};
        pack_b(kernels, cast, &terms, room->b, room->packed);
        kernels->gemm_multiply_transposed(g->m, g->n, k, a, lda, room->packed, p == begin ? 0.0F : 1.0F, room->sum,
                                          g->n);
    }
}

/* Row i of C = the parts' sums in their order + beta c + bias; `row` [n]: where it is made. */
static void finish_row(const hal_pack_cast *cast, const cpu_product *g, int64_t i, const float *sum, int parts,
                       int64_t part_size, float *row)
{
    void *c = g->narrow_c ? (void *)((uint16_t *)g->c + i * g->ldc) : (void *)((float *)g->c + i * g->ldc);
    const float beta = (float)g->beta;
    if (beta != 0.0F && g->narrow_c) {
        cast->decode(c, row, g->n);
    } else if (beta != 0.0F) {
        memcpy(row, c, (size_t)g->n * sizeof *row);
    }
    for (int64_t j = 0; j < g->n; ++j) {
        row[j] = (beta != 0.0F ? beta * row[j] : 0.0F) + (g->bias != NULL ? g->bias[j] : 0.0F);
        for (int part = 0; part < parts; ++part) {
            row[j] += sum[part * part_size + i * g->n + j];
        }
    }
    if (g->narrow_c) {
        cast->encode(row, c, g->n);
    } else {
        memcpy(c, row, (size_t)g->n * sizeof *row);
    }
}

static weft_status by_reduction(weft_hal *hal, const cpu_product *g)
{
    const cpu_kernels *kernels = &cpu_state_of(hal)->kernels;
    const hal_pack_cast *cast = casts_of(hal);
    const int parts = (int)smaller(parts_of(hal, g), (g->k + WIDEN_ROWS - 1) / WIDEN_ROWS);
    const int64_t sum_size = g->m * g->n;
    const int64_t part_size = sum_size + WIDEN_ROWS * (g->m + g->n + kernels->gemm_columns(g->n));
    float *rooms = NULL;
    WEFT_TRY(cpu_workspace(hal, (size_t)(parts * part_size + g->n) * sizeof *rooms, (void **)&rooms));
#pragma omp parallel for schedule(static) num_threads(parts) if (parts > 1)
    for (int part = 0; part < parts; ++part) {
        float *own = rooms + part * part_size;
        const reduction_rooms room = {.sum = own,
                                      .a = own + sum_size,
                                      .b = own + sum_size + WIDEN_ROWS * g->m,
                                      .packed = own + sum_size + WIDEN_ROWS * (g->m + g->n)};
        const hal_span span = hal_split_rows(g->k, parts, part);
        reduce(kernels, cast, g, span.begin, span.end, &room);
    }
    for (int64_t i = 0; i < g->m; ++i) {
        finish_row(cast, g, i, rooms, parts, part_size, rooms + parts * part_size);
    }
    return WEFT_OK;
}

/* Gradients of weights, of bfloat16 on both sides, where the processor multiplies pairs. */
static bool takes_pairs(const weft_hal *hal, const cpu_product *g)
{
    return cpu_state_of(hal)->kernels.pairs != NULL && g->trans_a && !g->trans_b && g->narrow_a && g->narrow_b &&
           !g->narrow_c && g->alpha == 1.0 && (g->beta == 0.0 || g->beta == 1.0) && g->bias == NULL;
}

/* Products of some size whose operands are rounded already (docs/notes/products.md). Sums of many terms into few
 * numbers that are not cut (gemm_tall.h) stay here, where each thread takes a part of the terms. */
static bool use_library(const weft_hal *hal, const cpu_product *g)
{
    enum { LEAST = 1 << 20, LONG = 1 << 14, TALL = 8 };
    const bool sum = g->trans_a && g->k > LONG && g->k / TALL >= g->m && g->k / TALL >= g->n;
    const bool large = g->m * g->n >= LEAST / g->k;
    return hal->native_bf16 && cpu_state_of(hal)->library != NULL && g->narrow_a && g->narrow_b && g->alpha == 1.0 &&
           large && !sum;
}

weft_status cpu_gemm_narrow(weft_hal *hal, const cpu_product *product)
{
    if (cpu_gemm_is_tall(hal, product)) {
        return cpu_gemm_tall(hal, product);
    }
    if (takes_pairs(hal, product)) {
        const cpu_pair_product pairs = {.m = product->m,
                                        .n = product->n,
                                        .k = product->k,
                                        .a = product->a,
                                        .lda = product->lda,
                                        .b = product->b,
                                        .ldb = product->ldb,
                                        .c = product->c,
                                        .ldc = product->ldc,
                                        .adds = product->beta != 0.0};
        return cpu_gemm_pairs(hal, &pairs);
    }
    if (use_library(hal, product)) {
        return onednn_gemm(cpu_state_of(hal)->library, product);
    }
    return product->trans_a ? by_reduction(hal, product) : by_rows(hal, product);
}
