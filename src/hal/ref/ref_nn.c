/*
 * hal/ref/ref_nn.c: neural-network operations as they are defined; see hal/hal.h.
 *
 * Batch norm: S. Ioffe, C. Szegedy, ICML 2015, arXiv:1502.03167. Layer norm: J. Ba, J. Kiros, G. Hinton, 2016,
 * arXiv:1607.06450 (variance over n, epsilon inside the root). Dropout: N. Srivastava et al., JMLR 15, 2014.
 */
#include <math.h>

#include "base/philox.h"
#include "hal/ref/ref_backend.h"

/* Whether dropout keeps element (row, column); the definition stands in base/philox.h. */
static bool dropout_keeps(const hal_dropout *dropout, int64_t row, int64_t column)
{
    int64_t id = dropout->row_id != NULL ? dropout->row_id[row] : dropout->row_base + row;
    philox_block block = philox4x32(
        philox_counter((uint32_t)(column / 8), (uint64_t)id, dropout->purpose, dropout->epoch), dropout->seed);
    return philox_lane16(block, (unsigned)(column % 8)) >= philox_dropout_threshold(dropout->probability);
}

static bool dropout_is_on(const hal_dropout *dropout)
{
    return dropout != NULL && dropout->probability > 0.0F;
}

#define real        float
#define TYPED(name) name##_f32
#include "hal/ref/ref_nn_body.h"
#undef real
#undef TYPED

#define real        double
#define TYPED(name) name##_f64
#include "hal/ref/ref_nn_body.h"
#undef real
#undef TYPED

static weft_status ref_act_forward(weft_hal *hal, weft_dtype dtype, int64_t m, int64_t n, const void *x, int64_t ldx,
                                   bool relu, const hal_dropout *dropout, void *y, int64_t ldy)
{
    (void)hal;
    REF_DISPATCH(act_forward, dtype, m, n, x, ldx, relu, dropout, y, ldy);
}

static weft_status ref_act_backward(weft_hal *hal, weft_dtype dtype, int64_t m, int64_t n, const void *dy, int64_t lddy,
                                    const void *y, int64_t ldy, bool relu, const hal_dropout *dropout, void *dx,
                                    int64_t lddx)
{
    (void)hal;
    REF_DISPATCH(act_backward, dtype, m, n, dy, lddy, y, ldy, relu, dropout, dx, lddx);
}

static weft_status ref_bn_stats(weft_hal *hal, weft_dtype dtype, int64_t m, int64_t n, const void *x, int64_t ldx,
                                double *stats)
{
    (void)hal;
    REF_DISPATCH(bn_stats, dtype, m, n, x, ldx, stats);
}

static weft_status ref_bn_apply(weft_hal *hal, weft_dtype dtype, int64_t m, int64_t n, const void *x, int64_t ldx,
                                const void *mean, const void *rstd, const void *gamma, const void *beta, void *y,
                                int64_t ldy)
{
    (void)hal;
    REF_DISPATCH(bn_apply, dtype, m, n, x, ldx, mean, rstd, gamma, beta, y, ldy);
}

static weft_status ref_bn_backward_stats(weft_hal *hal, weft_dtype dtype, int64_t m, int64_t n, const void *dy,
                                         int64_t lddy, const void *x, int64_t ldx, const void *mean, const void *rstd,
                                         double *stats)
{
    (void)hal;
    REF_DISPATCH(bn_backward_stats, dtype, m, n, dy, lddy, x, ldx, mean, rstd, stats);
}

static weft_status ref_bn_backward_apply(weft_hal *hal, weft_dtype dtype, int64_t m, int64_t n, const void *dy,
                                         int64_t lddy, const void *x, int64_t ldx, const void *mean, const void *rstd,
                                         const void *gamma, const double *stats, double count, void *dx, int64_t lddx)
{
    (void)hal;
    REF_DISPATCH(bn_backward_apply, dtype, m, n, dy, lddy, x, ldx, mean, rstd, gamma, stats, count, dx, lddx);
}

static weft_status ref_ln_forward(weft_hal *hal, weft_dtype dtype, int64_t m, int64_t n, const void *x, int64_t ldx,
                                  const void *gamma, const void *beta, double epsilon, void *saved, void *y,
                                  int64_t ldy)
{
    (void)hal;
    REF_DISPATCH(ln_forward, dtype, m, n, x, ldx, gamma, beta, epsilon, saved, y, ldy);
}

static weft_status ref_ln_backward(weft_hal *hal, weft_dtype dtype, int64_t m, int64_t n, const void *dy, int64_t lddy,
                                   const void *x, int64_t ldx, const void *gamma, const void *saved, void *dgamma,
                                   void *dbeta, void *dx, int64_t lddx)
{
    (void)hal;
    REF_DISPATCH(ln_backward, dtype, m, n, dy, lddy, x, ldx, gamma, saved, dgamma, dbeta, dx, lddx);
}

static weft_status ref_softmax_xent(weft_hal *hal, weft_dtype dtype, int64_t m, int64_t n, const void *x, int64_t ldx,
                                    const int32_t *label, const uint8_t *split, int which, double scale,
                                    double *loss_sum, void *dx, int64_t lddx)
{
    (void)hal;
    REF_DISPATCH(softmax_xent, dtype, m, n, x, ldx, label, split, which, scale, loss_sum, dx, lddx);
}

static weft_status ref_bce_logits(weft_hal *hal, weft_dtype dtype, int64_t m, int64_t n, const void *x, int64_t ldx,
                                  const float *target, int64_t ldt, const uint8_t *split, int which, double scale,
                                  double *loss_sum, int64_t *loss_count, void *dx, int64_t lddx)
{
    (void)hal;
    REF_DISPATCH(bce_logits, dtype, m, n, x, ldx, target, ldt, split, which, scale, loss_sum, loss_count, dx, lddx);
}

static weft_status ref_accuracy(weft_hal *hal, weft_dtype dtype, int64_t m, int64_t n, const void *x, int64_t ldx,
                                const int32_t *label, const uint8_t *split, int64_t *correct, int64_t *total)
{
    (void)hal;
    REF_DISPATCH(accuracy, dtype, m, n, x, ldx, label, split, correct, total);
}

void ref_nn_ops(hal_nn_ops *ops)
{
    *ops = (hal_nn_ops){.act_forward = ref_act_forward,
                        .act_backward = ref_act_backward,
                        .bn_stats = ref_bn_stats,
                        .bn_apply = ref_bn_apply,
                        .bn_backward_stats = ref_bn_backward_stats,
                        .bn_backward_apply = ref_bn_backward_apply,
                        .ln_forward = ref_ln_forward,
                        .ln_backward = ref_ln_backward,
                        .softmax_xent = ref_softmax_xent,
                        .bce_logits = ref_bce_logits,
                        .accuracy = ref_accuracy};
}
