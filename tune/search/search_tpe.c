/*
 * tune/search/search_tpe.c: tree-structured Parzen estimators: of configurations that the density of good trials
 * proposes, the one that the density of the others expects least.
 *
 * The rules are those of Optuna 5: the first 10 trials are random; of n trials that have a value, the best
 * min(ceil(n / 10), 25) are good. Where too few have ended, others fill up, those that came farthest first.
 * Trials without a value are not good. Of 24 draws from the good ones the largest ratio of densities wins.
 *
 * J. Bergstra, R. Bardenet, Y. Bengio, B. Kegl: Algorithms for hyper-parameter optimization. NeurIPS 2011.
 * S. Watanabe: Tree-structured Parzen estimator. arXiv:2304.11127.
 */
#include <math.h>
#include <string.h>

#include "base/integer/integers.h"
#include "base/integer/search.h"
#include "tune/search/parzen.h"
#include "tune/search/search_tpe.h"
#include "tune/space/space_rules.h"

enum { START_TRIALS = 10, CANDIDATES = 24, MOST_GOOD = 25 };

struct tpe_state {
    parzen good, others;
    int known, room;
    int *order;                    /* [dimensions, room]: trials by their coordinate */
    int *good_place, *other_place; /* [room]: the kernel of a trial, or -1 */
};

void search_tpe_close(tpe_state *t)
{
    if (t != NULL) {
        parzen_free(&t->good);
        parzen_free(&t->others);
        WEFT_FREE_ALL(t->order, t->good_place, t->other_place, t);
    }
}

/* ---- the order of trials ----------------------------------------------------------------------------------------
 * */

static void insert(tpe_state *t, const search_history *history, int trial)
{
    for (int d = 0; d < history->space->count; d++) {
        int *order = t->order + (int64_t)d * t->room;
        const double x = history_coordinate(history, trial, d);
        int64_t place = 0;
        SEARCH_FIRST(place, t->known, history_coordinate(history, order[at], d) <= x);
        memmove(order + place + 1, order + place, (size_t)(t->known - place) * sizeof *order);
        order[place] = trial;
    }
    t->known++;
}

static weft_status follow(searcher *s)
{
    const search_history *history = &s->history;
    tpe_state *t = s->tpe;
    if (t == NULL) {
        WEFT_TRY(WEFT_NEW_ZERO(&s->tpe, 1, WEFT_MEM_SEARCH));
        t = s->tpe;
    }
    if (history->trials > t->room) {
        const size_t room = 2 * (size_t)history->trials, dims = (size_t)s->space->count;
        t->room = t->known = 0; /* until all arrays have it */
        WEFT_TRY(weft_realloc((void **)&t->order, dims * room, sizeof *t->order, WEFT_MEM_SEARCH));
        WEFT_TRY(weft_realloc((void **)&t->good_place, room, sizeof *t->good_place, WEFT_MEM_SEARCH));
        WEFT_TRY(weft_realloc((void **)&t->other_place, room, sizeof *t->other_place, WEFT_MEM_SEARCH));
        t->room = (int)room;
    }
    while (t->known < history->trials) {
        insert(t, history, t->known);
    }
    WEFT_TRY(parzen_reserve(&t->good, s->space, MOST_GOOD));
    return parzen_reserve(&t->others, s->space, history->trials);
}

/* ---- good trials and others -------------------------------------------------------------------------------------
 * */

/* Ended ones by value, then the others, the farthest first, then by value; of equal ones the earlier. */
static bool is_better(const search_trial *a, const search_trial *b)
{
    if (a->state != b->state) {
        return a->state == TRIAL_ENDED;
    }
    if (a->state == TRIAL_PART && a->share != b->share) {
        return a->share > b->share;
    }
    return a->value < b->value;
}

/* Puts the best `most` trials into best[], the best first. Returns how many. */
static int find_good(const search_history *history, int most, int *best)
{
    int count = 0;
    for (int trial = 0; trial < history->trials; trial++) {
        const search_trial *t = &history->trial[trial];
        if (t->state != TRIAL_ENDED && t->state != TRIAL_PART) {
            continue;
        }
        int place = count;
        while (place > 0 && is_better(t, &history->trial[best[place - 1]])) {
            place--;
        }
        if (place < most) {
            const int moved = (int)smaller(count, most - 1) - place;
            memmove(best + place + 1, best + place, (size_t)moved * sizeof *best);
            best[place] = trial;
            count += count < most;
        }
    }
    return count;
}

static void split(searcher *s)
{
    const search_history *history = &s->history;
    tpe_state *t = s->tpe;
    int best[MOST_GOOD];
    const int finished = history->ended + history->parts;
    const int good = find_good(history, (int)smaller((finished + 9) / 10, MOST_GOOD), best);
    for (int trial = 0; trial < history->trials; trial++) {
        t->good_place[trial] = -1;
        t->other_place[trial] = -1;
    }
    for (int k = 0; k < good; k++) {
        t->good_place[best[k]] = 0;
    }
    t->good.count = t->others.count = 0;
    for (int trial = 0; trial < history->trials; trial++) {
        if (t->good_place[trial] == 0) {
            t->good_place[trial] = t->good.count;
            t->good.trial[t->good.count++] = trial;
        } else if (history->trial[trial].state != TRIAL_FORGOTTEN) {
            t->other_place[trial] = t->others.count;
            t->others.trial[t->others.count++] = trial;
        }
    }
    parzen_build(&t->good, history, t->order, t->room, t->known, t->good_place);
    parzen_build(&t->others, history, t->order, t->room, t->known, t->other_place);
}

/* ---- suggestion -------------------------------------------------------------------------------------------------
 * */

/* Of all dimensions at once those candidates count that break no constraint, if there are such. */
static void choose(const search_space *space, tpe_state *t, search_draws *draws, int first, int end, double *values)
{
    double drawn[SPACE_DIMENSIONS_MAX], most = -INFINITY;
    const bool whole = end - first == space->count;
    for (int c = 0; c < CANDIDATES; c++) {
        parzen_draw(&t->good, draws, first, end, drawn);
        if (whole) {
            space_settle(space, drawn);
        }
        const bool allowed = !whole || space_allows(space, drawn);
        const double ratio = allowed ? parzen_log_density(&t->good, drawn, first, end) -
                                           parzen_log_density(&t->others, drawn, first, end)
                                     : -(double)INFINITY;
        if (ratio > most || c == 0) {
            most = ratio;
            memcpy(values + first, drawn + first, (size_t)(end - first) * sizeof *values);
        }
    }
}

weft_status search_tpe_densities(searcher *s, parzen **good, parzen **others)
{
    WEFT_TRY(follow(s));
    split(s);
    *good = &s->tpe->good;
    *others = &s->tpe->others;
    return WEFT_OK;
}

weft_status search_tpe(searcher *s, double *values)
{
    search_draws draws = search_draws_of(s);
    if (s->history.ended + s->history.parts < START_TRIALS) {
        search_random(s->space, &draws, values);
        return WEFT_OK;
    }
    WEFT_TRY(follow(s));
    split(s);
    for (int d = 0; d < s->space->count; d++) {
        choose(s->space, s->tpe, &draws, d, s->desc.univariate ? d + 1 : s->space->count, values);
        d = s->desc.univariate ? d : s->space->count;
    }
    return WEFT_OK;
}
