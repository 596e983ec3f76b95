/* tune/search/surrogate.c: see tune/search/surrogate.h. */
#include "tune/search/surrogate.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/integer/integers.h"
#include "base/sample.h"

#include "tune/gp/knob.h"
enum { FIRST_STEPS = 40, LATER_STEPS = 12 };

void surrogate_close(search_surrogate *m)
{
    if (m != NULL) {
        gp_close(m->gp);
        WEFT_FREE_ALL(m->theta, m->category, m->x, m->y, m->runs, m->config, m);
    }
}

static weft_status surrogate_open(const search_space *space, search_surrogate **surrogate)
{
    search_surrogate *m = NULL;
    weft_status status = WEFT_OK;
    const size_t dims = (size_t)space->count;
    WEFT_TRY(WEFT_NEW_ZERO(&m, 1, WEFT_MEM_SEARCH));
    WEFT_TRY_GOTO(gp_open(space->count, &m->gp), status, done);
    WEFT_TRY_GOTO(WEFT_NEW(&m->theta, dims + 2, WEFT_MEM_SEARCH), status, done);
    WEFT_TRY_GOTO(WEFT_NEW(&m->category, dims, WEFT_MEM_SEARCH), status, done);
    WEFT_TRY_GOTO(WEFT_NEW(&m->x, GP_POINTS_MAX * dims, WEFT_MEM_SEARCH), status, done);
    WEFT_TRY_GOTO(WEFT_NEW(&m->y, GP_POINTS_MAX, WEFT_MEM_SEARCH), status, done);
    WEFT_TRY_GOTO(WEFT_NEW(&m->runs, GP_POINTS_MAX, WEFT_MEM_SEARCH), status, done);
    WEFT_TRY_GOTO(WEFT_NEW(&m->config, GP_POINTS_MAX, WEFT_MEM_SEARCH), status, done);
    gp_prior(space->count, m->theta);
    for (int d = 0; d < space->count; d++) {
        m->category[d] = !space_is_ordered(&space->dimension[d]);
    }
    m->data = (gp_data){0, space->count, m->x, m->category, m->y, m->runs};
done:
    if (status != WEFT_OK) {
        surrogate_close(m);
        m = NULL;
    }
    *surrogate = m;
    return status;
}

void surrogate_point(const search_space *space, const double *values, double *x)
{
    for (int d = 0; d < space->count; d++) {
        const space_dimension *dimension = &space->dimension[d];
        x[d] = space_is_ordered(dimension) ? space_coordinate(dimension, values[d]) : values[d];
    }
}

/* ---- points ----------------------------------------------------------------------------------------------------- */

typedef struct ranked {
    double score;
    int config;
} ranked;

static int by_score(const void *a, const void *b)
{
    const ranked *p = a, *q = b;
    return p->score != q->score ? (p->score > q->score) - (p->score < q->score) : p->config - q->config;
}

static void add_point(search_surrogate *m, const searcher *s, int config, double score, double runs)
{
    const int at = m->data.points++;
    m->config[at] = config;
    m->y[at] = score;
    m->runs[at] = runs;
    surrogate_point(s->space, history_values(&s->history, config), m->x + (size_t)at * s->space->count);
}

/* The best configurations of which a run has ended, in the order of their scores. */
static weft_status add_known(search_surrogate *m, const searcher *s, int most)
{
    const search_history *history = &s->history;
    ranked *order = NULL;
    int count = 0;
    WEFT_TRY(WEFT_NEW(&order, history->configs, WEFT_MEM_WORKSPACE));
    for (int c = 0; c < history->configs; c++) {
        if (history->config[c].ended > 0) {
            order[count++] = (ranked){history_score(&history->config[c]), c};
        }
    }
    qsort(order, (size_t)count, sizeof *order, by_score);
    m->data.points = 0;
    for (int i = 0; i < count && i < most; i++) {
        add_point(m, s, order[i].config, order[i].score, (double)history->config[order[i].config].ended);
    }
    m->known = m->data.points;
    weft_free(order);
    return WEFT_OK;
}

static double yeo_johnson(double x, double power)
{
    if (x >= 0.0) {
        return fabs(power) < 1e-9 ? log1p(x) : (pow(1.0 + x, power) - 1.0) / power;
    }
    return fabs(power - 2.0) < 1e-9 ? -log1p(-x) : -(pow(1.0 - x, 2.0 - power) - 1.0) / (2.0 - power);
}

