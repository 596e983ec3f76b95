/*
 * hal/cpu/sparse/spmm_auto.c: what the forms of a matrix cost.
 *
 * Forms are timed on the matrix itself (spmm_trial.c). What is expected, from two figures of sampled runs of rows,
 * decides for matrices too small to be worth that, and between forms that turn out alike: the share of edges whose
 * source the modelled cache misses (far), and the (row, block) pairs an edge. In units of adding one source strip out
 * of the second-level cache, an edge costs
 *     ROWS    1 - far + far * FAR
 *     LISTS   1 + pairs * PAIR + REFILL * threads * cols / edges
 * where FAR and PAIR depend on whether sources and destinations stay in the last cache: a pair reads and writes a
 * strip. Of TILES the rule knows nothing: whether they are timed follows the share of edges in rows of tiles in that
 * sample.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "hal/cpu/sparse/spmm_tiles.h"
#include "hal/cpu/sparse/spmm_trial.h"
#include "hal/spmm_least.h"

enum {
    SAMPLES = 16,           /* runs of rows looked at */
    SAMPLE_EDGES = 1 << 17, /* edges of each */
    LAST_CACHE = 64 << 20   /* what a process can hope to keep of a shared last cache */
};
static const double LEAST_TILED = 0.25; /* share of edges in tiles, from which on TILES may win */
static const double SHARED_READ = 2.3;  /* the strips of all sources and partial sums are in the last cache */
static const double FAR_CACHE = 4.0, FAR_MEMORY = 11.0, PAIR_CACHE = 3.5, PAIR_MEMORY = 22.0, REFILL = 2.0;

typedef struct sample {
    int64_t edges, far, pairs, tiled;
} sample;

/* What rows are looked at with. */
typedef struct lens {
    int shift, tile_shift;
    int32_t slots;
    int32_t *table;    /* [slots] */
    int64_t *seen;     /* [blocks] last row + 1 */
    uint32_t *in_tile; /* [tiles] zeros */
} lens;

/* Rows from `begin` on until SAMPLE_EDGES edges have been seen. */
static void look_at(const hal_csr *csr, int64_t begin, const lens *l, sample *sum)
{
    int64_t first = csr->offset[begin];
    memset(l->table, 0xFF, (size_t)l->slots * sizeof *l->table);
    for (int64_t row = begin; row < csr->rows && csr->offset[row] - first < SAMPLE_EDGES; row++) {
        for (int64_t e = csr->offset[row]; e < csr->offset[row + 1]; e++) {
            int32_t column = csr->column[e];
            sum->far += !spmm_cache_hit(l->table, l->slots - 1, column);
            sum->pairs += l->seen[column >> l->shift] != row + 1;
            l->seen[column >> l->shift] = row + 1;
        }
        sum->edges += csr->offset[row + 1] - csr->offset[row];
        sum->tiled += spmm_tiled_edges(csr, row, l->tile_shift, l->in_tile);
    }
}

/* First row at or after this share of the edges. */
static int64_t row_at(const hal_csr *csr, int i, int of)
{
    const hal_span own = hal_split_csr(csr->offset, csr->rows, of, i);
    return own.begin < csr->rows ? own.begin : csr->rows - 1;
}

static weft_status take_sample(const hal_csr *csr, int64_t max_d, int64_t d, sample *sum)
{
    weft_status status = WEFT_OK;
    lens l = {.shift = spmm_block_shift(HAL_SPMM_LISTS, d),
              .tile_shift = spmm_tile_shift(d),
              .slots = spmm_cache_slots(max_d)};
    *sum = (sample){.edges = 0};
    WEFT_TRY_GOTO(WEFT_NEW(&l.table, l.slots, WEFT_MEM_WORKSPACE), status, done);
    WEFT_TRY_GOTO(WEFT_NEW_ZERO(&l.seen, spmm_block_count(csr->cols, l.shift), WEFT_MEM_WORKSPACE), status, done);
    WEFT_TRY_GOTO(WEFT_NEW_ZERO(&l.in_tile, spmm_block_count(csr->cols, l.tile_shift), WEFT_MEM_WORKSPACE), status,
                  done);
    bool all = csr->offset[csr->rows] <= (int64_t)SAMPLES * SAMPLE_EDGES;
    int samples = all ? 1 : SAMPLES;
    for (int i = 0; i < samples; i++) {
        look_at(csr, row_at(csr, i, samples), &l, sum);
    }
done:
    WEFT_FREE_ALL(l.table, l.seen, l.in_tile);
    return status;
}

/* The predicted cost of all edges. */
static void expect(const sample *sum, const hal_csr *csr, int64_t d, int threads, double expected[HAL_SPMM_KINDS])
{
    const double edges = (double)csr->offset[csr->rows];
    const double far = (double)sum->far / (double)sum->edges;
    const double pairs = (double)sum->pairs / (double)sum->edges;
    const double width = (double)(d < SPMM_STRIP_NARROW ? SPMM_STRIP_NARROW : d);
    const double strip = width < SPMM_STRIP ? width : SPMM_STRIP;
    const bool x_stays = (double)csr->cols * width * sizeof(float) <= LAST_CACHE;
    const bool out_stays = (double)csr->rows * strip * sizeof(float) <= LAST_CACHE;
    const double refill = REFILL * (double)threads * (double)csr->cols;
    expected[HAL_SPMM_ROWS] = edges * (1.0 - far + far * (x_stays ? FAR_CACHE : FAR_MEMORY));
    expected[HAL_SPMM_LISTS] = edges * (1.0 + pairs * (out_stays ? PAIR_CACHE : PAIR_MEMORY)) + refill;
}

weft_status spmm_try(weft_hal *hal, const hal_csr *csr, const hal_spmm_request *request, hal_spmm_trial *trial)
{
    const int64_t edges = csr->rows > 0 ? csr->offset[csr->rows] : 0;
    *trial = (hal_spmm_trial){.seconds = {0}};
    if (edges == 0 || request->max_d == 0) {
        return WEFT_OK;
    }
    sample sum;
    spmm_entry entry;
    double shared = 0.0;
    const int64_t d = spmm_usual(csr, request->max_d);
    WEFT_TRY(take_sample(csr, request->max_d, d, &sum));
    expect(&sum, csr, d, hal->threads, trial->expected);
    WEFT_TRY(edges >= HAL_SPMM_LEAST ? hal_share_sample(csr, true, hal->threads, &shared) : WEFT_OK);
    entry.shared = shared >= HAL_SHARE_LEAST;
    entry.tiled = (double)sum.tiled >= LEAST_TILED * (double)sum.edges;
    trial->expected[HAL_SPMM_SHARED] =
        entry.shared ? (double)edges * pow(1.0 - shared, HAL_SHARE_PASSES) * SHARED_READ : 0.0;
    return edges < HAL_SPMM_LEAST || request->by_rule ? WEFT_OK : spmm_trial_run(hal, csr, request, entry, trial);
}
