/* tune/search/surrogate.c: see tune/search/surrogate.h. */
#include "tune/search/surrogate.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/integer/integers.h"
#include "base/sample.h"
#include "tune/search/part_gain.h"

enum { FIT_STEPS = 40, FITS_APART = 25, KNOWN_MOST = GP_POINTS_MAX - 100 /* the others are for those that run */ };
static const double least_noise = 1e-12; /* of scores of variance 1, where any is needed */
static const double worst_reach = 3.0;   /* in distances from the best tenth to the median */

void surrogate_close(search_surrogate *m)
{
    if (m != NULL) {
        gp_close(m->gp);
        WEFT_FREE_ALL(m->theta, m->category, m->warp, m->x, m->y, m->runs, m->config, m->share, m);
    }
}

/* Shares are not warped: those below a sixteenth have coordinates below 0. */
static weft_status surrogate_open(const searcher *s, int dimensions, search_surrogate **surrogate)
{
    const search_space *space = s->space;
    search_surrogate *m = NULL;
    weft_status status = WEFT_OK;
    const size_t dims = (size_t)dimensions;
    WEFT_TRY(WEFT_NEW_ZERO(&m, 1, WEFT_MEM_SEARCH));
    WEFT_TRY_GOTO(WEFT_NEW_ZERO(&m->category, dims, WEFT_MEM_SEARCH), status, done);
    WEFT_TRY_GOTO(WEFT_NEW_ZERO(&m->warp, dims, WEFT_MEM_SEARCH), status, done);
    WEFT_TRY_GOTO(gp_open(dimensions, s->desc.warp ? m->warp : NULL, &m->gp), status, done);
    WEFT_TRY_GOTO(WEFT_NEW(&m->theta, gp_thetas(m->gp), WEFT_MEM_SEARCH), status, done);
    WEFT_TRY_GOTO(WEFT_NEW(&m->x, GP_POINTS_MAX * dims, WEFT_MEM_SEARCH), status, done);
    WEFT_TRY_GOTO(WEFT_NEW(&m->y, GP_POINTS_MAX, WEFT_MEM_SEARCH), status, done);
    WEFT_TRY_GOTO(WEFT_NEW(&m->runs, GP_POINTS_MAX, WEFT_MEM_SEARCH), status, done);
    WEFT_TRY_GOTO(WEFT_NEW(&m->config, GP_POINTS_MAX, WEFT_MEM_SEARCH), status, done);
    WEFT_TRY_GOTO(WEFT_NEW(&m->share, GP_POINTS_MAX, WEFT_MEM_SEARCH), status, done);
    gp_prior(m->gp, m->theta);
    for (int d = 0; d < space->count; d++) {
        m->warp[d] = space_is_ordered(&space->dimension[d]);
        m->category[d] = !m->warp[d];
    }
    m->data = (gp_data){0, dimensions, m->x, m->category, m->y, m->runs};
done:
    if (status != WEFT_OK) {
        surrogate_close(m);
        m = NULL;
    }
    *surrogate = m;
    return status;
}

/* Shares of ratio 16 are as far from each other as the two ends of a dimension. */
static double share_coordinate(double share)
{
    return 1.0 + log2(share) / 4.0;
}

void surrogate_point(const search_space *space, const double *values, double share, double *x)
{
    for (int d = 0; d < space->count; d++) {
        const space_dimension *dimension = &space->dimension[d];
        x[d] = space_is_ordered(dimension) ? space_coordinate(dimension, values[d]) : values[d];
    }
    x[space->count] = share_coordinate(share);
}

/* ---- points -----------------------------------------------------------------------------------------------------
 * */

typedef struct ranked {
    double score, share, runs;
    int config;
} ranked;

static int by_score(const void *a, const void *b)
{
    const ranked *p = a, *q = b;
    if (p->score != q->score) {
        return (p->score > q->score) - (p->score < q->score);
    }
    return p->config != q->config ? p->config - q->config : (p->share > q->share) - (p->share < q->share);
}

