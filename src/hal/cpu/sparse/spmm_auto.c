/*
 * hal/cpu/sparse/spmm_auto.c: which form suits a matrix: ROWS or LISTS. (BLOCKS is LISTS without lists: never faster by more
 * than the noise, and left to those who ask for it.)
 *
 * Two figures decide, taken from sampled runs of rows: the share of edges whose source the modelled cache misses (far),
 * and the (row, block) pairs an edge. In units of adding one source strip out of the second-level cache, an edge costs
 *     ROWS    1 - far + far * FAR
 *     LISTS   1 + pairs * PAIR + REFILL * threads * cols / edges
 * where FAR and PAIR depend on whether sources and destinations stay in the last cache: a pair reads and writes a
 * strip.
 *
 * When the two differ by less than CLEAR and the matrix is neither small nor too large for the last cache, both are
 * measured, each in its own unit of work - ROWS on a run of rows, LISTS on whole blocks, packing apart - and the rule's
 * choice is overruled when the other is faster by more than OVERRULE. Operands stand beside another matrix of their
 * width, as a layer's do: side by side with nothing between them, far rows cost ROWS a fifth less than in training. So
 * clear cases get the same form in every run, and the others change it only where two forms are equally good. Of a
 * matrix too large for the last cache a sample would stay in it between two timings, where the whole does not: the rule
 * alone decides.
 */
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "hal/cpu/sparse/spmm.h"

enum {
    SAMPLES = 16,             /* runs of rows looked at */
    SAMPLE_EDGES = 1 << 17,   /* edges of each */
    MEASURE_EDGES = 1 << 20,  /* smaller matrices are not worth a measurement */
    MEASURE_SAMPLE = 1 << 21, /* edges timed for each form */
    MEASURE_WIDTH = 64,       /* at most */
    REPEATS = 3,
    LAST_CACHE = 64 << 20 /* what a process can hope to keep of a shared last cache */
};
static const double FAR_CACHE = 4.0, FAR_MEMORY = 11.0, PAIR_CACHE = 3.5, PAIR_MEMORY = 22.0, REFILL = 2.0;
static const double CLEAR = 2.0, OVERRULE = 1.15;

typedef struct sample {
    int64_t edges, far, pairs;
} sample;

/* Rows from `begin` on until SAMPLE_EDGES edges have been seen. */
static void look_at(const hal_csr *csr, int64_t begin, int shift, int32_t *table, int32_t slots, int64_t *seen,
                    sample *sum)
{
    int64_t first = csr->offset[begin];
    memset(table, 0xFF, (size_t)slots * sizeof *table);
    for (int64_t row = begin; row < csr->rows && csr->offset[row] - first < SAMPLE_EDGES; row++) {
        for (int64_t e = csr->offset[row]; e < csr->offset[row + 1]; e++) {
            int32_t column = csr->column[e];
            sum->far += !spmm_cache_hit(table, slots - 1, column);
            sum->pairs += seen[column >> shift] != row + 1;
            seen[column >> shift] = row + 1;
        }
        sum->edges += csr->offset[row + 1] - csr->offset[row];
    }
}

/* First row at or after this share of the edges. */
static int64_t row_at(const hal_csr *csr, int i, int of)
{
    int64_t begin, end;
    hal_split_csr(csr->offset, csr->rows, of, i, &begin, &end);
    return begin < csr->rows ? begin : csr->rows - 1;
}

static weft_status take_sample(const hal_csr *csr, int64_t max_d, sample *sum)
{
    weft_status status = WEFT_OK;
    int32_t *table = NULL;
    int64_t *seen = NULL;
    int32_t slots = spmm_cache_slots(max_d);
    int shift = spmm_block_shift(max_d);
    *sum = (sample){0, 0, 0};
    WEFT_TRY_GOTO(WEFT_NEW(&table, slots, WEFT_MEM_WORKSPACE), status, done);
    WEFT_TRY_GOTO(WEFT_NEW_ZERO(&seen, (csr->cols >> shift) + 1, WEFT_MEM_WORKSPACE), status, done);
    bool all = csr->offset[csr->rows] <= (int64_t)SAMPLES * SAMPLE_EDGES;
    int samples = all ? 1 : SAMPLES;
    for (int i = 0; i < samples; i++) {
        look_at(csr, row_at(csr, i, samples), shift, table, slots, seen, sum);
    }
done:
    weft_free(table);
    weft_free(seen);
    return status;
}

