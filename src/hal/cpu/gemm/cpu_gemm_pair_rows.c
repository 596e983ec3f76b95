/* hal/cpu/gemm/cpu_gemm_pair_rows.c: see hal/cpu/gemm/gemm_pair_rows.h. */
#include "hal/cpu/gemm/gemm_pair_rows.h"

#include <string.h>

#include "hal/cpu/cpu_backend.h"
#include "hal/cpu/gemm/gemm_round.h"
#include "hal/cpu/gemm/gemm_sizes.h"
#include "hal/cpu/kernels.h"

enum {
    ROUNDED = 48,       /* rows of A, or of C, that are rounded at once */
    MOST_B = 2 * OWN_C, /* elements of B: half of a second-level cache */
    STEPS = 2,          /* steps of a sum between two passes over C */
    SUM_ROWS = STEPS * PAIR_SUM_STEP,
    LINE = 16,            /* floats of a cache line */
    MOST_SUMS = OWN_C / 2 /* elements of C: sums of a thread in half of a second-level cache */
};

/* ---- by rows ---------------------------------------------------------------------------------------------------- */

bool cpu_gemm_has_pair_rows(const weft_hal *hal, const cpu_product *g)
{
    return cpu_state_of(hal)->kernels.pair_rows != NULL && g->k * g->n <= MOST_B;
}

/* Rows of B two at a time, in the kernels' layout. rows [k + 1], room [k, n]: scratch memory */
static void pack_rows_of_b(const weft_hal *hal, const cpu_product *g, const uint16_t **rows, uint16_t *room,
                           uint32_t *packed)
{
    const hal_pack_cast *cast = casts_of(hal);
    halves b = {.data = room, .ld = g->n};
    if (!g->trans_b) {
        b = rounded(cast, g->b, g->narrow_b, g->ldb, (hal_span){.end = g->k}, g->n, room);
    }
    for (int64_t j = 0; j < g->n && g->trans_b; ++j) {
        for (int64_t p = 0; p < g->k; ++p) {
            if (g->narrow_b) {
                room[p * g->n + j] = ((const uint16_t *)g->b)[j * g->ldb + p];
            } else {
                cast->encode((const float *)g->b + j * g->ldb + p, room + p * g->n + j, 1);
            }
        }
    }
    for (int64_t p = 0; p <= g->k; ++p) {
        rows[p] = p < g->k ? b.data + p * b.ld : NULL;
    }
    cpu_state_of(hal)->kernels.pairs->pack_b((g->k + 1) / 2, g->n, rows, packed);
}

/* Where a thread rounds rows of A [ROUNDED, k], and makes rows of C [ROUNDED, n] that are rounded. */
typedef struct row_rooms {
    uint16_t *a;
    float *c;
} row_rooms;

static void multiply_rows(const weft_hal *hal, const cpu_product *g, const uint32_t *packed, hal_span rows,
                          const row_rooms *room)
{
    const cpu_pair_row_kernels *kernels = cpu_state_of(hal)->kernels.pair_rows;
    const hal_pack_cast *cast = casts_of(hal);
    const int64_t count = rows.end - rows.begin;
    const halves a = rounded(cast, g->a, g->narrow_a, g->lda, rows, g->k, room->a);
    if (!g->narrow_c) {
        kernels->multiply_rows(count, g->n, g->k, a.data, a.ld, packed, (float)g->beta, g->bias,
                               (float *)g->c + rows.begin * g->ldc, g->ldc);
        return;
    }
    uint16_t *c = (uint16_t *)g->c + rows.begin * g->ldc;
    for (int64_t i = 0; i < count && g->beta != 0.0; ++i) {
        cast->decode(c + i * g->ldc, room->c + i * g->n, g->n);
    }
    kernels->multiply_rows(count, g->n, g->k, a.data, a.ld, packed, (float)g->beta, g->bias, room->c, g->n);
    for (int64_t i = 0; i < count; ++i) {
        cast->encode(room->c + i * g->n, c + i * g->ldc, g->n);
    }
}

