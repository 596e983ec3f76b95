/*
 * hal/cpu/gemm/cpu_gemm_pairs.c: C[m, n] = A^T B of bfloat16 by dot products of pairs: gradients of weights, whose
 * terms are all rows of a batch.
 *
 * A thread packs BLOCK rows of A and of B at a time, two rows side by side, and adds their products to C:
 *
 *      A rows --pack--> panels of PAIR_A_PANEL columns \
 *                                                       multiply --> C, or the thread's own sum
 *      B rows --pack--> panels of PAIR_B_PANEL columns /
 *
 * Threads share out the rows of A and B and sum into a C of their own, added in their order; where C is large, they
 * share out the rows of C instead, and each packs all of B.
 */
#include "hal/cpu/cpu_backend.h"
#include "hal/cpu/gemm/gemm_sizes.h"

enum {
    BLOCK = 256 /* rows of A and B: a packed panel of B has 16 KiB, half of a first-level cache */
};

/* How the work is shared out, and the room of each part in elements of four bytes. */
typedef struct plan {
    int parts;
    bool own_sums;
    int64_t packed_a, packed_b, sum;
} plan;

static plan plan_of(const weft_hal *hal, int64_t m, int64_t n, int64_t k)
{
    plan p = {.parts = cpu_parts(hal, smaller(m * n, INT64_MAX / (k + 1)) * k / 8)};
    p.own_sums = p.parts > 1 && m * n <= OWN_C && k >= 2 * BLOCK;
    p.parts = (int)smaller(p.parts, p.own_sums ? k / BLOCK : (m + PAIR_A_PANEL - 1) / PAIR_A_PANEL);
    p.packed_a = BLOCK / 2 * whole(m, PAIR_A_PANEL);
    p.packed_b = BLOCK / 2 * whole(n, PAIR_B_PANEL);
    p.sum = p.own_sums ? whole(m * n, PAIR_B_PANEL) : 0;
    return p;
}

static size_t part_bytes(const plan *p)
{
    return (size_t)(p->packed_a + p->packed_b + p->sum) * sizeof(float);
}

weft_status cpu_pairs_prepare(weft_hal *hal, int64_t m, int64_t n, int64_t k)
{
    const plan p = plan_of(hal, m, n, k);
    void *room = NULL;
    return cpu_workspace(hal, (size_t)p.parts * part_bytes(&p), &room);
}

/* The row of B that belongs to row i of A. */
static int64_t row_of_b(const cpu_pair_product *g, int64_t i)
{
    const cpu_pixels *s = &g->pixels;
    if (s->stride[0] == 0) {
        return i;
    }
    const int64_t row = i / s->across;
    const int64_t image = row / s->down;
    return (image * s->height + row % s->down * s->stride[0]) * s->width + i % s->across * s->stride[1];
}

/* Rows [row, row + rows) of C, summed over rows [begin, end) of A. */
typedef struct piece {
    int64_t row, rows, begin, end;
    uint32_t *packed_a, *packed_b;
    float *c;
    int64_t ldc;
    bool adds;
} piece;

/* The rows of a block. The last pair may lack its second. */
typedef struct block_rows {
    int64_t rows;
    const uint16_t *a[BLOCK], *b[BLOCK];
} block_rows;

static void find_rows(const cpu_pair_product *g, const piece *own, int64_t first, block_rows *block)
{
    block->rows = first < own->end ? smaller(BLOCK, own->end - first) : 0;
    for (int64_t i = 0; i < block->rows; ++i) {
        block->a[i] = g->a + (first + i) * g->lda + own->row;
        block->b[i] = g->b + row_of_b(g, first + i) * g->ldb;
    }
    if (block->rows % 2 != 0) {
        block->a[block->rows] = block->b[block->rows] = NULL;
    }
}

static void sum_piece(const cpu_pair_kernels *kernels, const cpu_pair_product *g, const piece *own)
{
    block_rows blocks[2]; /* this one and the next, in turns */
    find_rows(g, own, own->begin, &blocks[0]);
    for (int64_t first = own->begin, turn = 0; first < own->end; first += BLOCK, turn = 1 - turn) {
        const block_rows *now = &blocks[turn];
        block_rows *next = &blocks[1 - turn];
        const int64_t pairs = (now->rows + 1) / 2;
        kernels->pack_a(pairs, own->rows, now->a, own->packed_a);
        kernels->pack_b(pairs, g->n, now->b, own->packed_b);
        find_rows(g, own, first + BLOCK, next);
        const cpu_pair_ahead ahead = {.rows = next->rows,
                                      .a_bytes = own->rows * (int64_t)sizeof *g->a,
                                      .b_bytes = g->n * (int64_t)sizeof *g->b,
                                      .a = next->a,
                                      .b = next->b};
        kernels->multiply(own->rows, g->n, pairs, own->packed_a, own->packed_b, own->adds || first > own->begin, own->c,
                          own->ldc, &ahead);
    }
}

/* C = the parts' sums in their order, + C where it adds. */
static void add_sums(const cpu_pair_product *g, const plan *p, const float *sums, int64_t between)
{
#pragma omp parallel for schedule(static) num_threads(p->parts)
    for (int64_t i = 0; i < g->m; ++i) {
        float *restrict row = g->c + i * g->ldc;
        for (int part = 0; part < p->parts; ++part) {
            const float *restrict sum = sums + part * between + i * g->n;
            const bool adds = g->adds || part > 0;
            for (int64_t j = 0; j < g->n; ++j) {
                row[j] = adds ? row[j] + sum[j] : sum[j];
            }
        }
    }
}

weft_status cpu_gemm_pairs(weft_hal *hal, const cpu_pair_product *g)
{
    const cpu_pair_kernels *kernels = cpu_state_of(hal)->kernels.pairs;
    const plan p = plan_of(hal, g->m, g->n, g->k);
    const int64_t between = p.packed_a + p.packed_b + p.sum;
    void *room = NULL;
    WEFT_TRY(cpu_workspace(hal, (size_t)p.parts * part_bytes(&p), &room));
#pragma omp parallel for schedule(static) num_threads(p.parts) if (p.parts > 1)
    for (int part = 0; part < p.parts; ++part) {
        uint32_t *packed = (uint32_t *)room + part * between;
        piece own = {.rows = g->m,
                     .end = g->k,
                     .packed_a = packed,
                     .packed_b = packed + p.packed_a,
                     .c = g->c,
                     .ldc = g->ldc,
                     .adds = g->adds};
        if (p.own_sums) {
            const hal_span terms = hal_split_rows(g->k, p.parts, part);
            own.begin = terms.begin;
            own.end = terms.end;
            own.c = (float *)(void *)(packed + p.packed_a + p.packed_b);
            own.ldc = g->n;
            own.adds = false;
        } else {
            const hal_span span = hal_split_rows((g->m + PAIR_A_PANEL - 1) / PAIR_A_PANEL, p.parts, part);
            own.row = span.begin * PAIR_A_PANEL;
            own.rows = smaller(span.end * PAIR_A_PANEL, g->m) - own.row;
            own.c = g->c + own.row * g->ldc;
        }
        sum_piece(kernels, g, &own);
    }
    if (p.own_sums) {
        add_sums(g, &p, (const float *)room + p.packed_a + p.packed_b, between);
    }
    return WEFT_OK;
}