/* ---- measuring -------------------------------------------------------------------------------------------------- */

/* What the candidates are timed on: `width` columns, the largest multiple of a strip up to what will be run. */
typedef struct trial {
    weft_hal *hal;
    const hal_csr *csr;
    int64_t max_d, width, strip;
    float *x, *out; /* [cols, width], [rows, width], the left halves of matrices twice as wide */
} trial;

/* Best of a few runs; `packed`: pretend that x has to be packed, by a scale of its rows. */
static double time_run(const trial *t, const hal_spmm *spmm, int64_t width, bool packed)
{
    const int64_t ld = 2 * t->width;
    const bool strip_given = spmm->form == HAL_SPMM_LISTS && !packed; /* x is a packed strip already */
    spmm_call args = {.d = width, .x = t->x, .ldx = strip_given ? width : ld, .out = t->out, .ldo = ld};
    double best = 0.0;
    args.pre = packed ? t->x : NULL;
    for (int i = 0; i < REPEATS; i++) {
        double started = clock_seconds();
        spmm_run_float(spmm, &args);
        double seconds = clock_seconds() - started;
        best = i == 0 || seconds < best ? seconds : best;
    }
    return best;
}

static double scale_up(const trial *t, int64_t sampled)
{
    return (double)t->csr->offset[t->csr->rows] / (double)(sampled > 0 ? sampled : 1);
}

/* Seconds of ROWS over the matrix, from a run of rows in its middle. */
static weft_status measure_rows(const trial *t, double *seconds)
{
    weft_status status = WEFT_OK;
    const hal_csr *csr = t->csr;
    hal_spmm *spmm = NULL;
    int64_t *offset = NULL;
    int64_t begin = csr->offset[csr->rows] > MEASURE_SAMPLE ? row_at(csr, 1, 2) : 0;
    int64_t end = begin;
    while (end < csr->rows && csr->offset[end] - csr->offset[begin] < MEASURE_SAMPLE) {
        end++;
    }
    WEFT_TRY_GOTO(WEFT_NEW(&offset, end - begin + 1, WEFT_MEM_WORKSPACE), status, done);
    for (int64_t row = begin; row <= end; row++) {
        offset[row - begin] = csr->offset[row] - csr->offset[begin];
    }
    hal_csr part = {
        .rows = end - begin, .cols = csr->cols, .offset = offset, .column = csr->column + csr->offset[begin]};
    WEFT_TRY_GOTO(spmm_begin(t->hal, &part, HAL_SPMM_ROWS, t->max_d, &spmm), status, done);
    WEFT_TRY_GOTO(spmm_build_rows(spmm, &part), status, done);
    *seconds = time_run(t, spmm, t->width, false) * scale_up(t, spmm->edges);
done:
    spmm_free(spmm);
    weft_free(offset);
    return status;
}

/* Seconds of LISTS over the matrix, from as many blocks in its middle as hold the sample. */
static weft_status measure_lists(const trial *t, double *seconds)
{
    weft_status status = WEFT_OK;
    const hal_csr *csr = t->csr;
    hal_spmm *spmm = NULL;
    int64_t blocks = spmm_block_count(csr->cols, spmm_block_shift(t->max_d));
    int64_t wanted = (int64_t)((double)blocks * MEASURE_SAMPLE / (double)csr->offset[csr->rows]) + 1;
    wanted = wanted < blocks ? wanted : blocks;
    WEFT_TRY_GOTO(spmm_begin(t->hal, csr, HAL_SPMM_LISTS, t->max_d, &spmm), status, done);
    WEFT_TRY_GOTO(spmm_build_lists(spmm, csr, (blocks - wanted + 1) / 2, wanted), status, done);
    double plain = time_run(t, spmm, t->strip, false);
    double packing = time_run(t, spmm, t->strip, true) - plain;
    const double strips = (double)t->width / (double)t->strip;
    *seconds = strips *
               (plain * scale_up(t, spmm->by_block.chunk[spmm->parts * wanted].edge) + (packing > 0.0 ? packing : 0.0));
done:
    spmm_free(spmm);
    return status;
}

