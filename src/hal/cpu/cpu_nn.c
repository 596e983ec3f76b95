/*
 * hal/cpu/cpu_nn.c: drivers of the neural-network operations: rows are cut evenly over the threads, and what they sum
 * is added in the order of the pieces. f64 runs on the reference operations.
 */
#include <string.h>

#include "hal/cpu/cpu_backend.h"
#include "hal/cpu/kernels.h"

/* ---- activation ------------------------------------------------------------------------------------------------ */

static weft_status cpu_act_forward(weft_hal *hal, weft_dtype dtype, int64_t m, int64_t n, const void *x, int64_t ldx,
                                   bool relu, const hal_dropout *dropout, void *y, int64_t ldy)
{
    const cpu_state *state = cpu_state_of(hal);
    if (dtype != WEFT_DTYPE_F32) {
        return state->ref.nn.act_forward(hal, dtype, m, n, x, ldx, relu, dropout, y, ldy);
    }
    const float *from = x;
    float *to = y;
    int parts = cpu_parts(hal, m * n);
#pragma omp parallel for schedule(static) num_threads(parts) if (parts > 1)
    for (int part = 0; part < parts; ++part) {
        int64_t begin = 0;
        int64_t end = 0;
        hal_split_rows(m, parts, part, &begin, &end);
        state->kernels->act_forward(end - begin, n, from + begin * ldx, ldx, relu, dropout, begin, to + begin * ldy,
                                    ldy);
    }
    return WEFT_OK;
}

static weft_status cpu_act_backward(weft_hal *hal, weft_dtype dtype, int64_t m, int64_t n, const void *dy, int64_t lddy,
                                    const void *y, int64_t ldy, bool relu, const hal_dropout *dropout, void *dx,
                                    int64_t lddx)
{
    const cpu_state *state = cpu_state_of(hal);
    if (dtype != WEFT_DTYPE_F32) {
        return state->ref.nn.act_backward(hal, dtype, m, n, dy, lddy, y, ldy, relu, dropout, dx, lddx);
    }
    const float *gradient = dy;
    const float *output = y;
    float *to = dx;
    int parts = cpu_parts(hal, m * n);
#pragma omp parallel for schedule(static) num_threads(parts) if (parts > 1)
    for (int part = 0; part < parts; ++part) {
        int64_t begin = 0;
        int64_t end = 0;
        hal_split_rows(m, parts, part, &begin, &end);
        state->kernels->act_backward(end - begin, n, gradient + begin * lddy, lddy,
                                     output != NULL ? output + begin * ldy : NULL, ldy, relu, dropout, begin,
                                     to + begin * lddx, lddx);
    }
    return WEFT_OK;
}

/* ---- batch norm ---------------------------------------------------------------------------------------------- */

/* out[n] = the sum of the parts' rows, in their order. */
static void add_partials(const double *partial, int parts, int64_t n, double *out)
{
    int64_t stride = cpu_partial_stride(n);
    for (int64_t j = 0; j < n; ++j) {
        double sum = 0.0;
        for (int part = 0; part < parts; ++part) {
            sum += partial[part * stride + j];
        }
        out[j] = sum;
    }
}

static weft_status cpu_bn_stats(weft_hal *hal, weft_dtype dtype, int64_t m, int64_t n, const void *x, int64_t ldx,
                                double *stats)
{
    const cpu_state *state = cpu_state_of(hal);
    if (dtype != WEFT_DTYPE_F32) {
        return state->ref.nn.bn_stats(hal, dtype, m, n, x, ldx, stats);
    }
    const float *from = x;
    double *partial = NULL;
    int parts = cpu_parts(hal, m * n);
    WEFT_TRY(cpu_partials(hal, parts, 2 * n, &partial));
    int64_t stride = cpu_partial_stride(2 * n);
#pragma omp parallel for schedule(static) num_threads(parts) if (parts > 1)
    for (int part = 0; part < parts; ++part) {
        int64_t begin = 0;
        int64_t end = 0;
        hal_split_rows(m, parts, part, &begin, &end);
        double *own = partial + part * stride;
        memset(own, 0, (size_t)(2 * n) * sizeof *own);
        state->kernels->bn_stats(end - begin, n, from + begin * ldx, ldx, own);
    }
    add_partials(partial, parts, 2 * n, stats);
    return WEFT_OK;
}

