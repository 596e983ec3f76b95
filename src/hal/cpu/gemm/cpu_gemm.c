/*
 * hal/cpu/gemm/cpu_gemm.c: matrix products: f32 by our kernels or by oneDNN, with bfloat16 by cpu_gemm_narrow.c, f64 by
 * the reference.
 *
 * Two drivers over the kernels of kernels_gemm_body.h:
 *
 * By rows, C[m, n] = A B: B is packed by all threads, each multiplies its rows of A; nothing of A is copied.
 *
 * By reduction, C[m, n] = A^T B with A [k, m]: each thread sums its part of k into a C of its own, some rows of A and B
 * at a time into as many rows of C as stay in its second-level cache beside them; the sums are added in the order of
 * the threads. When C is large, threads take rows of C.
 *
 * An A of bfloat16 that is exact (hal/ops.def) is widened some rows at a time, in the cache, and then multiplied as one
 * of float32: half the bytes travel, and the bits of C are the same.
 *
 * Graph networks multiply matrices with as many rows as vertices and few columns: these are bound by memory, and a
 * library that copies A first loses. Square-like shapes go to oneDNN; see use_library for the rule.
 */
#include <assert.h>

#include "hal/cpu/cpu_backend.h"
#include "hal/cpu/gemm/gemm_sizes.h"
#include "hal/cpu/gemm/gemm_widen.h"
#include "hal/cpu/kernels.h"
#include "hal/cpu/library/onednn.h"

enum {
    BLOCK_N = 512,       /* columns of B packed at once */
    BLOCK_B = 512 * 512, /* elements of B packed at once: 1 MiB, half of a second-level cache */
    REDUCE_K = 96,       /* most rows of A and B that a step of a reduction takes ... */
    LEAST_K = 24,        /* ... and fewest */
    REDUCE_C = 2 * OWN_C /* elements of C up to which each thread of a reduction has its own */
};

/* ---- by rows ---------------------------------------------------------------------------------------------------- */

/* Terms [term, term + k) and columns [column, column + n) of a product by rows. */
typedef struct row_block {
    int64_t term, k, column, n;
    const float *packed, *bias;
    float beta;
} row_block;

/* Rows `own` of C. room: [WIDEN_ROWS, k], where A is of bfloat16 */
static void multiply_rows(const cpu_kernels *kernels, const hal_pack_cast *cast, const cpu_product *g,
                          const row_block *block, hal_span own, float *room)
{
    const int64_t step = g->narrow_a ? WIDEN_ROWS : own.end - own.begin;
    for (int64_t row = own.begin; row < own.end; row += step) {
        const int64_t rows = smaller(step, own.end - row);
        int64_t lda = 0;
        const float *a = widened(cast, cells_at(g->a, g->narrow_a, row * g->lda + block->term), g->narrow_a, rows,
                                 block->k, g->lda, room, &lda);
        kernels->gemm_multiply(rows, block->n, block->k, a, lda, block->packed, block->beta, block->bias,
                               (float *)g->c + row * g->ldc + block->column, g->ldc);
    }
}

static weft_status gemm_by_rows(weft_hal *hal, const cpu_product *g)
{
    const cpu_kernels *kernels = &cpu_state_of(hal)->kernels;
    const float *b = g->b;
    const float *bias = g->bias;
    int64_t b_row = g->trans_b ? 1 : g->ldb;
    int64_t b_col = g->trans_b ? g->ldb : 1;
    float *packed = NULL;
    int64_t columns = kernels->gemm_columns(smaller(g->n, BLOCK_N));
    int64_t block_k = smaller(g->k, BLOCK_B / columns);
    int parts = cpu_parts(hal, smaller(g->m * g->n, INT64_MAX / g->k) * g->k / 8);
    const int64_t room = g->narrow_a ? WIDEN_ROWS * block_k : 0;
    WEFT_TRY(cpu_workspace(hal, (size_t)(block_k * columns + parts * room) * sizeof *packed, (void **)&packed));
    float *rooms = packed + block_k * columns;
    for (int64_t jc = 0; jc < g->n; jc += BLOCK_N) {
        int64_t n = smaller(g->n - jc, BLOCK_N);
        for (int64_t pc = 0; pc < g->k; pc += block_k) {
            int64_t k = smaller(g->k - pc, block_k);
            const row_block block = {.term = pc,
                                     .k = k,
                                     .column = jc,
                                     .n = n,
                                     .packed = packed,
                                     .bias = pc == 0 && bias != NULL ? bias + jc : NULL,
                                     .beta = pc == 0 ? (float)g->beta : 1.0F};
#pragma omp parallel num_threads(parts) if (parts > 1)
            {
#pragma omp for schedule(static)
                for (int part = 0; part < parts; ++part) {
                    const hal_span own = hal_split_rows(k, parts, part);
                    kernels->gemm_pack(own.begin, own.end, k, n, (float)g->alpha, b + pc * b_row + jc * b_col, b_row,
                                       b_col, packed);
                }
#pragma omp for schedule(static)
                for (int part = 0; part < parts; ++part) {
                    multiply_rows(kernels, casts_of(hal), g, &block, hal_split_rows(g->m, parts, part),
                                  rooms + part * room);
                }
            }
        }
    }
    return WEFT_OK;
}