static weft_status measure(weft_hal *hal, const hal_csr *csr, int64_t max_d, double *rows, double *lists)
{
    weft_status status = WEFT_OK;
    trial t = {.hal = hal, .csr = csr, .max_d = max_d};
    t.strip = max_d > SPMM_STRIP_NARROW ? SPMM_STRIP : SPMM_STRIP_NARROW;
    t.width = max_d >= MEASURE_WIDTH ? MEASURE_WIDTH : t.strip;
    size_t x_floats = 2 * (size_t)csr->cols * (size_t)t.width;
    size_t out_floats = 2 * (size_t)csr->rows * (size_t)t.width;
    WEFT_TRY_GOTO(WEFT_NEW(&t.x, x_floats, WEFT_MEM_WORKSPACE), status, done);
    WEFT_TRY_GOTO(WEFT_NEW(&t.out, out_floats, WEFT_MEM_WORKSPACE), status, done);
    memset(t.x, 0, x_floats * sizeof *t.x);
    memset(t.out, 0, out_floats * sizeof *t.out);
    WEFT_TRY_GOTO(measure_rows(&t, rows), status, done);
    WEFT_TRY_GOTO(measure_lists(&t, lists), status, done);
done:
    weft_free(t.x);
    weft_free(t.out);
    return status;
}

/* Predicted cost of an edge in both forms; tells whether the operands of a strip stay in the last cache. */
static bool predict(const sample *sum, const hal_csr *csr, int64_t max_d, int threads, double *rows, double *lists)
{
    const double edges = (double)csr->offset[csr->rows];
    const double far = (double)sum->far / (double)sum->edges;
    const double pairs = (double)sum->pairs / (double)sum->edges;
    const double width = (double)(max_d < SPMM_STRIP_NARROW ? SPMM_STRIP_NARROW : max_d);
    const double strip = width < SPMM_STRIP ? width : SPMM_STRIP;
    const bool x_stays = (double)csr->cols * width * sizeof(float) <= LAST_CACHE;
    const bool out_stays = (double)csr->rows * strip * sizeof(float) <= LAST_CACHE;
    *rows = 1.0 - far + far * (x_stays ? FAR_CACHE : FAR_MEMORY);
    *lists =
        1.0 + pairs * (out_stays ? PAIR_CACHE : PAIR_MEMORY) + REFILL * (double)threads * (double)csr->cols / edges;
    return out_stays;
}

weft_status spmm_choose(weft_hal *hal, const hal_csr *csr, int64_t max_d, hal_spmm_form *form)
{
    *form = HAL_SPMM_ROWS;
    const int64_t edges = csr->rows > 0 ? csr->offset[csr->rows] : 0;
    if (edges == 0) {
        return WEFT_OK;
    }
    sample sum;
    double rows, lists;
    WEFT_TRY(take_sample(csr, max_d, &sum));
    const bool stays = predict(&sum, csr, max_d, hal->threads, &rows, &lists);
    *form = rows <= lists ? HAL_SPMM_ROWS : HAL_SPMM_LISTS;
    const bool clear = rows > CLEAR * lists || lists > CLEAR * rows;
    if (clear || !stays || edges < MEASURE_EDGES) {
        return WEFT_OK;
    }
    WEFT_TRY(measure(hal, csr, max_d, &rows, &lists));
    if (*form == HAL_SPMM_ROWS && rows > OVERRULE * lists) {
        *form = HAL_SPMM_LISTS;
    } else if (*form == HAL_SPMM_LISTS && lists > OVERRULE * rows) {
        *form = HAL_SPMM_ROWS;
    }
    return WEFT_OK;
}
