/*
 * hal/cpu/spmm_auto.c: which form suits a matrix.
 *
 * Two figures decide, taken from sampled runs of rows: the share of edges whose source the modelled cache misses (far),
 * and the (row, block) pairs an edge. In units of adding one source strip out of the second-level cache, an edge costs
 *     ROWS    near + FAR * far
 *     LISTS   1 + PAIR * pairs + REFILL * (threads * cols / edges)
 * When the two differ by less than MARGIN and the matrix is large, both are measured on a sample in their own unit of
 * work - ROWS on a run of rows, LISTS on whole blocks - and the faster takes it. BLOCKS is never faster than LISTS by
 * more than the noise and is left to those who ask for it.
 * The clear cases, and all small matrices, are decided by the rule alone: the same in every run.
 */
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "hal/cpu/spmm.h"

enum {
    SAMPLES = 16,             /* runs of rows looked at */
    SAMPLE_EDGES = 1 << 17,   /* edges of each */
    MEASURE_EDGES = 1 << 22,  /* smaller matrices are not worth a measurement */
    MEASURE_SAMPLE = 1 << 21, /* edges timed for each form */
    MEASURE_WIDTH = SPMM_STRIP,
    REPEATS = 3
};
static const double FAR_COST = 8.0, FAR_COST_CACHED = 2.5, PAIR_COST = 3.5, REFILL_COST = 2.0, MARGIN = 1.6;

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

static double time_run(const hal_spmm *spmm, const hal_spmm_args *args)
{
    double best = 0.0;
    for (int i = 0; i < REPEATS; i++) {
        double started = clock_seconds();
        spmm_run_float(spmm, args);
        double seconds = clock_seconds() - started;
        best = i == 0 || seconds < best ? seconds : best;
    }
    return best;
}

/* Seconds an edge of ROWS over a run of rows in the middle of the matrix. */
static weft_status measure_rows(weft_hal *hal, const hal_csr *csr, int64_t max_d, hal_spmm_args *args, double *seconds)
{
    weft_status status = WEFT_OK;
    hal_spmm *spmm = NULL;
    int64_t *offset = NULL;
    int64_t begin = row_at(csr, 1, 2);
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
    WEFT_TRY_GOTO(spmm_begin(hal, &part, HAL_SPMM_ROWS, max_d, &spmm), status, done);
    WEFT_TRY_GOTO(spmm_build_rows(spmm, &part), status, done);
    *seconds = time_run(spmm, args) / (double)(spmm->edges > 0 ? spmm->edges : 1);
done:
    spmm_free(spmm);
    weft_free(offset);
    return status;
}

/* Seconds an edge of LISTS over as many blocks in the middle of the matrix as hold the sample. */
static weft_status measure_lists(weft_hal *hal, const hal_csr *csr, int64_t max_d, hal_spmm_args *args, double *seconds)
{
    weft_status status = WEFT_OK;
    hal_spmm *spmm = NULL;
    int64_t blocks = ((csr->cols - 1) >> spmm_block_shift(max_d)) + 1;
    int64_t edges = csr->offset[csr->rows];
    int64_t wanted = (int64_t)((double)blocks * MEASURE_SAMPLE / (double)edges) + 1;
    wanted = wanted < blocks ? wanted : blocks;
    WEFT_TRY_GOTO(spmm_begin(hal, csr, HAL_SPMM_LISTS, max_d, &spmm), status, done);
    WEFT_TRY_GOTO(spmm_build_lists(spmm, csr, (blocks - wanted) / 2, wanted), status, done);
    int64_t held = spmm->by_block.chunk[spmm->parts * wanted].edge;
    *seconds = time_run(spmm, args) / (double)(held > 0 ? held : 1);
done:
    spmm_free(spmm);
    return status;
}

static weft_status measure(weft_hal *hal, const hal_csr *csr, int64_t max_d, hal_spmm_form *form)
{
    weft_status status = WEFT_OK;
    float *x = NULL;
    float *out = NULL;
    double rows = 0.0;
    double lists = 0.0;
    const size_t width = MEASURE_WIDTH;
    WEFT_TRY_GOTO(WEFT_NEW(&x, (size_t)csr->cols * width, WEFT_MEM_WORKSPACE), status, done);
    WEFT_TRY_GOTO(WEFT_NEW(&out, (size_t)csr->rows * width, WEFT_MEM_WORKSPACE), status, done);
    memset(x, 0, (size_t)csr->cols * width * sizeof *x);
    memset(out, 0, (size_t)csr->rows * width * sizeof *out);
    hal_spmm_args args = {
        .dtype = WEFT_DTYPE_F32, .d = MEASURE_WIDTH, .x = x, .ldx = MEASURE_WIDTH, .out = out, .ldo = MEASURE_WIDTH};
    int64_t prepared = max_d > MEASURE_WIDTH ? max_d : MEASURE_WIDTH;
    WEFT_TRY_GOTO(measure_rows(hal, csr, prepared, &args, &rows), status, done);
    WEFT_TRY_GOTO(measure_lists(hal, csr, prepared, &args, &lists), status, done);
    *form = rows <= lists ? HAL_SPMM_ROWS : HAL_SPMM_LISTS;
done:
    weft_free(x);
    weft_free(out);
    return status;
}

weft_status spmm_choose(weft_hal *hal, const hal_csr *csr, int64_t max_d, hal_spmm_form *form)
{
    *form = HAL_SPMM_ROWS;
    int64_t edges = csr->rows > 0 ? csr->offset[csr->rows] : 0;
    if (edges == 0) {
        return WEFT_OK;
    }
    sample sum;
    WEFT_TRY(take_sample(csr, max_d, &sum));
    double far = (double)sum.far / (double)sum.edges;
    double pairs = (double)sum.pairs / (double)sum.edges;
    double strip_bytes = (double)csr->cols * (double)(max_d < 16 ? 16 : max_d) * sizeof(float);
    double far_cost = strip_bytes < 2.0 * (double)spmm_l2_bytes() ? FAR_COST_CACHED : FAR_COST;
    double rows = 1.0 - far + far_cost * far;
    double lists = 1.0 + PAIR_COST * pairs + REFILL_COST * (double)hal->threads * (double)csr->cols / (double)edges;
    *form = rows <= lists ? HAL_SPMM_ROWS : HAL_SPMM_LISTS;
    bool clear = rows > MARGIN * lists || lists > MARGIN * rows;
    if (clear || edges < MEASURE_EDGES) {
        return WEFT_OK;
    }
    return measure(hal, csr, max_d, form);
}
