/* tune/search/searcher.c: see tune/search/searcher.h. */
#include <assert.h>
#include <math.h>

#include "tune/search/leader.h"
#include "tune/search/scalar.h"
#include "tune/search/surrogate.h"
#include "tune/space/space_rules.h"

weft_status searcher_open(const search_space *space, const searcher_desc *desc, searcher **s)
{
    *s = NULL;
    WEFT_CHECK(space->count > 0, WEFT_ERR_USAGE, "a space without dimensions: there is nothing to search");
    if (desc->kind == SEARCHER_GRID) {
        WEFT_TRY(search_grid_check(space, desc));
    }
    WEFT_TRY(search_check_space(space, desc->seed));
    WEFT_TRY(WEFT_NEW_ZERO(s, 1, WEFT_MEM_SEARCH));
    (*s)->space = (*s)->history.space = space;
    (*s)->desc = *desc;
    (*s)->history.objectives = desc->objectives;
    return WEFT_OK;
}

void searcher_limit(searcher *s, int64_t trials)
{
    s->desc.trials = trials;
}

void searcher_close(searcher *s)
{
    if (s != NULL) {
        surrogate_close(s->surrogate);
        search_tpe_close(s->tpe);
        history_free(&s->history);
        weft_free(s);
    }
}

static weft_status choose(searcher *s, double *values, bool *found)
{
    search_draws draws = search_draws_of(s);
    *found = true;
    WEFT_TRY(scalar_weigh(s));
    if (leader_is_due(s)) {
        return leader_again(s, values);
    }
    switch (s->desc.kind) {
    case SEARCHER_AUTO:
        return s->history.configs < SEARCHER_GP_TRIALS ? search_gp(s, values) : search_tpe(s, values);
    case SEARCHER_GRID:
        *found = search_grid(s, values);
        return WEFT_OK;
    case SEARCHER_RANDOM:
        search_random(s->space, &draws, values);
        return WEFT_OK;
    case SEARCHER_SOBOL:
        search_sobol(s, values);
        return WEFT_OK;
    case SEARCHER_TPE:
        return search_tpe(s, values);
    case SEARCHER_GP:
        return search_gp(s, values);
    }
    return WEFT_OK;
}

weft_status searcher_suggest(searcher *s, double *values, int64_t *trial)
{
    bool found = false;
    *trial = -1;
    WEFT_TRY(choose(s, values, &found));
    space_settle(s->space, values);
    if (found && !space_allows(s->space, values)) {
        search_draws draws = search_draws_of(s);
        search_random(s->space, &draws, values);
    }
    return found ? searcher_begin(s, values, trial) : WEFT_OK;
}

weft_status searcher_again(searcher *s, double *values, int64_t *trial)
{
    *trial = -1;
    if (s->history.ended == 0) {
        return WEFT_OK;
    }
    WEFT_TRY(scalar_weigh(s));
    WEFT_TRY(leader_again(s, values));
    return searcher_begin_again(s, values, trial);
}

static weft_status begin(searcher *s, const double *values, bool again, int64_t *trial)
{
    int number;
    WEFT_TRY(history_begin(&s->history, values, again, &number));
    *trial = number;
    return WEFT_OK;
}

weft_status searcher_begin(searcher *s, const double *values, int64_t *trial)
{
    return begin(s, values, false, trial);
}

weft_status searcher_begin_again(searcher *s, const double *values, int64_t *trial)
{
    return begin(s, values, true, trial);
}

weft_status searcher_report(searcher *s, int64_t trial, double value)
{
    assert(s->desc.objectives <= 1);
    return searcher_report_all(s, trial, 1.0, &value);
}

weft_status searcher_report_part(searcher *s, int64_t trial, double share, double value)
{
    assert(s->desc.objectives <= 1 && share < 1.0);
    return searcher_report_all(s, trial, share, &value);
}

weft_status searcher_report_all(searcher *s, int64_t trial, double share, const double *values)
{
    assert(share > 0.0 && share <= 1.0);
    return history_tell(&s->history, trial, share < 1.0 ? TRIAL_PART : TRIAL_ENDED, share, values);
}

weft_status searcher_forget(searcher *s, int64_t trial)
{
    const double none[OBJECTIVES_MOST] = {(double)NAN};
    return history_tell(&s->history, trial, TRIAL_FORGOTTEN, 1.0, none);
}
