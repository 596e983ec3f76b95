/* trees/loss/tree_loss.c: see trees/loss/tree_loss.h. */
#include "trees/loss/tree_loss.h"

#include <assert.h>
#include <math.h>
#include <string.h>

#include "base/exact/exp_series.h"
#include "base/exact/fixed_sum.h"
#include "base/integer/integers.h"
#include "hal/hal.h"
#include "trees/loss/leaf_quantiles.h"
#include "trees/loss/logistic.h"

enum { SHARES = 64 }; /* of the rows, whose losses are summed apart: the sum does not depend on threads */

double tree_exp(double x)
{
    return exp_series(x);
}

double tree_loss_quantile(const tree_targets *targets)
{
    return targets->loss == TREE_LOSS_QUANTILE ? targets->quantile : targets->loss == TREE_LOSS_ABSOLUTE ? 0.5 : 0.0;
}

/* share: the quantile that is looked for. */
static void single_row(tree_loss loss, float share, float margin, float y, float *gradient, float *hessian)
{
    if (loss == TREE_LOSS_SQUARED) {
        *gradient = margin - y;
        *hessian = 1.0F;
        return;
    }
    if (loss == TREE_LOSS_ABSOLUTE || loss == TREE_LOSS_QUANTILE) {
        *gradient = margin >= y ? 1.0F - share : -share;
        *gradient *= loss == TREE_LOSS_ABSOLUTE ? 2.0F : 1.0F;
        *hessian = 1.0F;
        return;
    }
    assert(loss == TREE_LOSS_POISSON);
    const float mean = (float)tree_exp((double)margin);
    *gradient = mean - y;
    *hessian = mean > TREE_LEAST_HESSIAN ? mean : TREE_LEAST_HESSIAN;
}

static void softmax_row(const tree_targets *targets, int64_t row, const float *margin, float *gradient, float *hessian)
{
    float most = margin[0];
    double sum = 0.0;
    for (int k = 1; k < targets->outputs; ++k) {
        most = margin[k] > most ? margin[k] : most;
    }
    for (int k = 0; k < targets->outputs; ++k) {
        sum += tree_exp((double)(margin[k] - most));
    }
    for (int k = 0; k < targets->outputs; ++k) {
        const float p = (float)(tree_exp((double)(margin[k] - most)) / sum);
        const float spread = 2.0F * p * (1.0F - p);
        gradient[k * targets->rows + row] = p - (targets->y[row] == (float)k ? 1.0F : 0.0F);
        hessian[k * targets->rows + row] = spread > TREE_LEAST_HESSIAN ? spread : TREE_LEAST_HESSIAN;
    }
}

static void weigh_row(const tree_targets *targets, int64_t row, float *gradient, float *hessian)
{
    const float weight = targets->weight[row];
    for (int k = 0; k < targets->outputs; ++k) {
        gradient[k * targets->rows + row] *= weight;
        hessian[k * targets->rows + row] *= weight;
    }
}

static void zero_row(const tree_targets *targets, int64_t row, float *gradient, float *hessian)
{
    for (int k = 0; k < targets->outputs; ++k) {
        gradient[k * targets->rows + row] = hessian[k * targets->rows + row] = 0.0F;
    }
}

static logistic_kernel *const kernels[HAL_ISAS] = {
    [HAL_ISA_BASE] = logistic_base, [HAL_ISA_AVX2] = logistic_avx2, [HAL_ISA_AVX512] = logistic_avx512};

/* Rows of a share under the logistic loss. Returns the sum of their losses. */
static double logistic_share(const tree_targets *t, const float *margin, hal_span own, float *gradient, float *hessian)
{
    double sum = 0.0;
    for (int64_t i = own.begin; i < own.end; i += LOGISTIC_ROWS) {
        sum += kernels[hal_isa_best()](&(logistic_rows){
            margin + i, t->y + i, t->counts + i, smaller(LOGISTIC_ROWS, own.end - i), gradient + i, hessian + i});
    }
    for (int64_t i = own.begin; t->weight != NULL && i < own.end; ++i) {
        weigh_row(t, i, gradient, hessian);
    }
    return sum;
}

/* Rows of a share under another loss. Returns the sum of their losses. */
static double other_share(const tree_targets *targets, const float *margin, hal_span own, float *gradient,
                          float *hessian)
{
    const float share = (float)tree_loss_quantile(targets);
    double sum = 0.0;
    for (int64_t i = own.begin; i < own.end; ++i) {
        if (targets->counts[i] == 0) {
            zero_row(targets, i, gradient, hessian);
            continue;
        }
        if (targets->loss == TREE_LOSS_SOFTMAX) {
            softmax_row(targets, i, margin + i * targets->outputs, gradient, hessian);
        } else {
            single_row(targets->loss, share, margin[i], targets->y[i], &gradient[i], &hessian[i]);
        }
        sum += tree_loss_at(targets, i, margin + i * targets->outputs);
        if (targets->weight != NULL) {
            weigh_row(targets, i, gradient, hessian);
        }
    }
    return sum;
}

