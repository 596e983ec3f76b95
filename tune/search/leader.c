/* tune/search/leader.c: see tune/search/leader.h. */
#include "tune/search/leader.h"

#include <math.h>
#include <string.h>

#include "tune/search/scalar.h"
#include "tune/search/surrogate.h"

bool leader_is_due(const searcher *s)
{
    const int64_t again = (int64_t)(s->desc.repeats * (double)s->desc.trials);
    return again > 0 && !s->desc.on_request && s->history.ended > 1 && s->history.trials >= s->desc.trials - again;
}

/* Means and variances of the known configurations, and the places of the two least means. */
static weft_status beliefs(searcher *s, double *mean, double *variance, int least[2])
{
    WEFT_TRY(surrogate_update(s));
    const search_surrogate *m = s->surrogate;
    least[0] = least[1] = -1;
    for (int i = 0; i < m->known; i++) {
        gp_predict_point(m->gp, i, &mean[i], &variance[i]);
        if (m->share[i] < 1.0) {
            continue;
        }
        if (least[0] < 0 || mean[i] < mean[least[0]]) {
            least[1] = least[0];
            least[0] = i;
        } else if (least[1] < 0 || mean[i] < mean[least[1]]) {
            least[1] = i;
        }
    }
    return WEFT_OK;
}

/* By scores alone: the least mean of configurations of which at least `runs` trials ended, or -1. */
static int least_score(const search_history *history, int runs)
{
    int least = -1;
    for (int c = 0; c < history->configs; c++) {
        const search_config *config = &history->config[c];
        if (config->ended >= runs && (least < 0 || history_score(config) < history_score(&history->config[least]))) {
            least = c;
        }
    }
    return least;
}

/* Without a repeat that was planned single scores decide, also where a configuration was proposed twice by chance:
 * it was not chosen for its scores, and would win against better ones that had one run. */
static int least_of_repeated(const search_history *history)
{
    bool repeated = false;
    for (int c = 0; c < history->configs; c++) {
        repeated = repeated || history->config[c].again > 0;
    }
    const int least = repeated ? least_score(history, 2) : -1;
    return least >= 0 && isfinite(history_score(&history->config[least])) ? least : least_score(history, 1);
}

/* A configuration that leads by one run has its second one before any other. */
static int leader_of_one_run(const search_history *history)
{
    const int leader = least_score(history, 1);
    const search_config *config = leader >= 0 ? &history->config[leader] : NULL;
    const bool due = config != NULL && config->ended == 1 && config->running == 0 && isfinite(history_score(config));
    return due ? leader : -1;
}

weft_status leader_again(searcher *s, double *values)
{
    double mean[GP_POINTS_MAX], variance[GP_POINTS_MAX], most = -1.0;
    int least[2], chosen = 0;
    const int single = s->desc.on_request ? leader_of_one_run(&s->history) : -1;
    if (single >= 0) {
        memcpy(values, history_values(&s->history, single), (size_t)s->space->count * sizeof *values);
        return WEFT_OK;
    }
    WEFT_TRY(beliefs(s, mean, variance, least));
    const search_surrogate *m = s->surrogate;
    for (int i = 0; i < m->known; i++) {
        if (m->share[i] < 1.0) {
            continue;
        }
        const int other = i == least[0] ? least[1] : least[0];
        const double moves = variance[i] / sqrt(variance[i] + gp_noise(m->gp));
        const double gap = other >= 0 ? fabs(mean[i] - mean[other]) : 0.0;
        const double gain = gp_improvement(0.0, gap, moves);
        if (gain > most) {
            most = gain;
            chosen = i;
        }
    }
    memcpy(values, history_values(&s->history, m->config[chosen]), (size_t)s->space->count * sizeof *values);
    return WEFT_OK;
}

weft_status searcher_best(searcher *s, searcher_leader *best)
{
    double mean[GP_POINTS_MAX], variance[GP_POINTS_MAX];
    int least[2];
    WEFT_TRY(scalar_first(s));
    int config = s->desc.on_request ? least_of_repeated(&s->history) : least_score(&s->history, 1);
    *best = (searcher_leader){.trial = -1};
    if (config < 0) {
        return WEFT_OK;
    }
    double expected = (double)NAN, deviation = (double)NAN;
    if (s->desc.repeats > 0.0 && !s->desc.on_request && s->history.ended > 1) {
        WEFT_TRY(beliefs(s, mean, variance, least));
        config = s->surrogate->config[least[0]];
        surrogate_score(s->surrogate, least[0], &expected, &deviation);
    }
    const search_config *c = &s->history.config[config];
    *best = (searcher_leader){c->first, c->ended, history_score(c), expected, deviation};
    return WEFT_OK;
}
