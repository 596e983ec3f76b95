/*
 * tune/search/search_gp.c: the configuration of the largest expected improvement, by the model of
 * tune/search/surrogate.h.
 *
 * Improvement is of the function that neighbours share, over its least posterior mean at what has been run: neither
 * over the least score, which was lucky, nor by what is a configuration's own, which the best one's next neighbour
 * would promise over and over. It is
 * sought among configurations at random and neighbours of the best ones, and then by steps from the best of these.
 */
#include <math.h>
#include <string.h>

#include "tune/search/surrogate.h"
#include "tune/space/space_rules.h"

enum { START_TRIALS = 10, AT_RANDOM = 400, MUTANTS = 40, LEADERS = 5, CLIMBS = 3, CLIMB_STEPS = 20 };

typedef struct candidate {
    double gain;
    double values[SPACE_DIMENSIONS_MAX];
} candidate;

typedef struct hunt {
    const searcher *s;
    const search_surrogate *m;
    search_draws draws;
    double best;           /* the least posterior mean of what has been run */
    candidate top[CLIMBS]; /* by gain, the largest first */
} hunt;

static double gain_of(const hunt *h, const double *values)
{
    double x[SURROGATE_DIMENSIONS], mean, variance;
    surrogate_point(h->s->space, values, 1.0, x);
    gp_predict(h->m->gp, x, &mean, &variance);
    return gp_improvement(h->best, mean, sqrt(variance));
}

static bool is_known(const hunt *h, const double *values)
{
    const search_history *history = &h->s->history;
    for (int c = 0; c < history->configs; c++) {
        if (memcmp(history_values(history, c), values, (size_t)h->s->space->count * sizeof *values) == 0) {
            return true;
        }
    }
    return false;
}

static void consider(hunt *h, const double *near)
{
    const size_t bytes = (size_t)h->s->space->count * sizeof *near;
    double values[SPACE_DIMENSIONS_MAX];
    memcpy(values, near, bytes);
    space_settle(h->s->space, values);
    if (!space_allows(h->s->space, values)) {
        return;
    }
    const double gain = gain_of(h, values);
    int place = CLIMBS;
    while (place > 0 && gain > h->top[place - 1].gain) {
        place--;
    }
    if (place == CLIMBS || (place > 0 && memcmp(h->top[place - 1].values, values, bytes) == 0) || is_known(h, values)) {
        return;
    }
    memmove(&h->top[place + 1], &h->top[place], (size_t)(CLIMBS - place - 1) * sizeof *h->top);
    h->top[place].gain = gain;
    memcpy(h->top[place].values, values, bytes);
}

/* The next values to both sides, where there are cells; else two distances to both sides. */
static void consider_along(hunt *h, double *near, int d, double value)
{
    const space_dimension *dimension = &h->s->space->dimension[d];
    if (space_is_whole(dimension)) {
        for (int side = -1; side <= 1; side += 2) {
            near[d] = value + side;
            if (near[d] >= dimension->low && near[d] <= dimension->high) {
                consider(h, near);
            }
        }
        return;
    }
    for (int k = 0; k < 4; k++) {
        const double reach = (k & 1 ? 0.02 : 0.1) * (k & 2 ? 1.0 : -1.0);
        near[d] = space_value(dimension, space_coordinate(dimension, value) + reach * search_draw(&h->draws));
        consider(h, near);
    }
}

/* Neighbours in one dimension. */
static void consider_neighbours(hunt *h, const double *values)
{
    double near[SPACE_DIMENSIONS_MAX];
    const search_space *space = h->s->space;
    memcpy(near, values, (size_t)space->count * sizeof *near);
    for (int d = 0; d < space->count; d++) {
        if (space_is_ordered(&space->dimension[d])) {
            consider_along(h, near, d, values[d]);
        }
        for (int k = 0; k < space->dimension[d].choices && !space_is_ordered(&space->dimension[d]); k++) {
            near[d] = (double)k;
            if (near[d] != values[d]) {
                consider(h, near);
            }
        }
        near[d] = values[d];
    }
}

