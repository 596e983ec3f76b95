/* trees/grow/split_hits_body.h: the kernel of split_hits.h, included once for each instruction set as SPLIT_HITS. */
#include <math.h>
#include <stdbool.h>

#include "trees/grow/split_hits.h"

double SPLIT_HITS(const split_bar *bar, const left_sums *left, int cuts, double *hit)
{
    const double gradient = bar->gradient, hessian = bar->hessian, gradient_unit = bar->gradient_unit;
    const double hessian_unit = bar->hessian_unit, alpha = bar->alpha, lambda = bar->lambda;
    const double min_hessian = bar->min_hessian, least = bar->least;
    double hits = 0.0;
#pragma omp simd reduction(+ : hits)
    for (int cut = 0; cut < cuts; ++cut) {
        const double own = left->hessian[cut] * hessian_unit, other = (hessian - left->hessian[cut]) * hessian_unit;
        const double a = fabs(left->gradient[cut] * gradient_unit) - alpha;
        const double b = fabs((gradient - left->gradient[cut]) * gradient_unit) - alpha;
        const double l = own + lambda, r = other + lambda, aa = a > 0.0 ? a * a : 0.0, bb = b > 0.0 ? b * b : 0.0;
        const bool gains = aa * r + bb * l >= least * (l * r);
        hit[cut] = gains && own >= min_hessian && other >= min_hessian ? 1.0 : 0.0;
        hits += hit[cut];
    }
    return hits;
}
