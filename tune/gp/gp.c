/* tune/gp/gp.c: likelihood, its gradient and predictions: see tune/gp/gp.h. */
#include <assert.h>
#include <math.h>
#include <string.h>

#include "tune/gp/gp_model.h"
#include "tune/space/space.h"

/* Normal priors of the logarithms: their means and deviations. Lengths as Hvarfner et al. have them. */
static const double length_mean = 1.4142135623730951, length_deviation = 1.7320508075688772; /* as Hvarfner et al. */
static const double variance_mean[GP_VARIANCES] = {0.0, -3.0, -5.0}, variance_deviation[GP_VARIANCES] = {1.0, 1.0, 1.5};
static const double warp_deviation = 0.5; /* of log a and log b, whose mean is 0 */
static const double log_two_pi = 1.8378770664093453, root_five = 2.23606797749979;

static int thetas(int dimensions, bool warps)
{
    return dimensions + GP_VARIANCES + (warps ? 2 * dimensions : 0);
}

weft_status gp_open(int dimensions, const bool *warp, gp_model **gp)
{
    weft_status status = WEFT_OK;
    gp_model *g = NULL;
    WEFT_TRY(WEFT_NEW_ZERO(&g, 1, WEFT_MEM_SEARCH));
    g->dimensions = dimensions;
    const size_t square = (size_t)GP_POINTS_MAX * GP_POINTS_MAX, theta = (size_t)thetas(dimensions, warp != NULL);
    if (warp != NULL) {
        WEFT_TRY_GOTO(gp_warp_open(dimensions, GP_POINTS_MAX, warp, &g->warp), status, done);
    }
    WEFT_TRY_GOTO(WEFT_NEW(&g->factor, square, WEFT_MEM_SEARCH), status, done);
    WEFT_TRY_GOTO(WEFT_NEW(&g->inverse, square, WEFT_MEM_SEARCH), status, done);
    WEFT_TRY_GOTO(WEFT_NEW(&g->alpha, GP_POINTS_MAX, WEFT_MEM_SEARCH), status, done);
    WEFT_TRY_GOTO(WEFT_NEW(&g->row, GP_POINTS_MAX, WEFT_MEM_SEARCH), status, done);
    WEFT_TRY_GOTO(WEFT_NEW(&g->weight, theta, WEFT_MEM_SEARCH), status, done);
    WEFT_TRY_GOTO(WEFT_NEW(&g->hessian, theta * theta, WEFT_MEM_SEARCH), status, done);
    WEFT_TRY_GOTO(WEFT_NEW(&g->step, 6 * theta, WEFT_MEM_SEARCH), status, done);
done:
    if (status != WEFT_OK) {
        gp_close(g);
        g = NULL;
    }
    *gp = g;
    return status;
}

void gp_close(gp_model *gp)
{
    if (gp != NULL) {
        gp_warp_close(gp->warp);
        WEFT_FREE_ALL(gp->factor, gp->inverse, gp->alpha, gp->row, gp->weight, gp->hessian, gp->step, gp);
    }
}

int gp_thetas(const gp_model *gp)
{
    return thetas(gp->dimensions, gp->warp != NULL);
}

/* ---- covariance -------------------------------------------------------------------------------------------------
 * */

static double distance(const gp_data *data, int d, double a, double b)
{
    return data->category[d] ? (a == b ? 0.0 : 1.0) : (a - b) * (a - b);
}

static double squared_radius(const gp_model *gp, const double *a, const double *b)
{
    double sum = 0.0;
    for (int d = 0; d < gp->dimensions; d++) {
        sum += gp->weight[d] * distance(&gp->data, d, a[d], b[d]);
    }
    return sum;
}

static double matern(double squared)
{
    const double r = root_five * sqrt(squared);
    return (1.0 + r + r * r / 3.0) * exp(-r);
}

/* The derivative of the correlation by the squared radius: -5/6 (1 + sqrt(5) r) exp(-sqrt(5) r). */
static double matern_slope(double squared)
{
    const double r = root_five * sqrt(squared);
    return -5.0 / 6.0 * (1.0 + r) * exp(-r);
}

static void fill_covariance(gp_model *gp)
{
    const gp_data *data = &gp->data;
    const int n = data->points, dims = gp->dimensions;
    for (int i = 0; i < n; i++) {
        double *row = gp->factor + (int64_t)i * n;
        for (int k = 0; k < i; k++) {
            row[k] = gp->signal * matern(squared_radius(gp, gp->x + (int64_t)i * dims, gp->x + (int64_t)k * dims));
        }
        row[i] = gp->signal + gp->own + gp->noise / data->runs[i];
    }
}

/* ---- likelihood -------------------------------------------------------------------------------------------------
 * */

/* alpha = K^-1 (y - m), m the constant of least squares. Returns the quadratic form of y - m. */
static double solve_scores(gp_model *gp)
{
    const int n = gp->data.points;
    const double *y = gp->data.y;
    double ones = 0.0, scores = 0.0, form = 0.0;
    for (int i = 0; i < n; i++) {
        const double *row = gp->inverse + (int64_t)i * n;
        gp->row[i] = gp_dot(row, gp->data.y, n);
        gp->alpha[i] = 0.0;
        for (int k = 0; k < n; k++) {
            gp->alpha[i] += row[k];
        }
        ones += gp->alpha[i];
        scores += gp->row[i];
    }
    gp->mean = scores / ones;
    for (int i = 0; i < n; i++) {
        gp->alpha[i] = gp->row[i] - gp->mean * gp->alpha[i];
        form += gp->alpha[i] * (y[i] - gp->mean);
    }
    return form;
}

