/* trees/shap/quadrature.c: see trees/shap/quadrature.h. The points are the zeros of a Legendre polynomial, which
 * Newton's method finds from an estimate that is good to a part of their distance. */
#include "trees/shap/quadrature.h"

#include <math.h>

#define PI 3.14159265358979323846

enum { STEPS = 100 };

void quadrature_find(int count, double *point, double *weight)
{
    for (int i = 0; i < count; ++i) {
        double x = cos(PI * (i + 0.75) / (count + 0.5)), slope = 0.0, step = 1.0;
        for (int n = 0; n < STEPS && fabs(step) > 1e-16; ++n) {
            double last = 1.0, value = x;
            for (int k = 2; k <= count; ++k) { /* k P_k = (2 k - 1) x P_(k-1) - (k - 1) P_(k-2) */
                const double next = ((2 * k - 1) * x * value - (k - 1) * last) / k;
                last = value;
                value = next;
            }
            slope = count * (last - x * value) / (1.0 - x * x);
            step = value / slope;
            x -= step;
        }
        point[i] = 0.5 * (1.0 - x);
        weight[i] = 1.0 / ((1.0 - x * x) * slope * slope);
    }
}
