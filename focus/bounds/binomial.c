/* focus/bounds/binomial.c: see focus/bounds/binomial.h. */
#include "focus/bounds/binomial.h"

#include <math.h>

double binomial_below(int64_t n, double p, int64_t k)
{
    double sum = 0.0;
    if (k < 0) {
        return 0.0;
    }
    if (k >= n || p <= 0.0) {
        return 1.0;
    }
    if (p >= 1.0) {
        return 0.0;
    }
    double term = (double)n * log1p(-p); /* logarithm of P(X = i) */
    for (int64_t i = 0; i <= k; ++i) {
        sum += exp(term);
        term += log((double)(n - i) / (double)(i + 1)) + log(p) - log1p(-p);
    }
    return fmin(sum, 1.0);
}

double binomial_upper(int64_t n, int64_t successes, double delta)
{
    double low = n > 0 ? (double)successes / (double)n : 1.0, high = 1.0;
    for (int i = 0; i < 60 && low < high; ++i) {
        const double middle = (low + high) / 2.0;
        *(binomial_below(n, middle, successes) > delta ? &low : &high) = middle;
    }
    return high;
}

int64_t binomial_order(int64_t n, double tail, double delta)
{
    int64_t j = 0;
    while (j < n && binomial_below(n, tail, j) <= delta) {
        ++j;
    }
    return j;
}
