/*
 * tune/gp/gp.h: a Gaussian process over configurations, which knows that scores are noisy.
 *
 * A run of configuration x scores m + f(x) + own(x) + noise, where f has the covariance
 *
 *      k(x, x') = signal (1 + sqrt(5) r + 5 r^2 / 3) exp(-sqrt(5) r),   r^2 = sum over dimensions of weight_d D_d(x,
 * x')
 *
 * (Matern 5/2 with a length for each dimension). D_d is the squared difference of coordinates; where a dimension has
 * no order it is 0 for equal values and 1 for others, which is what one-hot columns give. What is a configuration's
 * own, and no neighbour's, has the variance `own`: it stays when the configuration runs again, as noise does not. A
 * score that is the mean of c runs has the variance own + noise / c around f. The constant m is the one of least
 * squares. Weights and variances are those that are likeliest, given the scores and a prior: theta = log weight
 * [dimensions], log signal, log noise, log own. The prior of lengths grows with the root of the number of dimensions,
 * so that many dimensions do not make all points strangers.
 *
 * A model may warp coordinates (tune/gp/gp_warp.h): theta then goes on with log a [dimensions] and log b [dimensions],
 * whose prior has the mean 0 and the deviation 0.5. Those of dimensions that are not warped have no part in it.
 *
 * Costs n^3 / 2 multiplications an evaluation of the likelihood with its gradient, n^2 a prediction.
 *
 * C. E. Rasmussen, C. K. I. Williams: Gaussian Processes for Machine Learning. MIT Press, 2006, chapters 2 and 5.
 * C. Hvarfner, E. O. Hellsten, L. Nardi: Vanilla Bayesian optimization performs great in high dimensions. ICML 2024.
 */
#pragma once

#include <stdbool.h>

#include "base/alloc.h"

enum { GP_POINTS_MAX = 400, GP_VARIANCES = 3 };

typedef struct gp_data {
    int points, dimensions;
    const double *x;      /* [points, dimensions] coordinates; of dimensions without order, the place of the choice */
    const bool *category; /* [dimensions]: without order */
    const double *y;      /* [points] scores, of about mean 0 and variance 1 */
    const double *runs;   /* [points]: of how many runs the score is the mean */
} gp_data;

typedef struct gp_model gp_model;

/* For up to GP_POINTS_MAX points. warp [dimensions], which must outlive the model: the coordinates, from 0 to 1, that
 * it warps; NULL: none. No dimension without order is among them. */
weft_status gp_open(int dimensions, const bool *warp, gp_model **gp);
void gp_close(gp_model *gp);

/* How many numbers theta has: dimensions + GP_VARIANCES, and 2 dimensions more where coordinates are warped. */
int gp_thetas(const gp_model *gp);
/* theta [gp_thetas] of the prior's mean. */
void gp_prior(const gp_model *gp, double *theta);
/*
 * The model becomes that of these data, which must outlive it, and theta.
 * [out] value  -log of the posterior density of theta, up to a constant; gradient [gp_thetas] or NULL. Returns false
 * if the covariance is not positive definite in the arithmetic of doubles.
 */
bool gp_condition(gp_model *gp, const gp_data *data, const double *theta, double *value, double *gradient);
/*
 * [out] theta  the likeliest of what up to `steps` steps reach from each of two starts, the prior's mean and lengths
 * that are a seventh of its; the model is conditioned on it. With few scores, a function that changes within such
 * lengths and noise without any function are both likely, and steps from the one do not find the other.
 */
void gp_fit(gp_model *gp, const gp_data *data, double *theta, int steps);
/* The posterior of m + f at x [dimensions]: without what is a configuration's own, and without noise. variance: or
 * NULL. */
void gp_predict(const gp_model *gp, const double *x, double *mean, double *variance);
/* The posterior of m + f + own at a point of the data. */
void gp_predict_point(const gp_model *gp, int point, double *mean, double *variance);
/* The variance of the noise of one run. */
double gp_noise(const gp_model *gp);

/* The expected improvement below `best` of a number with this mean and deviation: s (u Phi(u) + phi(u)),
 * u = (best - mean) / s. */
double gp_improvement(double best, double mean, double deviation);
