/* hal/ref/ref_sparse_body.h: included by ref_sparse.c once for each element type, named `real`. No include guard. */

weft_status TYPED(ref_spmm_run)(const hal_spmm_run_args *args)
{
    const hal_spmm *spmm = args->matrix;
    const real *x = args->x.source;
    const real *pre = args->pre.source;
    const real *post = args->post.source;
    const real *diag = args->diag.source;
    real *out = args->out.data;
    WEFT_TRY(check_run(spmm, args));
    const int64_t slices = args->slices > 1 ? args->slices : 1;
    const int64_t end = spmm->rows * (args->slice + 1) / slices;
    for (int64_t r = spmm->rows * args->slice / slices; r < end; ++r) {
        for (int64_t j = 0; j < args->out.cols; ++j) {
            double sum = 0.0;
            for (int64_t e = spmm->offset[r]; e < spmm->offset[r + 1]; ++e) {
                int64_t c = spmm->column[e];
                sum += (pre != NULL ? (double)pre[c] : 1.0) * (double)x[c * args->x.ld + j];
            }
            real *to = &out[r * args->out.ld + j];
            double value = args->beta == 0.0 ? 0.0 : args->beta * (double)*to;
            value += (post != NULL ? (double)post[r] : 1.0) * sum;
            value += diag != NULL ? (double)diag[r] * (double)x[r * args->x.ld + j] : 0.0;
            *to = (real)value;
        }
    }
    return WEFT_OK;
}