/* ---- by reduction ----------------------------------------------------------------------------------------------- */

/* What one thread of a reduction works on. */
typedef struct reduction {
    int64_t row, rows;  /* of C */
    int64_t begin, end; /* of k */
    float *packed;      /* REDUCE_K x gemm_columns(n) */
    float *wide;        /* REDUCE_K x m, where A is of bfloat16 */
    float *c;           /* its result: row 0 is row `row` of C */
    int64_t ldc;
    float beta; /* for the first block */
} reduction;

/* Rows of C that are summed at once, in passes of equal size: whole tiles of every kernel. */
static int64_t rows_at_once(int64_t rows, int64_t n)
{
    enum { TILES = 24 };
    const int64_t floats = (int64_t)(cpu_l2_bytes() / sizeof(float)) - REDUCE_K * n;
    const int64_t fit = floats / (n + REDUCE_K);
    const int64_t passes = fit > TILES ? (rows + fit - 1) / fit : (rows + TILES - 1) / TILES;
    return whole((rows + passes - 1) / passes, TILES);
}

/* Rows of A and B that a step takes: the fewer, the better the processor's prefetch follows each of them; the more, the
 * less often C is read and written. */
static int64_t terms_at_once(int64_t rows)
{
    enum { SHARE = 8 };
    const int64_t fit = (int64_t)(cpu_l2_bytes() / SHARE / sizeof(float)) / rows;
    return fit > REDUCE_K ? REDUCE_K : fit < LEAST_K ? LEAST_K : fit;
}

/* Columns [column, column + n) of the rows of `own`, from `row` of them on. */
static void reduce_block(const cpu_kernels *kernels, const hal_pack_cast *cast, const cpu_product *g,
                         const reduction *own, int64_t row, int64_t rows, int64_t column, int64_t n)
{
    const int64_t b_row = g->trans_b ? 1 : g->ldb;
    const int64_t b_col = g->trans_b ? g->ldb : 1;
    const float *b = (const float *)g->b + column * b_col;
    float *c = own->c + row * own->ldc + column;
    const int64_t step = terms_at_once(rows);
    for (int64_t p = own->begin; p < own->end; p += step) {
        const int64_t k = smaller(own->end - p, step);
        kernels->gemm_pack(0, k, k, n, (float)g->alpha, b + p * b_row, b_row, b_col, own->packed);
        int64_t lda = 0;
        const float *a = widened(cast, cells_at(g->a, g->narrow_a, p * g->lda + own->row + row), g->narrow_a, k, rows,
                                 g->lda, own->wide, &lda);
        kernels->gemm_multiply_transposed(rows, n, k, a, lda, own->packed, p == own->begin ? own->beta : 1.0F, c,
                                          own->ldc);
    }
}

static void reduce(const cpu_kernels *kernels, const hal_pack_cast *cast, const cpu_product *g, const reduction *own)
{
    for (int64_t column = 0; column < g->n; column += BLOCK_N) {
        const int64_t n = smaller(BLOCK_N, g->n - column);
        const int64_t at_once = own->rows > 0 ? rows_at_once(own->rows, n) : 0;
        for (int64_t row = 0; row < own->rows; row += at_once) {
            reduce_block(kernels, cast, g, own, row, smaller(at_once, own->rows - row), column, n);
        }
    }
}

static void add_bias(const cpu_product *g)
{
    const float *bias = g->bias;
    float *c = g->c;
    for (int64_t i = 0; i < g->m; ++i) {
        for (int64_t j = 0; j < g->n; ++j) {
            c[i * g->ldc + j] += bias[j];
        }
    }
}

/* c = the parts' sums in their order + beta c */
static void add_parts(const cpu_product *g, const float *partial, int parts)
{
    float *c = g->c;
    float beta = (float)g->beta;
#pragma omp parallel for schedule(static) num_threads(parts)
    for (int64_t i = 0; i < g->m; ++i) {
        float *row = c + i * g->ldc;
        for (int64_t j = 0; j < g->n; ++j) {
            float sum = beta == 0.0F ? 0.0F : beta * row[j];
            for (int part = 0; part < parts; ++part) {
                sum += partial[(part * g->m + i) * g->n + j];
            }
            row[j] = sum;
        }
    }
}

