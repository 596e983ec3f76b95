/* hal/cpu/gemm/cpu_gemm_tall.c: see hal/cpu/gemm/gemm_tall.h. */
#include "hal/cpu/gemm/gemm_tall.h"

#include "base/failure/failure.h"
#include "hal/cpu/cpu_backend.h"
#include "hal/cpu/gemm/gemm_pair_rows.h"
#include "hal/cpu/gemm/gemm_round.h"
#include "hal/cpu/gemm/gemm_sizes.h"

enum {
    TALL = 1 << 14,   /* rows, from which on a product is cut */
    CHUNK = 4096,     /* rows of one by rows */
    SUM_NARROW = 512, /* rows of one by reduction: of at most NARROW columns on one side */
    SUM_CHUNK = 4096, /* of more */
    NARROW = 64,
    LEAST_K = 16,       /* terms of a product by rows: of fewer a tile is mostly empty */
    LEAST_NUMBERS = 512 /* of the small matrix: less is not worth a call a chunk */
};

/* Sums that are cut: on processors with tiles (AMX) by the library, else those with few columns, by ours. */
static bool is_sum(const weft_hal *hal, const cpu_product *g)
{
    const bool by_tiles = cpu_state_of(hal)->kernels.pairs == NULL && g->m * g->n <= 4 * OWN_C;
    return (by_tiles || cpu_gemm_has_pair_sums(hal, g)) && g->trans_a && !g->trans_b && g->narrow_a && !g->narrow_c &&
           g->bias == NULL && g->k >= TALL && g->m * g->n >= LEAST_NUMBERS;
}

static bool is_map(const cpu_product *g)
{
    return !g->trans_a && (g->narrow_a || g->narrow_c) && g->m >= TALL && g->k >= LEAST_K &&
           g->k * g->n >= LEAST_NUMBERS;
}

bool cpu_gemm_is_tall(const weft_hal *hal, const cpu_product *g)
{
    return hal->native_bf16 && cpu_state_of(hal)->library != NULL && g->alpha == 1.0 && (is_sum(hal, g) || is_map(g));
}

/* Threads that take rows of a product, each of at least a chunk. */
static int parts_of(const weft_hal *hal, int64_t rows, int64_t chunk)
{
    const int64_t chunks = rows / chunk;
    return chunks < hal->threads ? (int)chunks : hal->threads;
}

/* ---- by rows ----------------------------------------------------------------------------------------------------- */

/* Rows `own` of C, by one thread, with B in bfloat16. room: [CHUNK, k], for rows of A that are rounded. */
static weft_status multiply_rows(onednn *library, const hal_pack_cast *cast, const cpu_product *g, hal_span own,
                                 uint16_t *room)
{
    const size_t cell = g->narrow_c ? sizeof(uint16_t) : sizeof(float);
    cpu_product part = *g;
    part.narrow_a = true;
    for (int64_t row = own.begin; row < own.end; row += CHUNK) {
        const hal_span rows = {.begin = row, .end = row + smaller(CHUNK, own.end - row)};
        const halves a = rounded(cast, g->a, g->narrow_a, g->lda, rows, g->k, room);
        part.m = rows.end - rows.begin;
        part.a = a.data;
        part.lda = a.ld;
        part.c = (char *)g->c + (size_t)(row * g->ldc) * cell;
        WEFT_TRY(onednn_gemm(library, &part));
    }
    return WEFT_OK;
}

static weft_status by_rows(weft_hal *hal, const cpu_product *g)
{
    const hal_pack_cast *cast = casts_of(hal);
    const hal_span all = {.end = g->trans_b ? g->n : g->k};
    const int64_t cols = g->trans_b ? g->k : g->n;
    const int64_t b_size = g->narrow_b ? 0 : all.end * cols, a_size = g->narrow_a ? 0 : CHUNK * g->k;
    const int parts = parts_of(hal, g->m, CHUNK);
    cpu_product narrow = *g;
    first_failure failure = {.status = WEFT_OK};
    uint16_t *room = NULL;
    WEFT_TRY(cpu_workspace(hal, (size_t)(b_size + parts * a_size) * sizeof *room, (void **)&room));
    const halves b = rounded(cast, g->b, g->narrow_b, g->ldb, all, cols, room);
    narrow.b = b.data;
    narrow.ldb = b.ld;
    narrow.narrow_b = true;
#pragma omp parallel for schedule(static) num_threads(parts) if (parts > 1)
    for (int part = 0; part < parts; ++part) {
        onednn *library = cpu_state_of(hal)->alone[part];
        uint16_t *own = room + b_size + part * a_size;
        first_failure_note(&failure, part,
                           multiply_rows(library, cast, &narrow, hal_split_rows(g->m, parts, part), own));
    }
    return first_failure_tell(&failure);
}

