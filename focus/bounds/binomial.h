/*
 * focus/bounds/binomial.h: exact bounds from the binomial law, for shares of a population that a uniform sample shows.
 *
 * Samples here are drawn without replacement, whose counts spread less than the binomial law says (W. Uhlmann,
 * Vergleich der hypergeometrischen mit der Binomial-Verteilung. Metrika 10, 1966): the bounds hold, and are a little
 * wider than they need be.
 */
#pragma once

#include <stdint.h>

/* Returns P(X <= k) for X of n draws that succeed with probability p in [0, 1]. O(k). */
double binomial_below(int64_t n, double p, int64_t k);

/* Returns the largest share of successes that `successes` of n draws leave possible: with probability 1 - delta the
 * true share is not above it (C. Clopper, E. Pearson, Biometrika 26, 1934). 1 where n is 0. */
double binomial_upper(int64_t n, int64_t successes, double delta);

/*
 * Returns the largest j for which the j-th smallest of n draws of a number is, with probability 1 - delta, not above
 * the quantile `tail` of its law: P(X <= j - 1) <= delta with p = tail. 0: n is too small for any (S. S. Wilks,
 * Determination of sample sizes for setting tolerance limits. Ann. Math. Statist. 12, 1941).
 */
int64_t binomial_order(int64_t n, double tail, double delta);