/* Some dimensions of a leader anew. */
static void consider_mutant(hunt *h, const double *values)
{
    double mutant[SPACE_DIMENSIONS_MAX], fresh[SPACE_DIMENSIONS_MAX];
    const search_space *space = h->s->space;
    search_random(space, &h->draws, fresh);
    const double share = 2.0 / space->count;
    for (int d = 0; d < space->count; d++) {
        mutant[d] = search_draw(&h->draws) < share ? fresh[d] : values[d];
    }
    consider(h, mutant);
}

static bool is_among(const int *list, int count, int number)
{
    for (int i = 0; i < count; i++) {
        if (list[i] == number) {
            return true;
        }
    }
    return false;
}

/* The known configurations of the least posterior means at the end of a training, the least first. Returns how many. */
static int find_leaders(hunt *h, int leader[LEADERS])
{
    double least[LEADERS] = {INFINITY}, x[SURROGATE_DIMENSIONS], mean;
    int count = 0;
    for (int i = 0; i < h->m->known; i++) {
        if (is_among(leader, count, h->m->config[i])) {
            continue;
        }
        surrogate_point(h->s->space, history_values(&h->s->history, h->m->config[i]), 1.0, x);
        gp_predict(h->m->gp, x, &mean, NULL);
        int place = count;
        while (place > 0 && mean < least[place - 1]) {
            place--;
        }
        if (place < LEADERS) {
            const size_t moved = (size_t)((count < LEADERS ? count : LEADERS - 1) - place);
            memmove(&leader[place + 1], &leader[place], moved * sizeof *leader);
            memmove(&least[place + 1], &least[place], moved * sizeof *least);
            leader[place] = h->m->config[i];
            least[place] = mean;
            count += count < LEADERS;
        }
    }
    h->best = least[0];
    return count;
}

static void look_around(hunt *h)
{
    double values[SPACE_DIMENSIONS_MAX];
    int leader[LEADERS];
    const int leaders = find_leaders(h, leader);
    for (int i = 0; i < AT_RANDOM; i++) {
        search_random(h->s->space, &h->draws, values);
        consider(h, values);
    }
    for (int l = 0; l < leaders; l++) {
        consider_neighbours(h, history_values(&h->s->history, leader[l]));
        for (int k = 0; k < MUTANTS; k++) {
            consider_mutant(h, history_values(&h->s->history, leader[l]));
        }
    }
}

/* Steps to the best neighbour, as long as one is better. */
static void climb(hunt *h)
{
    double from[SPACE_DIMENSIONS_MAX];
    for (int start_at = CLIMBS - 1; start_at >= 0; start_at--) {
        memcpy(from, h->top[start_at].values, sizeof from);
        for (int step = 0; step < CLIMB_STEPS; step++) {
            const double before = h->top[0].gain;
            consider_neighbours(h, from);
            if (h->top[0].gain <= before) {
                break;
            }
            memcpy(from, h->top[0].values, sizeof from);
        }
    }
}

weft_status search_gp(searcher *s, double *values)
{
    hunt h = {.s = s, .draws = search_draws_of(s)};
    if (s->history.trials < START_TRIALS || s->history.told < 2) {
        search_random(s->space, &h.draws, values);
        return WEFT_OK;
    }
    WEFT_TRY(surrogate_update(s));
    h.m = s->surrogate;
    for (int i = 0; i < CLIMBS; i++) {
        h.top[i].gain = -1.0;
    }
    look_around(&h);
    climb(&h);
    if (h.top[0].gain < 0.0) {
        search_random(s->space, &h.draws, values);
        return WEFT_OK;
    }
    memcpy(values, h.top[0].values, (size_t)s->space->count * sizeof *values);
    return WEFT_OK;
}
