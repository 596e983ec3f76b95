/* tune/gp/gp_model.h: the inside of a Gaussian process, and dense algebra of its size. */
#pragma once

#include "tune/gp/gp.h"
#include "tune/gp/gp_warp.h"

struct gp_model {
    int dimensions;
    gp_data data;
    gp_warp *warp;   /* NULL: coordinates count as they are */
    const double *x; /* [points, dimensions]: of the data, or warped */
    double mean, signal, noise, own;
    double *weight; /* [dimensions + GP_VARIANCES] */
    double *factor; /* [points, points]: Cholesky's factor of the covariance, then its inverse, in the lower triangle */
    double *inverse;        /* [points, points] of the covariance */
    double *alpha;          /* [points]: inverse times scores without their mean */
    double *row;            /* [points] scratch */
    double *hessian, *step; /* scratch of gp_fit: [theta, theta], [6, theta] */
};

static inline double gp_dot(const double *a, const double *b, int n)
{
    double sum = 0.0;
#pragma omp simd reduction(+ : sum)
    for (int i = 0; i < n; i++) {
        sum += a[i] * b[i];
    }
    return sum;
}

/*
 * The inverse [n, n] of a symmetric positive definite matrix, of which `matrix` holds the lower triangle, and which
 * becomes the inverse of its factor. [out] half_log: half of the logarithm of the determinant. Returns false if it is
 * not positive definite.
 */
bool gp_invert(double *matrix, double *inverse, int n, double *half_log);