static weft_status gemm_by_reduction(weft_hal *hal, const cpu_product *g)
{
    const cpu_kernels *kernels = &cpu_state_of(hal)->kernels;
    int parts = cpu_parts(hal, smaller(g->m * g->n, INT64_MAX / g->k) * g->k / 8);
    bool own_sums = parts > 1 && g->m * g->n <= REDUCE_C && g->k >= 8 * REDUCE_K;
    parts = own_sums ? (int)smaller(parts, g->k / REDUCE_K) : parts;
    int64_t packed_size = REDUCE_K * kernels->gemm_columns(smaller(g->n, BLOCK_N));
    int64_t partial_size = own_sums ? g->m * g->n : 0;
    const int64_t wide_size = g->narrow_a ? REDUCE_K * g->m : 0;
    float *workspace = NULL;
    WEFT_TRY(cpu_workspace(hal, (size_t)(parts * (packed_size + partial_size + wide_size)) * sizeof *workspace,
                           (void **)&workspace));
    float *partial = workspace + parts * packed_size;
    float *wide = partial + parts * partial_size;
#pragma omp parallel for schedule(static) num_threads(parts) if (parts > 1)
    for (int part = 0; part < parts; ++part) {
        reduction own = {
            .packed = workspace + part * packed_size, .wide = wide + part * wide_size, .end = g->k, .rows = g->m};
        if (own_sums) {
            const hal_span terms = hal_split_rows(g->k, parts, part);
            own.begin = terms.begin;
            own.end = terms.end;
            own.c = partial + part * partial_size;
            own.ldc = g->n;
        } else {
            const hal_span rows = hal_split_rows(g->m, parts, part);
            own.row = rows.begin;
            own.rows = rows.end - rows.begin;
            own.c = (float *)g->c + own.row * g->ldc;
            own.ldc = g->ldc;
            own.beta = (float)g->beta;
        }
        reduce(kernels, casts_of(hal), g, &own);
    }
    if (own_sums) {
        add_parts(g, partial, parts);
    }
    if (g->bias != NULL) {
        add_bias(g);
    }
    return WEFT_OK;
}

/* ---- choice ------------------------------------------------------------------------------------------------------ */

/* The library has the large ones, where it blocks better, but for sums of many terms (times of both:
 * docs/notes/products.md). */
static bool use_library(const cpu_product *g)
{
    enum { LARGE = 256, TALL = 8 };
    if (g->alpha != 1.0) {
        return false;
    }
    const bool tall = g->k / TALL >= g->m && g->k / TALL >= g->n;
    return g->trans_a ? g->m * g->n > OWN_C && !tall : g->n > LARGE && g->k > LARGE;
}

/* The reference sums in double: it has what asks for a wider accumulator, and products without terms. */
static weft_status cpu_gemm(weft_hal *hal, const hal_gemm_args *args)
{
    const cpu_state *state = cpu_state_of(hal);
    const cpu_product g = {.trans_a = args->trans_a,
                           .trans_b = args->trans_b,
                           .m = args->c.rows,
                           .n = args->c.cols,
                           .k = args->trans_a ? args->a.rows : args->a.cols,
                           .alpha = args->alpha,
                           .beta = args->beta,
                           .a = args->a.source,
                           .lda = args->a.ld,
                           .b = args->b.source,
                           .ldb = args->b.ld,
                           .c = args->c.data,
                           .ldc = args->c.ld,
                           .narrow_a = args->a.dtype == WEFT_DTYPE_BF16,
                           .narrow_b = args->b.dtype == WEFT_DTYPE_BF16,
                           .narrow_c = args->c.dtype == WEFT_DTYPE_BF16,
                           .bias = args->bias.source};
    assert((args->trans_a ? args->a.cols : args->a.rows) == g.m &&
           (args->trans_b ? args->b.rows : args->b.cols) == g.n);
    assert((args->trans_b ? args->b.cols : args->b.rows) == g.k);
    if (args->c.dtype == WEFT_DTYPE_F64 || args->accumulate != WEFT_DTYPE_F32 || g.k == 0) {
        return state->ref.op.gemm(hal, args);
    }
    if (g.m == 0 || g.n == 0) {
        return WEFT_OK;
    }
    if (g.narrow_b || g.narrow_c || (g.narrow_a && !args->exact)) {
        return cpu_gemm_narrow(hal, &g);
    }
    if (state->library != NULL && !g.narrow_a && use_library(&g)) {
        return onednn_gemm(state->library, &g);
    }
    return g.trans_a ? gemm_by_reduction(hal, &g) : gemm_by_rows(hal, &g);
}

void cpu_gemm_op(hal_ops *ops)
{
    ops->gemm = cpu_gemm;
}