static weft_status cpu_bn_apply(weft_hal *hal, weft_dtype dtype, int64_t m, int64_t n, const void *x, int64_t ldx,
                                const void *mean, const void *rstd, const void *gamma, const void *beta, void *y,
                                int64_t ldy)
{
    const cpu_state *state = cpu_state_of(hal);
    if (dtype != WEFT_DTYPE_F32) {
        return state->ref.nn.bn_apply(hal, dtype, m, n, x, ldx, mean, rstd, gamma, beta, y, ldy);
    }
    const float *from = x;
    float *to = y;
    int parts = cpu_parts(hal, m * n);
#pragma omp parallel for schedule(static) num_threads(parts) if (parts > 1)
    for (int part = 0; part < parts; ++part) {
        int64_t begin = 0;
        int64_t end = 0;
        hal_split_rows(m, parts, part, &begin, &end);
        state->kernels->bn_apply(end - begin, n, from + begin * ldx, ldx, mean, rstd, gamma, beta, to + begin * ldy,
                                 ldy);
    }
    return WEFT_OK;
}

static weft_status cpu_bn_backward_stats(weft_hal *hal, weft_dtype dtype, int64_t m, int64_t n, const void *dy,
                                         int64_t lddy, const void *x, int64_t ldx, const void *mean, const void *rstd,
                                         double *stats)
{
    const cpu_state *state = cpu_state_of(hal);
    if (dtype != WEFT_DTYPE_F32) {
        return state->ref.nn.bn_backward_stats(hal, dtype, m, n, dy, lddy, x, ldx, mean, rstd, stats);
    }
    const float *gradient = dy;
    const float *from = x;
    double *partial = NULL;
    int parts = cpu_parts(hal, m * n);
    WEFT_TRY(cpu_partials(hal, parts, 2 * n, &partial));
    int64_t stride = cpu_partial_stride(2 * n);
#pragma omp parallel for schedule(static) num_threads(parts) if (parts > 1)
    for (int part = 0; part < parts; ++part) {
        int64_t begin = 0;
        int64_t end = 0;
        hal_split_rows(m, parts, part, &begin, &end);
        double *own = partial + part * stride;
        memset(own, 0, (size_t)(2 * n) * sizeof *own);
        state->kernels->bn_backward_stats(end - begin, n, gradient + begin * lddy, lddy, from + begin * ldx, ldx, mean,
                                          rstd, own);
    }
    add_partials(partial, parts, 2 * n, stats);
    return WEFT_OK;
}

static weft_status cpu_bn_backward_apply(weft_hal *hal, weft_dtype dtype, int64_t m, int64_t n, const void *dy,
                                         int64_t lddy, const void *x, int64_t ldx, const void *mean, const void *rstd,
                                         const void *gamma, const double *stats, double count, void *dx, int64_t lddx)
{
    const cpu_state *state = cpu_state_of(hal);
    if (dtype != WEFT_DTYPE_F32) {
        return state->ref.nn.bn_backward_apply(hal, dtype, m, n, dy, lddy, x, ldx, mean, rstd, gamma, stats, count, dx,
                                               lddx);
    }
    const float *gradient = dy;
    const float *from = x;
    const float *inverse_deviation = rstd;
    const float *weight = gamma;
    float *to = dx;
    float *coefficient = NULL;
    WEFT_TRY(cpu_workspace(hal, (size_t)(3 * n) * sizeof *coefficient, (void **)&coefficient));
    for (int64_t j = 0; j < n; ++j) {
        coefficient[j] = weight[j] * inverse_deviation[j];
        coefficient[n + j] = (float)(stats[j] / count);
        coefficient[2 * n + j] = (float)(stats[n + j] / count);
    }
    int parts = cpu_parts(hal, m * n);
#pragma omp parallel for schedule(static) num_threads(parts) if (parts > 1)
    for (int part = 0; part < parts; ++part) {
        int64_t begin = 0;
        int64_t end = 0;
        hal_split_rows(m, parts, part, &begin, &end);
        state->kernels->bn_backward_apply(end - begin, n, gradient + begin * lddy, lddy, from + begin * ldx, ldx, mean,
                                          rstd, coefficient, to + begin * lddx, lddx);
    }
    return WEFT_OK;
}

/* ---- layer norm ---------------------------------------------------------------------------------------------- */

