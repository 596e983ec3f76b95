/*
 * hal/ref/ref_sparse.c: the aggregation as it is defined. The prepared matrix is a copy of the CSR arrays; every form
 * is run by the same row loop.
 */
#include <assert.h>
#include <string.h>

#include "base/clock.h"
#include "hal/ref/ref_fixed.h"

struct hal_spmm {
    int64_t rows, cols, max_d;
    int64_t *offset;
    int32_t *column;
    float *value; /* or NULL */
    double build_seconds;
};

/* [out] rows: those of the slice. */
static weft_status check_run(const hal_spmm *spmm, const hal_mat *out, const hal_mat *diag, const int slice[2],
                             hal_span *rows)
{
    const int slices = slice[1] > 1 ? slice[1] : 1;
    assert(spmm != NULL);
    WEFT_CHECK(out->cols <= spmm->max_d, WEFT_ERR_UNSUPPORTED, "spmm: %ld columns, prepared for at most %ld",
               (long)out->cols, (long)spmm->max_d);
    WEFT_CHECK(diag->data == NULL || spmm->rows <= spmm->cols, WEFT_ERR_UNSUPPORTED,
               "spmm: a diagonal term needs rows <= columns, not %ld > %ld", (long)spmm->rows, (long)spmm->cols);
    WEFT_CHECK(slice[0] >= 0 && slice[0] < slices, WEFT_ERR_INTERNAL, "spmm: slice %d of %d", slice[0], slice[1]);
    *rows = (hal_span){spmm->rows * slice[0] / slices, spmm->rows * (slice[0] + 1) / slices};
    return WEFT_OK;
}

weft_status ref_spmm_run_mixed(const hal_spmm_run_args *args)
{
    const hal_spmm *spmm = args->matrix;
    hal_span rows;
    assert(args->out.cols == args->x.cols);
    WEFT_TRY(check_run(spmm, &args->out, &args->diag, (const int[]){args->slice, args->slices}, &rows));
    for (int64_t r = rows.begin; r < rows.end; ++r) {
        const double post = args->post.source != NULL ? ref_load(&args->post, r, 0) : 1.0;
        for (int64_t j = 0; j < args->out.cols; ++j) {
            double sum = 0.0;
            for (int64_t e = spmm->offset[r]; e < spmm->offset[r + 1]; ++e) {
                const int64_t c = spmm->column[e];
                const double value = spmm->value != NULL ? (double)spmm->value[e] : 1.0;
                sum += value * (args->pre.source != NULL ? ref_load(&args->pre, c, 0) : 1.0) * ref_load(&args->x, c, j);
            }
            double result = args->beta == 0.0 ? 0.0 : args->beta * ref_load(&args->out, r, j);
            result += post * sum;
            result += args->diag.source != NULL ? ref_load(&args->diag, r, 0) * ref_load(&args->x, r, j) : 0.0;
            ref_store(&args->out, r, j, result);
        }
    }
    return WEFT_OK;
}

weft_status ref_fixed_run_mixed(const hal_fixed_run_args *args)
{
    const hal_spmm *spmm = args->matrix;
    const bool integers = args->x.dtype == WEFT_DTYPE_I16;
    hal_span rows;
    assert(args->out.cols == args->x.cols);
    WEFT_TRY(check_run(spmm, &args->out, &args->diag, (const int[]){args->slice, args->slices}, &rows));
    WEFT_CHECK(spmm->value == NULL, WEFT_ERR_UNSUPPORTED, "spmm: sums in fixed point of edges with weights");
    const hal_fixed_finish_args end = {.quantum = args->quantum,
                                       .post = args->post,
                                       .diag = args->diag,
                                       .x = args->x,
                                       .out = args->out,
                                       .beta = args->beta};
    for (int64_t r = rows.begin; r < rows.end; ++r) {
        for (int64_t j = 0; j < args->out.cols; ++j) {
            int32_t sum = 0;
            for (int64_t e = spmm->offset[r]; e < spmm->offset[r + 1]; ++e) {
                const int64_t c = spmm->column[e];
                sum += integers ? ((const int16_t *)args->x.source)[c * args->x.ld + j]
                                : ref_fixed_round(&args->x, c, j, &args->pre, &args->quantum);
            }
            const int64_t at = r * args->out.ld + j;
            if (integers) {
                int32_t *out = args->out.data;
                out[at] = args->beta != 0.0 ? out[at] + sum : sum;
            } else {
                ((float *)args->out.data)[at] = ref_fixed_end(&end, r, j, sum);
            }
        }
    }
    return WEFT_OK;
}

