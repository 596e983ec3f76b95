/* hal/ref/ref_dense.c: dense operations as they are defined; see hal/hal.h. */
#include "hal/ref/ref_backend.h"

#define real        float
#define TYPED(name) name##_f32
#include "hal/ref/ref_dense_body.h"
#undef real
#undef TYPED

#define real        double
#define TYPED(name) name##_f64
#include "hal/ref/ref_dense_body.h"
#undef real
#undef TYPED

static weft_status ref_gemm(weft_hal *hal, const hal_gemm *gemm)
{
    (void)hal;
    REF_DISPATCH(gemm, gemm->dtype, gemm);
}

static weft_status ref_col_sum(weft_hal *hal, weft_dtype dtype, int64_t m, int64_t n, const void *a, int64_t lda,
                               double beta, void *out)
{
    (void)hal;
    REF_DISPATCH(col_sum, dtype, m, n, a, lda, beta, out);
}

static weft_status ref_axpby(weft_hal *hal, weft_dtype dtype, int64_t m, int64_t n, double alpha, const void *x,
                             int64_t ldx, double beta, void *y, int64_t ldy)
{
    (void)hal;
    REF_DISPATCH(axpby, dtype, m, n, alpha, x, ldx, beta, y, ldy);
}

static weft_status ref_scale_rows(weft_hal *hal, weft_dtype dtype, int64_t m, int64_t n, const void *scale,
                                  const void *x, int64_t ldx, void *y, int64_t ldy)
{
    (void)hal;
    REF_DISPATCH(scale_rows, dtype, m, n, scale, x, ldx, y, ldy);
}

static weft_status ref_gather_rows(weft_hal *hal, weft_dtype dtype, int64_t count, int64_t n, const int32_t *index,
                                   const void *x, int64_t ldx, void *y, int64_t ldy)
{
    (void)hal;
    REF_DISPATCH(gather_rows, dtype, count, n, index, x, ldx, y, ldy);
}

static weft_status ref_scatter_rows(weft_hal *hal, weft_dtype dtype, int64_t count, int64_t n, const int32_t *index,
                                    bool add, const void *x, int64_t ldx, void *y, int64_t ldy)
{
    (void)hal;
    REF_DISPATCH(scatter_rows, dtype, count, n, index, add, x, ldx, y, ldy);
}

void ref_dense_ops(hal_dense_ops *ops)
{
    *ops = (hal_dense_ops){.gemm = ref_gemm,
                           .col_sum = ref_col_sum,
                           .axpby = ref_axpby,
                           .scale_rows = ref_scale_rows,
                           .gather_rows = ref_gather_rows,
                           .scatter_rows = ref_scatter_rows};
}