static weft_status cpu_ln_forward(weft_hal *hal, weft_dtype dtype, int64_t m, int64_t n, const void *x, int64_t ldx,
                                  const void *gamma, const void *beta, double epsilon, void *saved, void *y,
                                  int64_t ldy)
{
    const cpu_state *state = cpu_state_of(hal);
    if (dtype != WEFT_DTYPE_F32) {
        return state->ref.nn.ln_forward(hal, dtype, m, n, x, ldx, gamma, beta, epsilon, saved, y, ldy);
    }
    const float *from = x;
    float *moments = saved;
    float *to = y;
    int parts = cpu_parts(hal, m * n);
#pragma omp parallel for schedule(static) num_threads(parts) if (parts > 1)
    for (int part = 0; part < parts; ++part) {
        int64_t begin = 0;
        int64_t end = 0;
        hal_split_rows(n > 0 ? m : 0, parts, part, &begin, &end);
        state->kernels->ln_forward(end - begin, n, from + begin * ldx, ldx, gamma, beta, epsilon, moments + 2 * begin,
                                   to + begin * ldy, ldy);
    }
    return WEFT_OK;
}

static weft_status cpu_ln_backward(weft_hal *hal, weft_dtype dtype, int64_t m, int64_t n, const void *dy, int64_t lddy,
                                   const void *x, int64_t ldx, const void *gamma, const void *saved, void *dgamma,
                                   void *dbeta, void *dx, int64_t lddx)
{
    const cpu_state *state = cpu_state_of(hal);
    if (dtype != WEFT_DTYPE_F32) {
        return state->ref.nn.ln_backward(hal, dtype, m, n, dy, lddy, x, ldx, gamma, saved, dgamma, dbeta, dx, lddx);
    }
    const float *gradient = dy;
    const float *from = x;
    const float *moments = saved;
    float *to = dx;
    float *gamma_gradient = dgamma;
    float *beta_gradient = dbeta;
    double *partial = NULL;
    int parts = cpu_parts(hal, m * n);
    WEFT_TRY(cpu_partials(hal, parts, 2 * n, &partial));
    int64_t stride = cpu_partial_stride(2 * n);
#pragma omp parallel for schedule(static) num_threads(parts) if (parts > 1)
    for (int part = 0; part < parts; ++part) {
        int64_t begin = 0;
        int64_t end = 0;
        hal_split_rows(m, parts, part, &begin, &end);
        double *own = partial + part * stride;
        memset(own, 0, (size_t)(2 * n) * sizeof *own);
        state->kernels->ln_backward(end - begin, n, gradient + begin * lddy, lddy, from + begin * ldx, ldx, gamma,
                                    moments + 2 * begin, own, to + begin * lddx, lddx);
    }
    for (int64_t j = 0; j < n; ++j) {
        double gamma_sum = (double)gamma_gradient[j];
        double beta_sum = (double)beta_gradient[j];
        for (int part = 0; part < parts; ++part) {
            gamma_sum += partial[part * stride + j];
            beta_sum += partial[part * stride + n + j];
        }
        gamma_gradient[j] = (float)gamma_sum;
        beta_gradient[j] = (float)beta_sum;
    }
    return WEFT_OK;
}

/* ---- losses and metric ------------------------------------------------------------------------------------------ */

/* What one part returns, on a cache line of its own. */
typedef struct part_result {
    cpu_loss loss;
    int64_t count[2 * HAL_SPLITS];
} part_result;
_Static_assert(sizeof(part_result) == 64, "a part's result fills one cache line");

static weft_status cpu_softmax_xent(weft_hal *hal, weft_dtype dtype, int64_t m, int64_t n, const void *x, int64_t ldx,
                                    const int32_t *label, const uint8_t *split, int which, double scale,
                                    double *loss_sum, void *dx, int64_t lddx)
{
    const cpu_state *state = cpu_state_of(hal);
    if (dtype != WEFT_DTYPE_F32) {
        return state->ref.nn.softmax_xent(hal, dtype, m, n, x, ldx, label, split, which, scale, loss_sum, dx, lddx);
    }
    const float *from = x;
    float *to = dx;
    part_result *result = NULL;
    int parts = cpu_parts(hal, m * n);
    WEFT_TRY(cpu_workspace(hal, (size_t)parts * sizeof *result, (void **)&result));
#pragma omp parallel for schedule(static) num_threads(parts) if (parts > 1)
    for (int part = 0; part < parts; ++part) {
        int64_t begin = 0;
        int64_t end = 0;
        hal_split_rows(n > 0 ? m : 0, parts, part, &begin, &end);
        result[part].loss =
            state->kernels->softmax_xent(end - begin, n, from + begin * ldx, ldx, label + begin, split + begin, which,
                                         (float)scale, to != NULL ? to + begin * lddx : NULL, lddx);
    }
    for (int part = 0; part < parts; ++part) {
        *loss_sum += result[part].loss.sum;
    }
    return WEFT_OK;
}

