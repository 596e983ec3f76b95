/* hal/ref/ref_sparse_body.h: included by ref_sparse.c once for each element type, named `real`. No include guard. */

static void TYPED(spmm)(const hal_spmm *spmm, const hal_spmm_args *args)
{
    const real *x = args->x;
    const real *pre = args->pre;
    const real *post = args->post;
    const real *diag = args->diag;
    real *out = args->out;
    for (int64_t r = 0; r < spmm->rows; ++r) {
        for (int64_t j = 0; j < args->d; ++j) {
            double sum = 0.0;
            for (int64_t e = spmm->offset[r]; e < spmm->offset[r + 1]; ++e) {
                int64_t c = spmm->column[e];
                sum += (pre != NULL ? (double)pre[c] : 1.0) * (double)x[c * args->ldx + j];
            }
            real *to = &out[r * args->ldo + j];
            double value = args->beta == 0.0 ? 0.0 : args->beta * (double)*to;
            value += (post != NULL ? (double)post[r] : 1.0) * sum;
            value += diag != NULL ? (double)diag[r] * (double)x[r * args->ldx + j] : 0.0;
            *to = (real)value;
        }
    }
}
