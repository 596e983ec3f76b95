/* tune/gp/gp_warp.c: see tune/gp/gp_warp.h. */
#include "tune/gp/gp_warp.h"

#include <math.h>
#include <string.h>

#include "tune/space/space.h"

weft_status gp_warp_open(int dimensions, int points, const bool *which, gp_warp **warp)
{
    weft_status status = WEFT_OK;
    gp_warp *w = NULL;
    const size_t dims = (size_t)dimensions, all = dims * (size_t)points;
    WEFT_TRY(WEFT_NEW_ZERO(&w, 1, WEFT_MEM_SEARCH));
    w->dimensions = dimensions;
    w->which = which;
    WEFT_TRY_GOTO(WEFT_NEW(&w->a, dims, WEFT_MEM_SEARCH), status, done);
    WEFT_TRY_GOTO(WEFT_NEW(&w->b, dims, WEFT_MEM_SEARCH), status, done);
    WEFT_TRY_GOTO(WEFT_NEW(&w->place, dims, WEFT_MEM_SEARCH), status, done);
    WEFT_TRY_GOTO(WEFT_NEW(&w->x, all, WEFT_MEM_SEARCH), status, done);
    WEFT_TRY_GOTO(WEFT_NEW(&w->pull, all, WEFT_MEM_SEARCH), status, done);
done:
    if (status != WEFT_OK) {
        gp_warp_close(w);
        w = NULL;
    }
    *warp = w;
    return status;
}

void gp_warp_close(gp_warp *warp)
{
    if (warp != NULL) {
        WEFT_FREE_ALL(warp->a, warp->b, warp->place, warp->x, warp->pull, warp);
    }
}

/* With u = x^a and v = 1 - u: w = 1 - v^b, dw / d log a = a b log(x) u v^(b - 1), dw / d log b = -b log(v) v^b. At both
 * ends the derivatives are 0, which is their limit. */
double gp_warp_value(double x, double a, double b, double *by_log_a, double *by_log_b)
{
    const double log_u = a * log(fmin(fmax(x, 0.0), 1.0)), v = -expm1(log_u);
    if (by_log_a != NULL) {
        const bool inside = isfinite(log_u) && v > 0.0;
        *by_log_a = inside ? b * log_u * exp(log_u + (b - 1.0) * log(v)) : 0.0;
        *by_log_b = inside ? -b * log(v) * pow(v, b) : 0.0;
    }
    return -expm1(b * log(v));
}

void gp_warp_set(gp_warp *warp, const double *logs, const double *x, int points)
{
    for (int d = 0; d < warp->dimensions; d++) {
        warp->a[d] = exp(logs[d]);
        warp->b[d] = exp(logs[warp->dimensions + d]);
    }
    for (int i = 0; i < points; i++) {
        const int64_t at = (int64_t)i * warp->dimensions;
        memcpy(warp->x + at, gp_warp_place(warp, x + at), (size_t)warp->dimensions * sizeof *x);
    }
    memset(warp->pull, 0, (size_t)points * (size_t)warp->dimensions * sizeof *warp->pull);
}

const double *gp_warp_place(const gp_warp *warp, const double *x)
{
    for (int d = 0; d < warp->dimensions; d++) {
        warp->place[d] = warp->which[d] ? gp_warp_value(x[d], warp->a[d], warp->b[d], NULL, NULL) : x[d];
    }
    return warp->place;
}

void gp_warp_pull(gp_warp *warp, const double *weight, int i, int k, double slope)
{
    const int dims = warp->dimensions;
    const double *a = warp->x + (int64_t)i * dims, *b = warp->x + (int64_t)k * dims;
    double *of_a = warp->pull + (int64_t)i * dims, *of_b = warp->pull + (int64_t)k * dims;
    for (int d = 0; d < dims; d++) {
        const double pull = 2.0 * slope * weight[d] * (a[d] - b[d]);
        of_a[d] += pull;
        of_b[d] -= pull;
    }
}

void gp_warp_gradient(const gp_warp *warp, const double *x, int points, double *gradient)
{
    const int dims = warp->dimensions;
    double by_log_a, by_log_b;
    for (int i = 0; i < points; i++) {
        for (int d = 0; d < dims; d++) {
            if (warp->which[d]) {
                const int64_t at = (int64_t)i * dims + d;
                (void)gp_warp_value(x[at], warp->a[d], warp->b[d], &by_log_a, &by_log_b);
                gradient[d] += warp->pull[at] * by_log_a;
                gradient[dims + d] += warp->pull[at] * by_log_b;
            }
        }
    }
}