static int whole_ones_first(const void *a, const void *b)
{
    const ranked *p = a, *q = b;
    return (p->share < 1.0) != (q->share < 1.0) ? (p->share < 1.0) - (q->share < 1.0) : by_score(a, b);
}

static void add_point(search_surrogate *m, const searcher *s, const ranked *point)
{
    const int at = m->data.points++;
    double x[SURROGATE_DIMENSIONS];
    m->config[at] = point->config;
    m->share[at] = point->share;
    m->y[at] = point->score;
    m->runs[at] = point->runs;
    surrogate_point(s->space, history_values(&s->history, point->config), point->share, x);
    memcpy(m->x + (int64_t)at * m->data.dimensions, x, (size_t)m->data.dimensions * sizeof *x);
}

/* The mean score of each configuration of which trials ended, and values after parts, less what is gained from there.
 * config [configs] of zeros, gain [told]: scratch. Returns how many. */
static int rank_news(const search_history *history, int told, search_config *config, const double *gain, ranked *order)
{
    int count = 0;
    for (int i = 0; i < told; i++) {
        const search_news *news = &history->news[i];
        const int c = history->trial[news->trial].config;
        if (news->share == 1.0) {
            history_add(&config[c], news->value);
        } else {
            order[count++] = (ranked){news->value - gain[i], news->share, 1.0, c};
        }
    }
    for (int c = 0; c < history->configs; c++) {
        if (config[c].ended > 0) {
            order[count++] = (ranked){history_score(&config[c]), 1.0, (double)config[c].ended, c};
        }
    }
    return count;
}

/* The best configurations of the first `told` values, in the order of their scores; whole trainings before parts. */
static weft_status add_known(search_surrogate *m, const searcher *s, int told)
{
    const search_history *history = &s->history;
    search_config *config = NULL;
    ranked *order = NULL;
    double *gain = NULL;
    weft_status status = WEFT_OK;
    WEFT_TRY_GOTO(WEFT_NEW_ZERO(&config, history->configs, WEFT_MEM_WORKSPACE), status, done);
    WEFT_TRY_GOTO(WEFT_NEW(&order, told, WEFT_MEM_WORKSPACE), status, done);
    WEFT_TRY_GOTO(WEFT_NEW(&gain, told, WEFT_MEM_WORKSPACE), status, done);
    WEFT_TRY_GOTO(part_gains(history, told, gain), status, done);
    const int count = rank_news(history, told, config, gain, order);
    qsort(order, (size_t)count, sizeof *order, whole_ones_first);
    m->known = count < KNOWN_MOST ? count : KNOWN_MOST;
    qsort(order, (size_t)m->known, sizeof *order, by_score);
    m->data.points = 0;
    for (int i = 0; i < m->known; i++) {
        add_point(m, s, &order[i]);
    }
done:
    WEFT_FREE_ALL(config, order, gain);
    return status;
}

/* Scores, ascending, become numbers of mean 0 and variance 1; those far above the median count as less far. */
static void make_plain(search_surrogate *m)
{
    const int n = m->known;
    double *y = m->y, sum = 0.0, square = 0.0;
    int finite = n;
    while (finite > 0 && isinf(y[finite - 1])) {
        finite--;
    }
    const double median = finite > 0 ? sample_quantile(y, finite, 0.5) : 0.0;
    const double low = finite > 0 ? sample_quantile(y, finite, 0.1) : 0.0;
    const double worst = finite > 0 ? y[finite - 1] : 0.0;
    const double most = median > low ? fmin(median + worst_reach * (median - low), worst) : worst;
    for (int i = 0; i < n; i++) {
        y[i] = fmin(y[i], most);
        sum += y[i];
    }
    m->shift = sum / n;
    for (int i = 0; i < n; i++) {
        square += (y[i] - m->shift) * (y[i] - m->shift);
    }
    m->scale = square > 0.0 ? sqrt(square / n) : 1.0;
    for (int i = 0; i < n; i++) {
        y[i] = (y[i] - m->shift) / m->scale;
    }
}

/* ---- the model --------------------------------------------------------------------------------------------------
 * */

