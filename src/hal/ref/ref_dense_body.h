/* hal/ref/ref_dense_body.h: included by ref_dense.c once for each element type, named `real`. No include guard. */

static void TYPED(gemm)(const hal_gemm *gemm)
{
    const real *a = gemm->a;
    const real *b = gemm->b;
    const real *bias = gemm->bias;
    real *c = gemm->c;
    for (int64_t i = 0; i < gemm->m; ++i) {
        for (int64_t j = 0; j < gemm->n; ++j) {
            double sum = 0.0;
            for (int64_t p = 0; p < gemm->k; ++p) {
                double left = gemm->trans_a ? a[p * gemm->lda + i] : a[i * gemm->lda + p];
                double right = gemm->trans_b ? b[j * gemm->ldb + p] : b[p * gemm->ldb + j];
                sum += left * right;
            }
            real *to = &c[i * gemm->ldc + j];
            double old = gemm->beta == 0.0 ? 0.0 : gemm->beta * (double)*to;
            *to = (real)(gemm->alpha * sum + old + (bias != NULL ? (double)bias[j] : 0.0));
        }
    }
}

static void TYPED(col_sum)(int64_t m, int64_t n, const real *a, int64_t lda, double beta, real *out)
{
    for (int64_t j = 0; j < n; ++j) {
        double sum = beta == 0.0 ? 0.0 : beta * (double)out[j];
        for (int64_t i = 0; i < m; ++i) {
            sum += (double)a[i * lda + j];
        }
        out[j] = (real)sum;
    }
}

static void TYPED(axpby)(int64_t m, int64_t n, double alpha, const real *x, int64_t ldx, double beta, real *y,
                         int64_t ldy)
{
    for (int64_t i = 0; i < m; ++i) {
        for (int64_t j = 0; j < n; ++j) {
            double old = beta == 0.0 ? 0.0 : beta * (double)y[i * ldy + j];
            y[i * ldy + j] = (real)(alpha * (double)x[i * ldx + j] + old);
        }
    }
}

static void TYPED(scale_rows)(int64_t m, int64_t n, const real *scale, const real *x, int64_t ldx, real *y, int64_t ldy)
{
    for (int64_t i = 0; i < m; ++i) {
        for (int64_t j = 0; j < n; ++j) {
            y[i * ldy + j] = scale[i] * x[i * ldx + j];
        }
    }
}

static void TYPED(gather_rows)(int64_t count, int64_t n, const int32_t *index, const real *x, int64_t ldx, real *y,
                               int64_t ldy)
{
    for (int64_t i = 0; i < count; ++i) {
        for (int64_t j = 0; j < n; ++j) {
            y[i * ldy + j] = x[index[i] * ldx + j];
        }
    }
}

static void TYPED(scatter_rows)(int64_t count, int64_t n, const int32_t *index, bool add, const real *x, int64_t ldx,
                                real *y, int64_t ldy)
{
    for (int64_t i = 0; i < count; ++i) {
        real *to = y + index[i] * ldy;
        for (int64_t j = 0; j < n; ++j) {
            to[j] = add ? to[j] + x[i * ldx + j] : x[i * ldx + j];
        }
    }
}
