/*
 * tune/gp/gp_fit.c: the likeliest theta, by BFGS with steps that are shortened until they go down.
 *
 * Steps are at most 1 long in any of the logarithms, which keeps the first ones from leaving where data say anything.
 */
#include <math.h>
#include <string.h>

#include "tune/gp/gp_model.h"

enum { HALVINGS = 8 };
static const double decrease = 1e-4, flat = 1e-3, longest = 1.5;
static const double shorter = 4.0; /* in logarithms of weights, which are lengths to the power of -2 */

typedef struct descent {
    int size;
    double *hessian; /* [size, size]: of the inverse */
    double *theta, *next, *gradient, *next_gradient, *step, *change;
} descent;

static void start_hessian(descent *d)
{
    memset(d->hessian, 0, (size_t)d->size * (size_t)d->size * sizeof *d->hessian);
    for (int i = 0; i < d->size; i++) {
        d->hessian[(int64_t)i * d->size + i] = 1.0;
    }
}

/* step = -H gradient, cut to its longest. Returns the slope along it. */
static double choose_step(descent *d)
{
    double most = 0.0, slope = 0.0;
    for (int i = 0; i < d->size; i++) {
        d->step[i] = -gp_dot(d->hessian + (int64_t)i * d->size, d->gradient, d->size);
        most = fmax(most, fabs(d->step[i]));
    }
    const double scale = most > longest ? longest / most : 1.0;
    for (int i = 0; i < d->size; i++) {
        d->step[i] *= scale;
        slope += d->step[i] * d->gradient[i];
    }
    return slope;
}

/* H = (1 - s y^T / sy) H (1 - y s^T / sy) + s s^T / sy, where the curvature sy is positive. */
static void update_hessian(descent *d)
{
    const int n = d->size;
    double *y = d->next_gradient, curvature = 0.0, form = 0.0; /* becomes the difference of gradients */
    for (int i = 0; i < n; i++) {
        y[i] -= d->gradient[i];
        curvature += d->step[i] * y[i];
    }
    if (curvature > 1e-10) {
        for (int i = 0; i < n; i++) {
            d->change[i] = gp_dot(d->hessian + (int64_t)i * n, y, n);
            form += y[i] * d->change[i];
        }
        const double own = (1.0 + form / curvature) / curvature;
        for (int i = 0; i < n; i++) {
            for (int k = 0; k < n; k++) {
                d->hessian[(int64_t)i * n + k] +=
                    own * d->step[i] * d->step[k] - (d->change[i] * d->step[k] + d->step[i] * d->change[k]) / curvature;
            }
        }
    }
    for (int i = 0; i < n; i++) {
        y[i] += d->gradient[i];
    }
}

/* One step downwards. Returns false if none was found. */
static bool go_down(gp_model *gp, const gp_data *data, descent *d, double *value)
{
    double slope = choose_step(d), next;
    if (slope >= 0.0) {
        start_hessian(d);
        slope = choose_step(d);
    }
    for (int halving = 0; halving < HALVINGS; halving++) {
        for (int i = 0; i < d->size; i++) {
            d->next[i] = d->theta[i] + d->step[i];
        }
        if (gp_condition(gp, data, d->next, &next, d->next_gradient) && next <= *value + decrease * slope) {
            update_hessian(d);
            memcpy(d->theta, d->next, (size_t)d->size * sizeof *d->theta);
            memcpy(d->gradient, d->next_gradient, (size_t)d->size * sizeof *d->gradient);
            *value = next;
            return true;
        }
        slope *= 0.5;
        for (int i = 0; i < d->size; i++) {
            d->step[i] *= 0.5;
        }
    }
    return false;
}

static bool is_flat(const descent *d)
{
    double most = 0.0;
    for (int i = 0; i < d->size; i++) {
        most = fmax(most, fabs(d->gradient[i]));
    }
    return most < flat;
}

/* Steps down from d->theta. Returns the value that they reach. */
static double descend(gp_model *gp, const gp_data *data, descent *d, int steps)
{
    double value;
    if (!gp_condition(gp, data, d->theta, &value, d->gradient)) {
        return INFINITY;
    }
    start_hessian(d);
    for (int step = 0; step < steps && !is_flat(d) && go_down(gp, data, d, &value); step++) {
    }
    return value;
}

void gp_fit(gp_model *gp, const gp_data *data, double *theta, int steps)
{
    const int size = gp_thetas(gp);
    double *at = gp->step, *other = at + 5 * size, ignored;
    descent d = {size, gp->hessian, theta, at, at + size, at + 2 * size, at + 3 * size, at + 4 * size};
    gp_prior(gp, theta);
    gp_prior(gp, other);
    for (int i = 0; i < gp->dimensions; i++) {
        other[i] += shorter;
    }
    const double value = descend(gp, data, &d, steps);
    d.theta = other;
    if (descend(gp, data, &d, steps) < value) {
        memcpy(theta, other, (size_t)size * sizeof *theta);
    }
    (void)gp_condition(gp, data, theta, &ignored, NULL);
}