weft_status cpu_gemm_pair_rows(weft_hal *hal, const cpu_product *g)
{
    const int parts = cpu_parts(hal, smaller(g->m * g->n, INT64_MAX / g->k) * g->k / 8);
    const int64_t packed_size = (g->k + 1) / 2 * whole(g->n, PAIR_B_PANEL);
    const int64_t part_size = ROUNDED * (g->k + g->n);
    const size_t floats = (size_t)(packed_size + parts * part_size), list = (size_t)(g->k + 1) * sizeof(uint16_t *);
    char *memory = NULL;
    WEFT_TRY(
        cpu_workspace(hal, list + floats * sizeof(float) + (size_t)(g->k * g->n) * sizeof(uint16_t), (void **)&memory));
    uint32_t *packed = (uint32_t *)(void *)(memory + list);
    float *rooms = (float *)packed + packed_size;
    pack_rows_of_b(hal, g, (const uint16_t **)(void *)memory, (uint16_t *)(rooms + parts * part_size), packed);
#pragma omp parallel for schedule(static) num_threads(parts) if (parts > 1)
    for (int part = 0; part < parts; ++part) {
        float *own = rooms + part * part_size;
        const row_rooms room = {.c = own, .a = (uint16_t *)(own + ROUNDED * g->n)};
        const hal_span span = hal_split_rows(g->m, parts, part);
        const int64_t step = g->narrow_a && !g->narrow_c ? larger(span.end - span.begin, 1) : ROUNDED;
        for (int64_t row = span.begin; row < span.end; row += step) {
            multiply_rows(hal, g, packed, (hal_span){.begin = row, .end = smaller(row + step, span.end)}, &room);
        }
    }
    return WEFT_OK;
}

/* ---- by sums ---------------------------------------------------------------------------------------------------- */

bool cpu_gemm_has_pair_sums(const weft_hal *hal, const cpu_product *g)
{
    return cpu_state_of(hal)->kernels.pair_rows != NULL && smaller(g->m, g->n) <= PAIR_SUM_NARROW &&
           g->m * g->n <= MOST_SUMS;
}

/* A matrix of a sum: as A of the kernels the wide one, whose columns are lanes, as B the narrow one. */
typedef struct sum_side {
    const void *data;
    bool narrow; /* bfloat16 */
    int64_t ld, cols;
} sum_side;

typedef struct sum_sides {
    sum_side wide, few;
    bool across; /* the wide one is B of the product */
} sum_sides;

static sum_sides sides_of(const cpu_product *g)
{
    const sum_side a = {.data = g->a, .narrow = g->narrow_a, .ld = g->lda, .cols = g->m};
    const sum_side b = {.data = g->b, .narrow = g->narrow_b, .ld = g->ldb, .cols = g->n};
    const bool across = g->n > g->m;
    return (sum_sides){.wide = across ? b : a, .few = across ? a : b, .across = across};
}

/* Scratch memory of a thread: SUM_ROWS rounded rows of both sides, those of `few` in the kernels' layout, sums. */
typedef struct sum_rooms {
    uint16_t *wide, *few;
    uint32_t *packed;
    float *sums;
} sum_rooms;

/* The last rows, up to a whole step: zeros behind them. */
static halves with_zeros(halves rows, int64_t count, int64_t cols, uint16_t *room)
{
    for (int64_t i = 0; i < SUM_ROWS; ++i) {
        if (i >= count) {
            memset(room + i * cols, 0, (size_t)cols * sizeof *room);
        } else if (rows.data != room) {
            memcpy(room + i * cols, rows.data + i * rows.ld, (size_t)cols * sizeof *room);
        }
    }
    return (halves){.data = room, .ld = cols};
}