/* d value / d theta of the likelihood: the sum of half (K^-1 - alpha alpha^T) dK / d theta. */
static void add_gradient(const gp_model *gp, double *gradient)
{
    const gp_data *data = &gp->data;
    const int n = data->points, dims = gp->dimensions;
    double signal = 0.0, noise = 0.0, alone = 0.0;
    for (int i = 0; i < n; i++) {
        const double *a = gp->x + (int64_t)i * dims;
        for (int k = 0; k < i; k++) {
            const double *b = gp->x + (int64_t)k * dims;
            const double change = gp->inverse[(int64_t)i * n + k] - gp->alpha[i] * gp->alpha[k];
            const double squared = squared_radius(gp, a, b);
            const double slope = change * gp->signal * matern_slope(squared);
            signal += change * gp->signal * matern(squared);
            for (int d = 0; d < dims; d++) {
                gradient[d] += slope * gp->weight[d] * distance(data, d, a[d], b[d]);
            }
            if (gp->warp != NULL) {
                gp_warp_pull(gp->warp, gp->weight, i, k, slope);
            }
        }
        const double half = 0.5 * (gp->inverse[(int64_t)i * n + i] - gp->alpha[i] * gp->alpha[i]);
        signal += half * gp->signal;
        noise += half * gp->noise / data->runs[i];
        alone += half * gp->own;
    }
    gradient[dims] += signal;
    gradient[dims + 1] += noise;
    gradient[dims + 2] += alone;
    if (gp->warp != NULL) {
        gp_warp_gradient(gp->warp, data->x, n, gradient + dims + GP_VARIANCES);
    }
}

/* ---- prior ------------------------------------------------------------------------------------------------------
 * */

/* Means and deviations of theta[at]. A weight is the length to the power of -2. */
static void prior_of(int dimensions, int at, double *mean, double *deviation)
{
    if (at < dimensions) {
        *mean = -2.0 * (length_mean + 0.5 * log((double)dimensions));
        *deviation = 2.0 * length_deviation;
        return;
    }
    if (at >= dimensions + GP_VARIANCES) {
        *mean = 0.0;
        *deviation = warp_deviation;
        return;
    }
    *mean = variance_mean[at - dimensions];
    *deviation = variance_deviation[at - dimensions];
}

void gp_prior(const gp_model *gp, double *theta)
{
    double deviation;
    for (int at = 0; at < gp_thetas(gp); at++) {
        prior_of(gp->dimensions, at, &theta[at], &deviation);
    }
}

static double prior_value(const gp_model *gp, const double *theta, double *gradient)
{
    double sum = 0.0, mean, deviation;
    for (int at = 0; at < gp_thetas(gp); at++) {
        prior_of(gp->dimensions, at, &mean, &deviation);
        const double u = (theta[at] - mean) / deviation;
        sum += 0.5 * u * u;
        if (gradient != NULL) {
            gradient[at] = u / deviation;
        }
    }
    return sum;
}

/* ---- model ------------------------------------------------------------------------------------------------------
 * */

bool gp_condition(gp_model *gp, const gp_data *data, const double *theta, double *value, double *gradient)
{
    assert(data->points >= 1 && data->points <= GP_POINTS_MAX && data->dimensions == gp->dimensions);
    const int n = data->points;
    gp->data = *data;
    gp->x = data->x;
    if (gp->warp != NULL) {
        gp_warp_set(gp->warp, theta + gp->dimensions + GP_VARIANCES, data->x, n);
        gp->x = gp->warp->x;
    }
    for (int d = 0; d < gp->dimensions; d++) {
        gp->weight[d] = exp(theta[d]);
    }
    gp->signal = exp(theta[gp->dimensions]);
    gp->noise = exp(theta[gp->dimensions + 1]);
    gp->own = exp(theta[gp->dimensions + 2]);
    fill_covariance(gp);
    double half_log;
    if (!gp_invert(gp->factor, gp->inverse, n, &half_log)) {
        return false;
    }
    *value = 0.5 * solve_scores(gp) + half_log + 0.5 * n * log_two_pi + prior_value(gp, theta, gradient);
    if (gradient != NULL) {
        add_gradient(gp, gradient);
    }
    return isfinite(*value);
}

void gp_predict(const gp_model *gp, const double *x, double *mean, double *variance)
{
    const int n = gp->data.points;
    const double *place = gp->warp != NULL ? gp_warp_place(gp->warp, x) : x;
    double sum = gp->mean, form = 0.0;
    for (int i = 0; i < n; i++) {
        gp->row[i] = gp->signal * matern(squared_radius(gp, place, gp->x + (int64_t)i * gp->dimensions));
        sum += gp->row[i] * gp->alpha[i];
    }
    *mean = sum;
    if (variance != NULL) {
        for (int i = 0; i < n; i++) {
            const double *row = gp->inverse + (int64_t)i * n;
            form += gp->row[i] * (2.0 * gp_dot(row, gp->row, i) + row[i] * gp->row[i]);
        }
        *variance = fmax(gp->signal - form, 0.0);
    }
}

/* With the noise n of its score, K^-1 gives y - n alpha and n - n^2 K^-1[point, point]. */
void gp_predict_point(const gp_model *gp, int point, double *mean, double *variance)
{
    const double noise = gp->noise / gp->data.runs[point];
    *mean = gp->data.y[point] - noise * gp->alpha[point];
    *variance = fmax(noise - noise * noise * gp->inverse[(int64_t)point * gp->data.points + point], 0.0);
}

double gp_noise(const gp_model *gp)
{
    return gp->noise;
}

double gp_improvement(double best, double mean, double deviation)
{
    if (deviation <= 0.0) {
        return fmax(best - mean, 0.0);
    }
    const double u = (best - mean) / deviation;
    const double below = 0.5 * erfc(-u * M_SQRT1_2), density = exp(-0.5 * (u * u + log_two_pi));
    return deviation * (u * below + density);
}
