/* tune/search/surrogate.c: see tune/search/surrogate.h. */
#include "tune/search/surrogate.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/integer/integers.h"
#include "base/sample.h"

enum { FIT_STEPS = 40, FITS_APART = 25, KNOWN_MOST = GP_POINTS_MAX - 100 /* the others are for those that run */ };
static const double worst_reach = 3.0; /* in distances from the best tenth to the median */

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
    WEFT_TRY_GOTO(WEFT_NEW(&m->theta, dims + GP_VARIANCES, WEFT_MEM_SEARCH), status, done);
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

/* ---- points -----------------------------------------------------------------------------------------------------
 * */

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
    surrogate_point(s->space, history_values(&s->history, config), m->x + (int64_t)at * s->space->count);
}

/* The best configurations of the first `ended` trials that ended, in the order of their scores. */
static weft_status add_known(search_surrogate *m, const searcher *s, int ended)
{
    const search_history *history = &s->history;
    search_config *config = NULL;
    ranked *order = NULL;
    int count = 0;
    weft_status status = WEFT_OK;
    WEFT_TRY_GOTO(WEFT_NEW_ZERO(&config, history->configs, WEFT_MEM_WORKSPACE), status, done);
    WEFT_TRY_GOTO(WEFT_NEW(&order, history->configs, WEFT_MEM_WORKSPACE), status, done);
    for (int i = 0; i < ended; i++) {
        const search_trial *trial = &history->trial[history->end_order[i]];
        history_add(&config[trial->config], trial->value);
    }
    for (int c = 0; c < history->configs; c++) {
        if (config[c].ended > 0) {
            order[count++] = (ranked){history_score(&config[c]), c};
        }
    }
    qsort(order, (size_t)count, sizeof *order, by_score);
    m->data.points = 0;
    for (int i = 0; i < count && i < KNOWN_MOST; i++) {
        add_point(m, s, order[i].config, order[i].score, (double)config[order[i].config].ended);
    }
    m->known = m->data.points;
done:
    WEFT_FREE_ALL(config, order);
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

/* Configurations that run join with the scores that are expected of them; those that have a score count one more run.
 * */
static void add_running(search_surrogate *m, const searcher *s)
{
    const search_history *history = &s->history;
    double value;
    for (int i = 0; i < m->known; i++) {
        m->runs[i] += (double)history->config[m->config[i]].running;
    }
    for (int c = 0; c < history->configs && m->data.points < GP_POINTS_MAX; c++) {
        if (history->config[c].running > 0 && history->config[c].ended == 0) {
            add_point(m, s, c, 0.0, (double)history->config[c].running);
        }
    }
    const int all = m->data.points;
    m->data.points = m->known;
    for (int i = m->known; i < all; i++) {
        gp_predict(m->gp, m->x + (int64_t)i * s->space->count, &m->y[i], NULL);
    }
    m->data.points = all;
    (void)gp_condition(m->gp, &m->data, m->theta, &value, NULL);
}

/* The number of ended trials that theta is fitted to: a function of how many there are, that grows by steps. */
static int fitted_for(int ended)
{
    int fitted = 1;
    for (int next = 1; next <= ended; next += 1 + next / FITS_APART) {
        fitted = next;
    }
    return fitted;
}

/* Begins at the prior, so that theta depends on the trials alone, and not on when they were asked for. */
static weft_status fit(search_surrogate *m, const searcher *s)
{
    const int due = fitted_for(s->history.ended);
    if (m->fitted != due) {
        WEFT_TRY(add_known(m, s, due));
        make_plain(m);
        gp_fit(m->gp, &m->data, m->theta, FIT_STEPS);
        m->fitted = due;
    }
    return WEFT_OK;
}

weft_status surrogate_update(searcher *s)
{
    const search_history *history = &s->history;
    double value;
    if (s->surrogate == NULL) {
        WEFT_TRY(surrogate_open(s->space, &s->surrogate));
    }
    search_surrogate *m = s->surrogate;
    if (m->trials == history->trials && m->ended == history->ended && m->known > 0) {
        return WEFT_OK;
    }
    WEFT_TRY(fit(m, s));
    WEFT_TRY(add_known(m, s, history->ended));
    make_plain(m);
    WEFT_CHECK(gp_condition(m->gp, &m->data, m->theta, &value, NULL), WEFT_ERR_INTERNAL,
               "the covariance of %d configurations is not positive definite", m->known);
    add_running(m, s);
    m->trials = history->trials;
    m->ended = history->ended;
    return WEFT_OK;
}

void surrogate_score(const search_surrogate *m, int point, double *mean, double *deviation)
{
    double variance;
    gp_predict_point(m->gp, point, mean, &variance);
    *mean = *mean * m->scale + m->shift;
    *deviation = sqrt(variance) * m->scale;
}