static void add_rows(const weft_hal *hal, const sum_sides *sides, hal_span rows, const sum_rooms *room)
{
    const cpu_kernels *kernels = &cpu_state_of(hal)->kernels;
    const sum_side *wide = &sides->wide, *few = &sides->few;
    const int64_t count = rows.end - rows.begin, panels = whole(few->cols, PAIR_B_PANEL);
    halves a = rounded(casts_of(hal), wide->data, wide->narrow, wide->ld, rows, wide->cols, room->wide);
    halves b = rounded(casts_of(hal), few->data, few->narrow, few->ld, rows, few->cols, room->few);
    if (count < SUM_ROWS) {
        a = with_zeros(a, count, wide->cols, room->wide);
        b = with_zeros(b, count, few->cols, room->few);
    }
    const uint16_t *row[SUM_ROWS];
    for (int64_t i = 0; i < SUM_ROWS; ++i) {
        row[i] = b.data + i * b.ld;
    }
    for (int64_t s = 0; s < STEPS; ++s) {
        kernels->pairs->pack_b(PAIR_SUM_STEP / 2, few->cols, row + s * PAIR_SUM_STEP,
                               room->packed + s * panels * (PAIR_SUM_STEP / 2));
    }
    kernels->pair_rows->add_rows(STEPS, wide->cols, few->cols, a.data, a.ld, room->packed, room->sums);
}

/* C = the parts' sums in their order, + beta C. */
static void finish_sums(const cpu_product *g, const sum_sides *sides, const float *sums, int64_t between, int parts)
{
    const int64_t few = sides->few.cols;
#pragma omp parallel for schedule(static) num_threads(parts) if (parts > 1)
    for (int64_t i = 0; i < g->m; ++i) {
        float *c = (float *)g->c + i * g->ldc;
        for (int64_t j = 0; j < g->n; ++j) {
            const int64_t column = sides->across ? j : i, other = sides->across ? i : j;
            const int64_t strip = column / PAIR_SUM_STRIP * few + other;
            const float *sum = sums + strip * PAIR_SUM_STRIP + pair_sum_place(column % PAIR_SUM_STRIP);
            float all = g->beta != 0.0 ? (float)g->beta * c[j] : 0.0F;
            for (int part = 0; part < parts; ++part) {
                all += sum[part * between];
            }
            c[j] = all;
        }
    }
}

weft_status cpu_gemm_pair_sums(weft_hal *hal, const cpu_product *g)
{
    const sum_sides sides = sides_of(g);
    const int64_t most = smaller(g->m * g->n, INT64_MAX / g->k) * g->k / 8;
    const int parts = (int)smaller(cpu_parts(hal, most), (g->k + SUM_ROWS - 1) / SUM_ROWS);
    const int64_t sums_size = whole(sides.wide.cols, PAIR_SUM_STRIP) * sides.few.cols;
    const int64_t packed_size = SUM_ROWS / 2 * whole(sides.few.cols, PAIR_B_PANEL);
    const int64_t wide_size = SUM_ROWS / 2 * sides.wide.cols, few_size = SUM_ROWS / 2 * sides.few.cols;
    const int64_t between = whole(sums_size + packed_size + wide_size + few_size, LINE);
    float *memory = NULL;
    WEFT_TRY(cpu_workspace(hal, (size_t)(parts * between) * sizeof *memory, (void **)&memory));
#pragma omp parallel for schedule(static) num_threads(parts) if (parts > 1)
    for (int part = 0; part < parts; ++part) {
        float *own = memory + part * between;
        const sum_rooms room = {.sums = own,
                                .packed = (uint32_t *)(own + sums_size),
                                .wide = (uint16_t *)(own + sums_size + packed_size),
                                .few = (uint16_t *)(own + sums_size + packed_size + wide_size)};
        const hal_span span = hal_split_rows(g->k, parts, part);
        memset(own, 0, (size_t)sums_size * sizeof *own);
        for (int64_t row = span.begin; row < span.end; row += SUM_ROWS) {
            add_rows(hal, &sides, (hal_span){.begin = row, .end = smaller(row + SUM_ROWS, span.end)}, &room);
        }
    }
    finish_sums(g, &sides, memory, between, parts);
    return WEFT_OK;
}
