/* trees/loss/tree_loss.c: see trees/loss/tree_loss.h. */
#include "trees/loss/tree_loss.h"

#include <math.h>
#include <string.h>

#include "trees/loss/fixed_sum.h"

#define LEAST_HESSIAN 1e-16F

double tree_exp(double x)
{
    const double bounded = fmin(fmax(x, -700.0), 700.0);
    const double n = floor(bounded * 1.4426950408889634 + 0.5);
    const double r = (bounded - n * 0.693147180369123816490) - n * 1.90821492927058770002e-10;
    double sum = 1.0;
    for (int i = 10; i > 0; --i) {
        sum = 1.0 + sum * r / (double)i;
    }
    const int64_t bits = (int64_t)(n + 1023.0) << 52;
    double power;
    memcpy(&power, &bits, sizeof power);
    return sum * power;
}

static void single_row(tree_loss loss, float margin, float y, float *gradient, float *hessian)
{
    if (loss == TREE_LOSS_SQUARED) {
        *gradient = margin - y;
        *hessian = 1.0F;
        return;
    }
    if (loss == TREE_LOSS_POISSON) {
        const float mean = (float)tree_exp((double)margin);
        *gradient = mean - y;
        *hessian = mean > LEAST_HESSIAN ? mean : LEAST_HESSIAN;
        return;
    }
    const float p = (float)(1.0 / (1.0 + tree_exp(-(double)margin)));
    const float spread = p * (1.0F - p);
    *gradient = p - y;
    *hessian = spread > LEAST_HESSIAN ? spread : LEAST_HESSIAN;
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
        hessian[k * targets->rows + row] = spread > LEAST_HESSIAN ? spread : LEAST_HESSIAN;
    }
}

static void weigh_row(const tree_targets *targets, int64_t row, float *gradient, float *hessian)
{
    const float weight = targets->counts[row] == 0 ? 0.0F : targets->weight == NULL ? 1.0F : targets->weight[row];
    for (int k = 0; k < targets->outputs; ++k) {
        gradient[k * targets->rows + row] *= weight;
        hessian[k * targets->rows + row] *= weight;
    }
}

void tree_gradients(const tree_targets *targets, const float *margin, int threads, float *gradient, float *hessian)
{
#pragma omp parallel for schedule(static) num_threads(threads)
    for (int64_t i = 0; i < targets->rows; ++i) {
        if (targets->counts[i] == 0) {
            for (int k = 0; k < targets->outputs; ++k) {
                gradient[k * targets->rows + i] = hessian[k * targets->rows + i] = 0.0F;
            }
            continue;
        }
        if (targets->loss == TREE_LOSS_SOFTMAX) {
            softmax_row(targets, i, margin + i * targets->outputs, gradient, hessian);
        } else {
            single_row(targets->loss, margin[i], targets->y[i], &gradient[i], &hessian[i]);
        }
        weigh_row(targets, i, gradient, hessian);
    }
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
    WEFT_TRY(sum_targets(comm, targets, sum));
    const double mean = sum[1] / sum[0];
    switch (targets->loss) {
    case TREE_LOSS_SOFTMAX:
        memset(base, 0, (size_t)targets->outputs * sizeof *base);
        return WEFT_OK;
    case TREE_LOSS_SQUARED:
        base[0] = (float)mean;
        return WEFT_OK;
    case TREE_LOSS_POISSON:
        WEFT_CHECK(mean > 0.0, WEFT_ERR_DATA, "all targets are 0, so there is no rate to learn");
        base[0] = (float)log(mean);
        return WEFT_OK;
    default:
        WEFT_CHECK(mean > 0.0 && mean < 1.0, WEFT_ERR_DATA,
                   "all rows of the training are of class %d: there is nothing to tell apart",
                   mean > 0.0 ? 1 : 0);
        base[0] = (float)log(mean / (1.0 - mean));
        return WEFT_OK;
    }
}
