/* hal/ref/ref_dense_body.h: included by ref_dense.c once for each element type, named `real`. No include guard. */

weft_status TYPED(ref_gemm)(const hal_gemm_args *args)
{
    const real *a = args->a.source;
    const real *b = args->b.source;
    const real *bias = args->bias.source;
    real *c = args->c.data;
    int64_t terms = args->trans_a ? args->a.rows : args->a.cols;
    for (int64_t i = 0; i < args->c.rows; ++i) {
        for (int64_t j = 0; j < args->c.cols; ++j) {
            double sum = 0.0;
            for (int64_t p = 0; p < terms; ++p) {
                double left = args->trans_a ? a[p * args->a.ld + i] : a[i * args->a.ld + p];
                double right = args->trans_b ? b[j * args->b.ld + p] : b[p * args->b.ld + j];
                sum += left * right;
            }
            real *to = &c[i * args->c.ld + j];
            double old = args->beta == 0.0 ? 0.0 : args->beta * (double)*to;
            *to = (real)(args->alpha * sum + old + (bias != NULL ? (double)bias[j] : 0.0));
        }
    }
    return WEFT_OK;
}

weft_status TYPED(ref_scale_rows)(const hal_scale_rows_args *args)
{
    const real *scale = args->scale.source;
    const real *x = args->x.source;
    real *y = args->y.data;
    for (int64_t i = 0; i < args->y.rows; ++i) {
        for (int64_t j = 0; j < args->y.cols; ++j) {
            y[i * args->y.ld + j] = scale[i] * x[i * args->x.ld + j];
        }
    }
    return WEFT_OK;
}

weft_status TYPED(ref_gather_rows)(const hal_gather_rows_args *args)
{
    const int32_t *index = args->index.source;
    const real *x = args->x.source;
    real *y = args->y.data;
    for (int64_t i = 0; i < args->y.rows; ++i) {
        assert(index[i] >= 0 && index[i] < args->x.rows);
        for (int64_t j = 0; j < args->y.cols; ++j) {
            y[i * args->y.ld + j] = x[index[i] * args->x.ld + j];
        }
    }
    return WEFT_OK;
}

weft_status TYPED(ref_scatter_rows)(const hal_scatter_rows_args *args)
{
    const int32_t *index = args->index.source;
    const real *x = args->x.source;
    real *y = args->y.data;
    for (int64_t i = 0; i < args->x.rows; ++i) {
        assert(index[i] >= 0 && index[i] < args->y.rows);
        real *to = y + index[i] * args->y.ld;
        for (int64_t j = 0; j < args->x.cols; ++j) {
            const real from = x[i * args->x.ld + j];
            switch (args->mode) {
            case HAL_SCATTER_REPLACE:
                to[j] = from;
                break;
            case HAL_SCATTER_ADD:
                to[j] += from;
                break;
            case HAL_SCATTER_MAX:
                to[j] = from > to[j] || isnan(from) ? from : to[j];
                break;
            }
        }
    }
    return WEFT_OK;
}