/* 0, or what element (row, column) of the features is multiplied by. */
static double feature_kept(const hal_dropout *dropout, int64_t row, int64_t column)
{
    if (!dropout_is_on(dropout)) {
        return 1.0;
    }
    return dropout_keeps(dropout, row, column) ? 1.0 / (1.0 - (double)dropout->probability) : 0.0;
}

weft_status ref_feature_product_mixed(const hal_feature_product_args *args)
{
    const int64_t *offset = args->offset.source;
    const int32_t *column = args->column.source;
    const float *value = args->value.source;
    assert(args->offset.rows == args->y.rows + 1 && args->x.cols == args->y.cols);
    for (int64_t r = 0; r < args->y.rows; ++r) {
        for (int64_t j = 0; j < args->y.cols; ++j) {
            double sum = args->beta == 0.0 ? 0.0 : args->beta * ref_load(&args->y, r, j);
            for (int64_t e = offset[r]; e < offset[r + 1]; ++e) {
                const int64_t c = column[e];
                const double kept =
                    args->transposed ? feature_kept(&args->dropout, c, r) : feature_kept(&args->dropout, r, c);
                sum += (double)value[e] * kept * ref_load(&args->x, c, j);
            }
            ref_store(&args->y, r, j, sum);
        }
    }
    return WEFT_OK;
}

static void ref_spmm_destroy(weft_hal *hal, hal_spmm *spmm)
{
    (void)hal;
    if (spmm == NULL) {
        return;
    }
    WEFT_FREE_ALL(spmm->offset, spmm->column, spmm->value, spmm);
}

static weft_status ref_spmm_create(weft_hal *hal, const hal_csr *csr, hal_spmm_form form, int64_t max_d, hal_spmm **out)
{
    (void)form;
    *out = NULL;
    double start = clock_seconds();
    weft_status status = WEFT_OK;
    hal_spmm *spmm = NULL;
    WEFT_TRY(WEFT_NEW_ZERO(&spmm, 1, WEFT_MEM_MATRIX));
    spmm->rows = csr->rows;
    spmm->cols = csr->cols;
    spmm->max_d = max_d;
    int64_t entries = csr->offset[csr->rows];
    WEFT_TRY_GOTO(WEFT_NEW(&spmm->offset, csr->rows + 1, WEFT_MEM_MATRIX), status, done);
    WEFT_TRY_GOTO(WEFT_NEW(&spmm->column, entries, WEFT_MEM_MATRIX), status, done);
    memcpy(spmm->offset, csr->offset, (size_t)(csr->rows + 1) * sizeof *spmm->offset);
    if (entries > 0) {
        memcpy(spmm->column, csr->column, (size_t)entries * sizeof *spmm->column);
    }
    if (csr->value != NULL) {
        WEFT_TRY_GOTO(WEFT_NEW(&spmm->value, entries, WEFT_MEM_MATRIX), status, done);
        if (entries > 0) {
            memcpy(spmm->value, csr->value, (size_t)entries * sizeof *spmm->value);
        }
    }
    spmm->build_seconds = clock_seconds() - start;
    *out = spmm;
    spmm = NULL;
done:
    ref_spmm_destroy(hal, spmm);
    return status;
}

static hal_spmm_info ref_spmm_info(weft_hal *hal, const hal_spmm *spmm)
{
    (void)hal;
    uint64_t entries = (uint64_t)spmm->offset[spmm->rows];
    uint64_t entry_bytes = sizeof *spmm->column + (spmm->value != NULL ? sizeof *spmm->value : 0);
    return (hal_spmm_info){.form = HAL_SPMM_ROWS,
                           .block_cols = spmm->cols,
                           .bytes = ((uint64_t)spmm->rows + 1) * sizeof(int64_t) + entries * entry_bytes,
                           .build_seconds = spmm->build_seconds};
}

void ref_sparse_ops(hal_sparse_ops *ops)
{
    *ops =
        (hal_sparse_ops){.spmm_create = ref_spmm_create, .spmm_destroy = ref_spmm_destroy, .spmm_info = ref_spmm_info};
}
