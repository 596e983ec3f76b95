/* hal/ref/ref_dense_body.h: included by ref_dense.c once for each element type, named `real`. No include guard. */

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
