/* tune/search/searcher_internal.h: what the kinds of searchers share. */
#pragma once

#include "base/philox.h"
#include "tune/search/history.h"
#include "tune/search/searcher.h"

typedef struct search_surrogate search_surrogate;
typedef struct tpe_state tpe_state;

struct searcher {
    const search_space *space;
    searcher_desc desc;
    search_history history;
    search_surrogate *surrogate; /* the model of scores (tune/search/surrogate.h); made when it is first needed */
    int fit_most;                /* values that the model is fitted to; 0: all that it knows */
    tpe_state *tpe;              /* the same of tune/search/search_tpe.c */
};

/* Random numbers of one suggestion: (seed, trial, how many were drawn for it). */
typedef struct search_draws {
    uint64_t seed;
    uint32_t trial, next;
} search_draws;

static inline search_draws search_draws_of(const searcher *s)
{
    return (search_draws){s->desc.seed, (uint32_t)s->history.trials, 0};
}

/* In (0, 1). */
static inline double search_draw(search_draws *draws)
{
    const philox_block block = philox4x32(philox_counter(draws->next++, draws->trial, WEFT_RNG_SEARCH, 0), draws->seed);
    return philox_uniform_double(block.word[0], block.word[1]);
}

/* One configuration at random that breaks no constraint. Where there is a prior, every other number is drawn near to
 * it. */
void search_random(const search_space *space, search_draws *draws, double *values);
/* WEFT_ERR_USAGE: constraints leave no configuration, as far as chance finds one. */
weft_status search_check_space(const search_space *space, uint64_t seed);
/* Point `index` of those that fill the space evenly (tune/search/search_even.c); draws: of dimensions past the 21st. */
void search_even_point(const searcher *s, uint32_t index, search_draws *draws, double *values);
/* The kinds. [out] values [dimensions] */
void search_sobol(const searcher *s, double *values);
bool search_grid(const searcher *s, double *values); /* false: exhausted */
weft_status search_grid_check(const search_space *space, const searcher_desc *desc);
weft_status search_tpe(searcher *s, double *values);
void search_tpe_close(tpe_state *tpe);
weft_status search_gp(searcher *s, double *values);