double tree_gradients(const tree_targets *targets, const float *margin, int threads, float *gradient, float *hessian)
{
    double sum[SHARES], all = 0.0;
#pragma omp parallel for schedule(static) num_threads(threads)
    for (int part = 0; part < SHARES; ++part) {
        const hal_span own = hal_split_rows(targets->rows, SHARES, part);
        sum[part] = targets->loss == TREE_LOSS_LOGISTIC ? logistic_share(targets, margin, own, gradient, hessian)
                                                        : other_share(targets, margin, own, gradient, hessian);
    }
    for (int part = 0; part < SHARES; ++part) {
        all += sum[part];
    }
    return all;
}

/* The sums of weights, and of weights times y, over all ranks. */
static weft_status sum_targets(weft_comm *comm, const tree_targets *targets, double sum[2])
{
    fixed_sum weights, products;
    double most[3] = {0.0, 0.0, 0.0};
    for (int64_t i = 0; i < targets->rows; ++i) {
        if (targets->counts[i] != 0) {
            const double w = targets->weight != NULL ? (double)targets->weight[i] : 1.0;
            most[0] = fmax(most[0], w);
            most[1] = fmax(most[1], fabs(w * (double)targets->y[i]));
            most[2] += 1.0;
        }
    }
    int64_t rows = (int64_t)most[2];
    WEFT_TRY(comm_allreduce(comm, most, 2, WEFT_DTYPE_F64, COMM_MAX));
    WEFT_TRY(comm_allreduce(comm, &rows, 1, WEFT_DTYPE_I64, COMM_SUM));
    WEFT_CHECK(isfinite(most[0]) && isfinite(most[1]), WEFT_ERR_DATA, "a target or a weight is infinite");
    weights = fixed_sum_of(most[0], rows);
    products = fixed_sum_of(most[1], rows);
    int64_t total[2] = {0, 0};
    for (int64_t i = 0; i < targets->rows; ++i) {
        if (targets->counts[i] != 0) {
            const double w = targets->weight != NULL ? (double)targets->weight[i] : 1.0;
            total[0] += fixed_of(&weights, w);
            total[1] += fixed_of(&products, w * (double)targets->y[i]);
        }
    }
    WEFT_TRY(comm_allreduce(comm, total, 2, WEFT_DTYPE_I64, COMM_SUM));
    sum[0] = fixed_value(&weights, total[0]);
    sum[1] = fixed_value(&products, total[1]);
    WEFT_CHECK(sum[0] > 0.0, WEFT_ERR_DATA, "no row of the training has a target and a weight above 0");
    return WEFT_OK;
}

weft_status tree_base(weft_comm *comm, const tree_targets *targets, float *base)
{
    double sum[2];
    if (targets->loss == TREE_LOSS_RANK) {
        base[0] = 0.0F;
        return WEFT_OK;
    }
    const leaf_rows all = {targets->rows, NULL, targets->y, targets->weight, targets->counts};
    WEFT_TRY(sum_targets(comm, targets, sum));
    const double mean = sum[1] / sum[0];
    switch (targets->loss) {
    case TREE_LOSS_SOFTMAX:
        memset(base, 0, (size_t)targets->outputs * sizeof *base);
        return WEFT_OK;
    case TREE_LOSS_SQUARED:
        base[0] = (float)mean;
        return WEFT_OK;
    case TREE_LOSS_ABSOLUTE:
    case TREE_LOSS_QUANTILE:
        return leaf_quantiles(comm, &all, 1, tree_loss_quantile(targets), base);
    case TREE_LOSS_POISSON:
        WEFT_CHECK(mean > 0.0, WEFT_ERR_DATA, "all targets are 0, so there is no rate to learn");
        base[0] = (float)log(mean);
        return WEFT_OK;
    default:
        WEFT_CHECK(mean > 0.0 && !(mean >= 1.0), WEFT_ERR_DATA,
                   "all rows of the training are of class %d: there is nothing to tell apart", !(mean > 0.0) ? 0 : 1);
        base[0] = (float)log(mean / (1.0 - mean));
        return WEFT_OK;
    }
}

static double softmax_loss(const tree_targets *targets, int64_t row, const float *margin)
{
    double most = (double)margin[0], sum = 0.0;
    for (int k = 1; k < targets->outputs; ++k) {
        most = fmax(most, (double)margin[k]);
    }
    for (int k = 0; k < targets->outputs; ++k) {
        sum += exp((double)margin[k] - most);
    }
    return most + log(sum) - (double)margin[(int)targets->y[row]];
}

double tree_loss_at(const tree_targets *targets, int64_t row, const float *margin)
{
    const double m = (double)margin[0], y = (double)targets->y[row], share = tree_loss_quantile(targets);
    const double z = y > 0.0 ? -m : m;
    switch (targets->loss) {
    case TREE_LOSS_SOFTMAX:
        return softmax_loss(targets, row, margin);
    case TREE_LOSS_LOGISTIC:
        return z > 0.0 ? z + log1p(exp(-z)) : log1p(exp(z));
    case TREE_LOSS_SQUARED:
        return 0.5 * (m - y) * (m - y);
    case TREE_LOSS_POISSON:
        return exp(m) - y * m;
    default:
        return (targets->loss == TREE_LOSS_ABSOLUTE ? 2.0 : 1.0) * (m > y ? (1.0 - share) * (m - y) : share * (y - m));
    }
}