/* Scores without noise leave the covariance of near points singular: it gets as much noise as it takes. theta stays,
 * for it is a function of the trials that it was fitted to. */
static weft_status condition(search_surrogate *m)
{
    double *noise = &m->theta[m->data.dimensions + 1], value;
    const double fitted = *noise;
    bool definite = gp_condition(m->gp, &m->data, m->theta, &value, NULL);
    for (double raised = least_noise; !definite && raised <= 1.0; raised *= 10.0) {
        *noise = fmax(fitted, log(raised));
        definite = gp_condition(m->gp, &m->data, m->theta, &value, NULL);
    }
    *noise = fitted;
    WEFT_CHECK(definite, WEFT_ERR_INTERNAL, "the covariance of %d configurations is not positive definite",
               m->data.points);
    return WEFT_OK;
}

/* Configurations that run join with the scores that are expected of them; those that have a score count one more run,
 * and values after a part of a training stand for themselves. */
static weft_status add_running(search_surrogate *m, const searcher *s)
{
    const search_history *history = &s->history;
    for (int i = 0; i < m->known; i++) {
        m->runs[i] += m->share[i] == 1.0 ? (double)history->config[m->config[i]].running : 0.0;
    }
    for (int c = 0; c < history->configs && m->data.points < GP_POINTS_MAX; c++) {
        const search_config *config = &history->config[c];
        if (config->running > 0 && config->ended == 0 && config->parts == 0) {
            add_point(m, s, &(ranked){0.0, 1.0, (double)config->running, c});
        }
    }
    const int all = m->data.points;
    m->data.points = m->known;
    for (int i = m->known; i < all; i++) {
        gp_predict(m->gp, m->x + (int64_t)i * m->data.dimensions, &m->y[i], NULL);
    }
    m->data.points = all;
    return condition(m);
}

/* The number of values that theta is fitted to: a function of how many there are, that grows by steps. */
static int fitted_for(int told)
{
    int fitted = 1;
    for (int next = 1; next <= told; next += 1 + next / FITS_APART) {
        fitted = next;
    }
    return fitted;
}

/* Begins at the prior, so that theta depends on the trials alone, and not on when they were asked for. */
static weft_status fit(search_surrogate *m, const searcher *s)
{
    const int told = s->history.told;
    const int due = fitted_for(s->fit_most > 0 ? (int)smaller(told, s->fit_most) : told);
    if (m->fitted != due) {
        WEFT_TRY(add_known(m, s, due));
        make_plain(m);
        gp_fit(m->gp, &m->data, m->theta, FIT_STEPS);
        m->fitted = due;
    }
    return WEFT_OK;
}

static bool has_parts(const search_history *history)
{
    for (int i = 0; i < history->told; i++) {
        if (history->news[i].share < 1.0) {
            return true;
        }
    }
    return false;
}

weft_status surrogate_update(searcher *s)
{
    const search_history *history = &s->history;
    const int dimensions = s->space->count + (has_parts(history) ? 1 : 0);
    if (s->surrogate != NULL && s->surrogate->data.dimensions != dimensions) {
        surrogate_close(s->surrogate);
        s->surrogate = NULL;
    }
    if (s->surrogate == NULL) {
        WEFT_TRY(surrogate_open(s, dimensions, &s->surrogate));
    }
    search_surrogate *m = s->surrogate;
    if (m->trials == history->trials && m->told == history->told && m->known > 0) {
        return WEFT_OK;
    }
    WEFT_TRY(fit(m, s));
    WEFT_TRY(add_known(m, s, history->told));
    make_plain(m);
    WEFT_TRY(condition(m));
    WEFT_TRY(add_running(m, s));
    m->trials = history->trials;
    m->told = history->told;
    return WEFT_OK;
}

void surrogate_forget(search_surrogate *m)
{
    if (m != NULL) {
        m->fitted = m->known = 0;
    }
}

void surrogate_score(const search_surrogate *m, int point, double *mean, double *deviation)
{
    double variance;
    gp_predict_point(m->gp, point, mean, &variance);
    *mean = *mean * m->scale + m->shift;
    *deviation = sqrt(variance) * m->scale;
}
