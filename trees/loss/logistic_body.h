/* trees/loss/logistic_body.h: the kernel of logistic.h, included once for each instruction set as LOGISTIC. */
#include <math.h>

#include "base/exact/exp_series.h"
#include "trees/loss/logistic.h"

enum { LANES = LOGISTIC_LANES, BLOCK = 8 * LANES };

typedef struct logistic_sums {
    double product[LANES], rest[LANES];
} logistic_sums;

/* BLOCK rows. */
static void take_block(const float *restrict margin, const float *restrict y, const uint8_t *restrict counts,
                       float *restrict gradient, float *restrict hessian, logistic_sums *sums)
{
    double factor[BLOCK], rest[BLOCK];
#pragma omp simd
    for (int i = 0; i < BLOCK; ++i) {
        const double m = (double)margin[i], size = m < 0.0 ? -m : m;
        const double e = exp_series(-size), one = 1.0 / (1.0 + e);
        const float p = (float)(m < 0.0 ? e * one : one);
        const float spread = p * (1.0F - p);
        gradient[i] = counts[i] != 0 ? p - y[i] : 0.0F;
        hessian[i] = counts[i] == 0 ? 0.0F : spread > TREE_LEAST_HESSIAN ? spread : TREE_LEAST_HESSIAN;
        const double own = counts[i] != 0 ? 1.0 : 0.0, wrong = m < 0.0 ? (double)y[i] : 1.0 - (double)y[i];
        factor[i] = 1.0 + own * e;
        rest[i] = own * wrong * size;
    }
    for (int i = 0; i < BLOCK; i += LANES) {
        for (int l = 0; l < LANES; ++l) {
            sums->product[l] *= factor[i + l];
            sums->rest[l] += rest[i + l];
        }
    }
}

/* The last rows, fewer than BLOCK. */
static void take_last(const logistic_rows *r, int64_t at, logistic_sums *sums)
{
    float margin[BLOCK] = {0}, y[BLOCK] = {0}, gradient[BLOCK], hessian[BLOCK];
    uint8_t counts[BLOCK] = {0};
    const size_t rest = (size_t)(r->rows - at);
    memcpy(margin, r->margin + at, rest * sizeof *margin);
    memcpy(y, r->y + at, rest * sizeof *y);
    memcpy(counts, r->counts + at, rest);
    take_block(margin, y, counts, gradient, hessian, sums);
    memcpy(r->gradient + at, gradient, rest * sizeof *gradient);
    memcpy(r->hessian + at, hessian, rest * sizeof *hessian);
}

double LOGISTIC(const logistic_rows *r)
{
    logistic_sums sums;
    double sum = 0.0;
    int64_t at = 0;
    for (int l = 0; l < LANES; ++l) {
        sums.product[l] = 1.0;
        sums.rest[l] = 0.0;
    }
    for (; at + BLOCK <= r->rows; at += BLOCK) {
        take_block(r->margin + at, r->y + at, r->counts + at, r->gradient + at, r->hessian + at, &sums);
    }
    if (at < r->rows) {
        take_last(r, at, &sums);
    }
    for (int l = 0; l < LANES; ++l) {
        sum += log(sums.product[l]) + sums.rest[l];
    }
    return sum;
}