static weft_status cpu_bce_logits(weft_hal *hal, weft_dtype dtype, int64_t m, int64_t n, const void *x, int64_t ldx,
                                  const float *target, int64_t ldt, const uint8_t *split, int which, double scale,
                                  double *loss_sum, int64_t *loss_count, void *dx, int64_t lddx)
{
    const cpu_state *state = cpu_state_of(hal);
    if (dtype != WEFT_DTYPE_F32) {
        return state->ref.nn.bce_logits(hal, dtype, m, n, x, ldx, target, ldt, split, which, scale, loss_sum,
                                        loss_count, dx, lddx);
    }
    const float *from = x;
    float *to = dx;
    part_result *result = NULL;
    int parts = cpu_parts(hal, m * n);
    WEFT_TRY(cpu_workspace(hal, (size_t)parts * sizeof *result, (void **)&result));
#pragma omp parallel for schedule(static) num_threads(parts) if (parts > 1)
    for (int part = 0; part < parts; ++part) {
        int64_t begin = 0;
        int64_t end = 0;
        hal_split_rows(m, parts, part, &begin, &end);
        result[part].loss =
            state->kernels->bce_logits(end - begin, n, from + begin * ldx, ldx, target + begin * ldt, ldt,
                                       split + begin, which, (float)scale, to != NULL ? to + begin * lddx : NULL, lddx);
    }
    for (int part = 0; part < parts; ++part) {
        *loss_sum += result[part].loss.sum;
        *loss_count += result[part].loss.count;
    }
    return WEFT_OK;
}

static weft_status cpu_accuracy(weft_hal *hal, weft_dtype dtype, int64_t m, int64_t n, const void *x, int64_t ldx,
                                const int32_t *label, const uint8_t *split, int64_t *correct, int64_t *total)
{
    const cpu_state *state = cpu_state_of(hal);
    if (dtype != WEFT_DTYPE_F32) {
        return state->ref.nn.accuracy(hal, dtype, m, n, x, ldx, label, split, correct, total);
    }
    const float *from = x;
    part_result *result = NULL;
    int parts = cpu_parts(hal, m * n);
    WEFT_TRY(cpu_workspace(hal, (size_t)parts * sizeof *result, (void **)&result));
#pragma omp parallel for schedule(static) num_threads(parts) if (parts > 1)
    for (int part = 0; part < parts; ++part) {
        int64_t begin = 0;
        int64_t end = 0;
        hal_split_rows(n > 0 ? m : 0, parts, part, &begin, &end);
        memset(result[part].count, 0, sizeof result[part].count);
        state->kernels->accuracy(end - begin, n, from + begin * ldx, ldx, label + begin, split + begin,
                                 result[part].count);
    }
    for (int part = 0; part < parts; ++part) {
        for (int s = 0; s < HAL_SPLITS; ++s) {
            correct[s] += result[part].count[s];
            total[s] += result[part].count[HAL_SPLITS + s];
        }
    }
    return WEFT_OK;
}

void cpu_nn_ops(hal_nn_ops *ops)
{
    *ops = (hal_nn_ops){.act_forward = cpu_act_forward,
                        .act_backward = cpu_act_backward,
                        .bn_stats = cpu_bn_stats,
                        .bn_apply = cpu_bn_apply,
                        .bn_backward_stats = cpu_bn_backward_stats,
                        .bn_backward_apply = cpu_bn_backward_apply,
                        .ln_forward = cpu_ln_forward,
                        .ln_backward = cpu_ln_backward,
                        .softmax_xent = cpu_softmax_xent,
                        .bce_logits = cpu_bce_logits,
                        .accuracy = cpu_accuracy};
}
