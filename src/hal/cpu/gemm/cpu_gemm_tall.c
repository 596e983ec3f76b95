/* hal/cpu/gemm/cpu_gemm_tall.c: see hal/cpu/gemm/gemm_tall.h. */
#include "hal/cpu/gemm/gemm_tall.h"

#include "hal/cpu/cpu_backend.h"
#include "hal/cpu/gemm/gemm_sizes.h"
#include "hal/pack.h"

enum {
    TALL = 1 << 14,    /* rows, from which on a product is cut */
    CHUNK = 4096,      /* rows of one by rows */
    SUM_NARROW = 1024, /* rows of one by reduction: of at most NARROW columns on one side */
    SUM_CHUNK = 4096,  /* of more */
    NARROW = 64,
    LEAST_K = 16,       /* terms of a product by rows: of fewer a tile is mostly empty */
    LEAST_NUMBERS = 512 /* of the small matrix: less is not worth a call a chunk */
};

/* Sums in which nothing of ours stands up to the library: there are tiles (AMX), and so no products of pairs. */
static bool is_sum(const weft_hal *hal, const cpu_product *g)
{
    return cpu_state_of(hal)->kernels.pairs == NULL && g->trans_a && !g->trans_b && g->narrow_a && g->narrow_b &&
           !g->narrow_c && g->bias == NULL && g->k >= TALL && g->m * g->n >= LEAST_NUMBERS && g->m * g->n <= 4 * OWN_C;
}

static bool is_map(const cpu_product *g)
{
    return !g->trans_a && g->narrow_a && g->m >= TALL && g->k >= LEAST_K && g->k * g->n >= LEAST_NUMBERS;
}

bool cpu_gemm_is_tall(const weft_hal *hal, const cpu_product *g)
{
    return hal->native_bf16 && cpu_state_of(hal)->library != NULL && g->alpha == 1.0 && (is_sum(hal, g) || is_map(g));
}

static const void *halves_at(const void *matrix, int64_t at)
{
    return (const uint16_t *)matrix + at;
}

/* ---- by rows ----------------------------------------------------------------------------------------------------- */

static weft_status round_b(weft_hal *hal, cpu_product *g)
{
    const hal_pack_cast *cast = &hal_pack_of(cpu_state_of(hal)->isa)->bf16;
    const int64_t rows = g->trans_b ? g->n : g->k, cols = g->trans_b ? g->k : g->n;
    void *room = NULL;
    WEFT_TRY(cpu_workspace(hal, (size_t)(rows * cols) * sizeof(uint16_t), &room));
    for (int64_t i = 0; i < rows; ++i) {
        cast->encode((const float *)g->b + i * g->ldb, (uint16_t *)room + i * cols, cols);
    }
    g->b = room;
    g->ldb = cols;
    g->narrow_b = true;
    return WEFT_OK;
}

static weft_status by_rows(weft_hal *hal, const cpu_product *g)
{
    cpu_product part = *g;
    WEFT_TRY(g->narrow_b ? WEFT_OK : round_b(hal, &part));
    const size_t cell = g->narrow_c ? sizeof(uint16_t) : sizeof(float);
    for (int64_t row = 0; row < g->m; row += CHUNK) {
        part.m = smaller(CHUNK, g->m - row);
        part.a = halves_at(g->a, row * g->lda);
        part.c = (char *)g->c + (size_t)(row * g->ldc) * cell;
        WEFT_TRY(onednn_gemm(cpu_state_of(hal)->library, &part));
    }
    return WEFT_OK;
}

/* ---- by reduction ------------------------------------------------------------------------------------------------ */

/* C = the transpose of sum [n, m], + C where it adds. */
static void add_transposed(const cpu_product *g, const float *sum)
{
    for (int64_t i = 0; i < g->m; ++i) {
        float *row = (float *)g->c + i * g->ldc;
        for (int64_t j = 0; j < g->n; ++j) {
            row[j] = sum[j * g->m + i] + (g->beta != 0.0 ? (float)g->beta * row[j] : 0.0F);
        }
    }
}

/* The library copies its second matrix in the order in which it lies, and its first one across: the wide one is second,
 * so that C^T is summed where A is wide. */
static weft_status by_reduction(weft_hal *hal, const cpu_product *g)
{
    const bool across = g->m > g->n;
    const int64_t chunk = smaller(g->m, g->n) <= NARROW ? SUM_NARROW : SUM_CHUNK;
    cpu_product part = *g;
    if (across) {
        part.m = g->n;
        part.n = g->m;
        part.lda = g->ldb;
        part.ldb = g->lda;
        part.ldc = g->m;
        WEFT_TRY(cpu_workspace(hal, (size_t)(g->m * g->n) * sizeof(float), &part.c));
    }
    for (int64_t row = 0; row < g->k; row += chunk) {
        const void *a = halves_at(g->a, row * g->lda), *b = halves_at(g->b, row * g->ldb);
        part.k = smaller(chunk, g->k - row);
        part.a = across ? b : a;
        part.b = across ? a : b;
        part.beta = row > 0 ? 1.0 : across ? 0.0 : g->beta;
        WEFT_TRY(onednn_gemm(cpu_state_of(hal)->library, &part));
    }
    if (across) {
        add_transposed(g, part.c);
    }
    return WEFT_OK;
}

weft_status cpu_gemm_tall(weft_hal *hal, const cpu_product *product)
{
    return product->trans_a ? by_reduction(hal, product) : by_rows(hal, product);
}
