/*
 * tune/gp/gp_warp.h: coordinates that a Gaussian process bends before it measures distances.
 *
 * A coordinate x in [0, 1] becomes w(x) = 1 - (1 - x^a)^b, the distribution function of Kumaraswamy: it grows from 0 to
 * 1, and a = b = 1 leaves x as it is. So a function that changes fast at one end of a dimension and slowly at the other
 * has one length all over it.
 *
 * J. Snoek, K. Swersky, R. Zemel, R. P. Adams: Input warping for Bayesian optimization of non-stationary functions.
 * ICML 2014, arXiv 1402.0929.
 */
#pragma once

#include <stdbool.h>

#include "base/alloc.h"

typedef struct gp_warp {
    int dimensions;
    const bool *which; /* [dimensions] */
    double *a, *b;     /* [dimensions] */
    double *place;     /* [dimensions]: of a prediction */
    double *x;         /* [points, dimensions]: warped; dimensions that are not in `which` as they were */
    double *pull;      /* [points, dimensions]: the derivative of a value by x */
} gp_warp;

/* For up to `points` points. `which` [dimensions]: what is warped; it must outlive the warp. */
weft_status gp_warp_open(int dimensions, int points, const bool *which, gp_warp **warp);
/* NULL is allowed. */
void gp_warp_close(gp_warp *warp);
/* w(x). A coordinate outside of [0, 1] counts as the nearer end. [out] by_log_a, by_log_b: its derivatives by log a and
 * log b, or both NULL. */
double gp_warp_value(double x, double a, double b, double *by_log_a, double *by_log_b);
/* logs [2, dimensions]: log a, then log b, of the points x [points, dimensions] from now on. */
void gp_warp_set(gp_warp *warp, const double *logs, const double *x, int points);
/* The warped place [dimensions] of x, until the next call. */
const double *gp_warp_place(const gp_warp *warp, const double *x);
/* Adds `slope` times the derivatives of the squared radius of points i and k, with these weights, to warp->pull. */
void gp_warp_pull(gp_warp *warp, const double *weight, int i, int k, double slope);
/* Adds the derivatives by log a and log b of what warp->pull has been told of to gradient [2, dimensions]. */
void gp_warp_gradient(const gp_warp *warp, const double *x, int points, double *gradient);