/* ---- by reduction ------------------------------------------------------------------------------------------------ */

/* The library copies its second matrix in the order in which it lies, and its first one across: the wide one is second,
 * so that C^T is summed where A is wide. */
static bool sums_across(const cpu_product *g)
{
    return g->m > g->n;
}

/* What a thread of a reduction has of its own. */
typedef struct reduction {
    onednn *library;
    hal_span terms;
    int64_t chunk;
    uint16_t *room; /* [chunk, n], for rows of B that are rounded */
    float *sum;     /* [m, n] of C, or of C^T */
} reduction;

/* own->sum = the terms of C, or of C^T, by one thread. */
static weft_status sum_terms(const hal_pack_cast *cast, const cpu_product *g, const reduction *own)
{
    const bool across = sums_across(g);
    cpu_product part = *g;
    part.narrow_b = true;
    part.m = across ? g->n : g->m;
    part.n = across ? g->m : g->n;
    part.c = own->sum;
    part.ldc = part.n;
    for (int64_t row = own->terms.begin; row < own->terms.end; row += own->chunk) {
        const hal_span rows = {.begin = row, .end = row + smaller(own->chunk, own->terms.end - row)};
        const halves a = rounded(cast, g->a, true, g->lda, rows, g->m, NULL);
        const halves b = rounded(cast, g->b, g->narrow_b, g->ldb, rows, g->n, own->room);
        part.k = rows.end - rows.begin;
        part.a = across ? b.data : a.data;
        part.lda = across ? b.ld : a.ld;
        part.b = across ? a.data : b.data;
        part.ldb = across ? a.ld : b.ld;
        part.beta = row > own->terms.begin ? 1.0 : 0.0;
        WEFT_TRY(onednn_gemm(own->library, &part));
    }
    return WEFT_OK;
}

/* C = the threads' sums in their order, + C where it adds. */
static void add_sums(const cpu_product *g, const float *sum, int parts)
{
    const int64_t size = g->m * g->n;
    const int64_t row_step = sums_across(g) ? 1 : g->n, column_step = sums_across(g) ? g->m : 1;
#pragma omp parallel for schedule(static) num_threads(parts) if (parts > 1)
    for (int64_t i = 0; i < g->m; ++i) {
        float *row = (float *)g->c + i * g->ldc;
        for (int64_t j = 0; j < g->n; ++j) {
            float all = g->beta != 0.0 ? (float)g->beta * row[j] : 0.0F;
            for (int part = 0; part < parts; ++part) {
                all += sum[part * size + i * row_step + j * column_step];
            }
            row[j] = all;
        }
    }
}

static weft_status by_reduction(weft_hal *hal, const cpu_product *g)
{
    const int64_t chunk = smaller(g->m, g->n) <= NARROW ? SUM_NARROW : SUM_CHUNK;
    const int parts = parts_of(hal, g->k, chunk);
    first_failure failure = {.status = WEFT_OK};
    const int64_t size = g->m * g->n, room_size = g->narrow_b ? 0 : chunk * g->n;
    float *sum = NULL;
    WEFT_TRY(cpu_workspace(hal, (size_t)parts * ((size_t)size * sizeof *sum + (size_t)room_size * sizeof(uint16_t)),
                           (void **)&sum));
    uint16_t *rooms = (uint16_t *)(sum + parts * size);
#pragma omp parallel for schedule(static) num_threads(parts) if (parts > 1)
    for (int part = 0; part < parts; ++part) {
        const reduction own = {.library = cpu_state_of(hal)->alone[part],
                               .terms = hal_split_rows(g->k, parts, part),
                               .chunk = chunk,
                               .room = rooms + part * room_size,
                               .sum = sum + part * size};
        first_failure_note(&failure, part, sum_terms(casts_of(hal), g, &own));
    }
    WEFT_TRY(first_failure_tell(&failure));
    add_sums(g, sum, parts);
    return WEFT_OK;
}

weft_status cpu_gemm_tall(weft_hal *hal, const cpu_product *product)
{
    if (product->trans_a) {
        return cpu_gemm_has_pair_sums(hal, product) ? cpu_gemm_pair_sums(hal, product) : by_reduction(hal, product);
    }
    return cpu_gemm_has_pair_rows(hal, product) ? cpu_gemm_pair_rows(hal, product) : by_rows(hal, product);
}
