/* tune/search/history.c: see tune/search/history.h. */
#include "tune/search/history.h"

#include <inttypes.h>
#include <limits.h>
#include <math.h>
#include <string.h>

#include "base/grow.h"

static int find_config(const search_history *history, const double *values)
{
    const size_t bytes = (size_t)history->space->count * sizeof *values;
    for (int c = history->configs - 1; c >= 0; c--) {
        if (memcmp(history_values(history, c), values, bytes) == 0) {
            return c;
        }
    }
    return -1;
}

/* Rows of `dimensions` numbers grow with the configurations. */
static weft_status grow_rows(search_history *history, double **rows, int *room)
{
    const int dims = history->space->count;
    for (int at = history->configs * dims; at < (history->configs + 1) * dims; at++) {
        WEFT_TRY(grow_array((void **)rows, sizeof **rows, at, room, WEFT_MEM_SEARCH));
    }
    return WEFT_OK;
}

static weft_status add_config(search_history *history, const double *values, int *config)
{
    const int dims = history->space->count;
    WEFT_TRY(grow_array((void **)&history->config, sizeof *history->config, history->configs, &history->config_room,
                        WEFT_MEM_SEARCH));
    WEFT_TRY(grow_rows(history, &history->values, &history->values_room));
    WEFT_TRY(grow_rows(history, &history->coordinates, &history->coordinates_room));
    for (int d = 0; d < dims; d++) {
        const int64_t at = (int64_t)history->configs * dims + d;
        history->values[at] = values[d];
        history->coordinates[at] = space_coordinate(&history->space->dimension[d], values[d]);
    }
    *config = history->configs++;
    history->config[*config] = (search_config){.first = history->trials};
    return WEFT_OK;
}

static weft_status check_values(const search_space *space, const double *values)
{
    for (int d = 0; d < space->count; d++) {
        const space_dimension *dimension = &space->dimension[d];
        WEFT_CHECK(values[d] >= dimension->low && values[d] <= dimension->high &&
                       (!space_is_whole(dimension) || floor(values[d]) == values[d]),
                   WEFT_ERR_USAGE, "%s: %.9g is no value of the space", dimension->name, values[d]);
    }
    return WEFT_OK;
}

/* A trial is in one state. */
static void count_state(search_history *history, const search_trial *trial, int change)
{
    history->config[trial->config].running += trial->state == TRIAL_RUNNING ? change : 0;
    history->ended += trial->state == TRIAL_ENDED ? change : 0;
    history->parts += trial->state == TRIAL_PART ? change : 0;
}

weft_status history_begin(search_history *history, const double *values, bool again, int *trial)
{
    WEFT_TRY(check_values(history->space, values));
    WEFT_CHECK(history->trials < INT_MAX / SPACE_DIMENSIONS_MAX / 2, WEFT_ERR_RESOURCE,
               "%d trials: a search has no more", history->trials);
    WEFT_TRY(grow_array((void **)&history->trial, sizeof *history->trial, history->trials, &history->trial_room,
                        WEFT_MEM_SEARCH));
    int config = find_config(history, values);
    if (config < 0) {
        WEFT_TRY(add_config(history, values, &config));
    }
    *trial = history->trials++;
    history->trial[*trial] = (search_trial){config, TRIAL_RUNNING, (double)NAN, 0.0, again};
    count_state(history, &history->trial[*trial], 1);
    return WEFT_OK;
}

/* Of a trial that diverged every objective is infinite. */
static weft_status keep_told(search_history *history, const double *value)
{
    const int n = history->objectives;
    for (int k = 0; k < n && n > 1; k++) {
        const int at = history->told * n + k;
        WEFT_TRY(grow_array((void **)&history->told_values, sizeof *history->told_values, at, &history->told_room,
                            WEFT_MEM_SEARCH));
        history->told_values[at] = isfinite(value[0]) && isfinite(value[k]) ? value[k] : (double)INFINITY;
    }
    return WEFT_OK;
}

weft_status history_tell(search_history *history, int64_t trial, trial_state state, double share, const double *value)
{
    WEFT_CHECK(trial >= 0 && trial < history->trials &&
                   (history->trial[trial].state == TRIAL_RUNNING || history->trial[trial].state == TRIAL_PART),
               WEFT_ERR_USAGE, "trial %" PRId64 " does not run: it has ended, or never began", trial);
    WEFT_TRY(grow_array((void **)&history->news, sizeof *history->news, history->told, &history->news_room,
                        WEFT_MEM_SEARCH));
    search_trial *t = &history->trial[trial];
    search_config *config = &history->config[t->config];
    count_state(history, t, -1);
    t->state = state;
    t->share = share;
    t->value = isfinite(value[0]) ? value[0] : (double)INFINITY;
    count_state(history, t, 1);
    if (state == TRIAL_ENDED) {
        history_add(config, t->value);
        config->again += t->again;
    }
    if (state == TRIAL_ENDED || (state == TRIAL_PART && isfinite(value[0]))) {
        WEFT_TRY(keep_told(history, value));
        history->news[history->told++] = (search_news){(int)trial, share, t->value};
        config->parts += state == TRIAL_PART;
    }
    return WEFT_OK;
}

void history_free(search_history *history)
{
    WEFT_FREE_ALL(history->trial, history->config, history->news, history->values, history->coordinates,
                  history->told_values);
    *history = (search_history){0};
}

void history_add(search_config *config, double value)
{
    config->ended++;
    config->diverged += isinf(value);
    config->sum += isinf(value) ? 0.0 : value;
}

double history_score(const search_config *config)
{
    if (config->ended == 0) {
        return (double)NAN;
    }
    const int finite = config->ended - config->diverged;
    return finite > config->diverged ? config->sum / finite : (double)INFINITY;
}
