/* tune/search/scalar.c: see tune/search/scalar.h. */
#include "tune/search/scalar.h"

#include <math.h>

#include "base/sample.h"
#include "tune/search/surrogate.h"

static const double sum_share = 0.05; /* rho, of the paper */
/* A stream of its own, so that the weights of a suggestion are none of the numbers that it draws. */
static const uint32_t weights_begin = 1U << 30;

/* Values that were told become other ones: what is derived from them is made again. */
static void set_values(search_history *history, const double *value)
{
    for (int c = 0; c < history->configs; c++) {
        search_config *config = &history->config[c];
        config->ended = config->diverged = 0;
        config->sum = 0.0;
    }
    for (int i = 0; i < history->told; i++) {
        search_news *news = &history->news[i];
        search_trial *trial = &history->trial[news->trial];
        news->value = value[i];
        trial->value = trial->state == TRIAL_FORGOTTEN ? trial->value : value[i];
        if (news->share == 1.0) {
            history_add(&history->config[trial->config], value[i]);
        }
    }
}

static double told(const search_history *history, int i, int k)
{
    return history->told_values[(int64_t)i * history->objectives + k];
}

/* The least value and the distance from there to the median, 1 where there is none. sorted [told]: scratch. */
static void measure(const search_history *history, int k, double *sorted, double *least, double *distance)
{
    int count = 0;
    for (int i = 0; i < history->told; i++) {
        sorted[count] = told(history, i, k);
        count += isfinite(sorted[count]);
    }
    sample_sort(sorted, count);
    *least = count > 0 ? sorted[0] : 0.0;
    *distance = count > 0 ? sample_quantile(sorted, count, 0.5) - *least : 1.0;
    *distance = *distance > 0.0 ? *distance : 1.0;
}

/* Evenly from the weights of sum 1: exponential numbers by their sum. */
static void draw_weights(const searcher *s, double *weight)
{
    search_draws draws = search_draws_of(s);
    double sum = 0.0;
    draws.next = weights_begin;
    for (int k = 0; k < s->history.objectives; k++) {
        weight[k] = -log(search_draw(&draws));
        sum += weight[k];
    }
    for (int k = 0; k < s->history.objectives; k++) {
        weight[k] /= sum;
    }
}

/* weight NULL: the first objective as it is. */
static weft_status apply(searcher *s, const double *weight)
{
    search_history *history = &s->history;
    const int n = history->objectives;
    double *value = NULL, least[OBJECTIVES_MOST], distance[OBJECTIVES_MOST];
    if (n <= 1 || history->told == 0) {
        return WEFT_OK;
    }
    WEFT_TRY(WEFT_NEW(&value, 2 * history->told, WEFT_MEM_WORKSPACE));
    for (int k = 0; k < n; k++) {
        measure(history, k, value + history->told, &least[k], &distance[k]);
    }
    for (int i = 0; i < history->told; i++) {
        double most = 0.0, sum = 0.0;
        for (int k = 0; k < n && weight != NULL; k++) {
            const double z = weight[k] * (told(history, i, k) - least[k]) / distance[k];
            most = fmax(most, z);
            sum += z;
        }
        value[i] = weight == NULL ? told(history, i, 0) : most + sum_share * sum;
    }
    set_values(history, value);
    weft_free(value);
    surrogate_forget(s->surrogate);
    return WEFT_OK;
}

weft_status scalar_weigh(searcher *s)
{
    double weight[OBJECTIVES_MOST];
    if (s->history.objectives > 1) {
        draw_weights(s, weight);
    }
    return apply(s, weight);
}

weft_status scalar_first(searcher *s)
{
    return apply(s, NULL);
}