static void moments(const double *y, int n, double *mean, double *deviation)
{
    double sum = 0.0, square = 0.0;
    for (int i = 0; i < n; i++) {
        sum += y[i];
    }
    *mean = sum / n;
    for (int i = 0; i < n; i++) {
        square += (y[i] - *mean) * (y[i] - *mean);
    }
    *deviation = sqrt(square / n);
}

static double yj_likelihood(const double *y, int n, double power)
{
    double z[GP_POINTS_MAX], mean, deviation, jac = 0.0;
    for (int i = 0; i < n; i++) {
        z[i] = yeo_johnson(y[i], power);
        jac += (power - 1.0) * (y[i] >= 0 ? log1p(y[i]) : -log1p(-y[i]));
    }
    moments(z, n, &mean, &deviation);
    return -n * log(deviation + 1e-12) + jac;
}

static double normal_quantile(double p) /* by bisection: dev only */
{
    double lo = -8, hi = 8;
    for (int i = 0; i < 60; i++) {
        double mid = 0.5 * (lo + hi);
        if (0.5 * erfc(-mid * M_SQRT1_2) < p) lo = mid; else hi = mid;
    }
    return 0.5 * (lo + hi);
}

static void transform(search_surrogate *m)
{
    int n = m->known, finite = n;
    double *y = m->y;
    const int mode = (int)knob("TR", 1);
    while (finite > 0 && isinf(y[finite - 1])) finite--;
    for (int i = finite; i < n; i++) y[i] = finite > 0 ? y[finite - 1] : 0.0;
    const double worst_q = knob("WQ", 3.0);
    if (mode == 1) { /* winsorise: not farther above the median than WQ times the median is above the best quarter */
        double median = sample_quantile(y, n, 0.5), low = sample_quantile(y, n, 0.1);
        double limit = median + worst_q * (median - low);
        if (median > low)
        for (int i = 0; i < n; i++) y[i] = fmin(y[i], limit);
    }
    double mean, dev;
    moments(y, n, &mean, &dev);
    for (int i = 0; i < n; i++) y[i] = dev > 0 ? (y[i] - mean) / dev : 0.0;
    if (mode == 2) {
        for (int i = 0; i < n; i++) y[i] = normal_quantile((i + 0.5) / n);
    }
    if (mode == 3) {
        double best = -INFINITY, power = 1.0;
        for (double p = -2.0; p <= 4.0; p += 0.1) {
            double l = yj_likelihood(y, n, p);
            if (l > best) { best = l; power = p; }
        }
        for (int i = 0; i < n; i++) y[i] = yeo_johnson(y[i], power);
        moments(y, n, &mean, &dev);
        for (int i = 0; i < n; i++) y[i] = dev > 0 ? (y[i] - mean) / dev : 0.0;
    }
}

/* ---- the model -------------------------------------------------------------------------------------------------- */

/* Configurations that run join with the scores that are expected of them. */
static void add_running(search_surrogate *m, const searcher *s)
{
    const search_history *history = &s->history;
    double ignored, value;
    for (int c = 0; c < history->configs && m->data.points < GP_POINTS_MAX; c++) {
        if (history->config[c].running > 0) {
            add_point(m, s, c, 0.0, (double)history->config[c].running);
        }
    }
    const int all = m->data.points;
    if (all > m->known) {
        for (int i = m->known; i < all; i++) {
            gp_predict(m->gp, m->x + (size_t)i * s->space->count, &m->y[i], &ignored);
        }
        (void)gp_condition(m->gp, &m->data, m->theta, &value, NULL);
    }
}

weft_status surrogate_update(searcher *s)
{
    const search_history *history = &s->history;
    if (s->surrogate == NULL) {
        WEFT_TRY(surrogate_open(s->space, &s->surrogate));
    }
    search_surrogate *m = s->surrogate;
    if (m->trials == history->trials && m->ended == history->ended) {
        return WEFT_OK;
    }
    int running = 0;
    for (int c = 0; c < history->configs; c++) {
        running += history->config[c].running > 0;
    }
    WEFT_TRY(add_known(m, s, (int)larger(GP_POINTS_MAX - running, GP_POINTS_MAX / 2)));
    transform(m);
    const int due = m->fitted + 1 + (int)(m->fitted * knob("RF", 0.04));
    gp_fit(m->gp, &m->data, m->theta, m->fitted == 0 ? FIRST_STEPS : history->ended >= due ? LATER_STEPS : 0);
    m->fitted = m->fitted == 0 || history->ended >= due ? history->ended : m->fitted;
    add_running(m, s);
    m->trials = history->trials;
    m->ended = history->ended;
    return WEFT_OK;
}
