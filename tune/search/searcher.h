/*
 * tune/search/searcher.h: which configuration to try next.
 *
 *      WEFT_TRY(searcher_open(&space, &(searcher_desc){.kind = SEARCHER_AUTO, .seed = 1, .trials = 100}, &searcher));
 *      for (;;) {
 *          WEFT_TRY(searcher_suggest(searcher, values, &trial));       trial -1: nothing is left to try
 *          ...run it; on the way, if it pauses or is stopped: searcher_report_part(searcher, trial, share, loss)...
 *          WEFT_TRY(searcher_report(searcher, trial, loss));           in any order; less is better
 *      }
 *      WEFT_TRY(searcher_best(searcher, &best));
 *      searcher_close(searcher);
 *
 * Conditions and constraints of the space hold in every suggestion (tune/space/space_rules.h).
 *
 * A suggestion is a function of the space, the description, and the trials so far with their values: the same on
 * every machine of one build, whoever asks, and after a replay by searcher_begin and searcher_report.
 *
 * Scores are noisy, and the luckiest of many is not the best. So the last `repeats` of the budget run leading
 * configurations again (with other seeds: the caller's business), and the best one is that of the least posterior
 * mean (tune/gp/gp.h), not that of the least score.
 */
#pragma once

#include "base/option_words.h"
#include "tune/space/space.h"

/* auto: gp for the first SEARCHER_GP_TRIALS configurations, then tpe. */
enum { SEARCHER_GP_TRIALS = 250 };
#define SEARCHER_KINDS(X)                                                                                              \
    X(SEARCHER_AUTO, "auto")                                                                                           \
    X(SEARCHER_GRID, "grid")                                                                                           \
    X(SEARCHER_RANDOM, "random")                                                                                       \
    X(SEARCHER_SOBOL, "sobol")                                                                                         \
    X(SEARCHER_TPE, "tpe")                                                                                             \
    X(SEARCHER_GP, "gp")
typedef enum searcher_kind { SEARCHER_KINDS(CHOICE_VALUE) } searcher_kind;

typedef struct searcher_desc {
    searcher_kind kind;
    uint64_t seed;
    int64_t trials; /* the budget; 0: not known, so that nothing is repeated */
    double repeats; /* share of the budget, 0 to 0.5, that runs leading configurations again */
    /* They run again when the caller says so (searcher_again), not in the last trials. As soon as one did, the best is
     * that of the least mean among all that ended twice, for a model of a few full trainings is a poor judge. */
    bool on_request;
    bool univariate; /* tpe: each dimension by itself */
    bool warp;       /* the Gaussian process warps ordered dimensions (tune/gp/gp_warp.h) */
    int grid;        /* grid: values of a dimension that is not of cells, at least 2 */
    int objectives;  /* that are made small, up to OBJECTIVES_MOST; 0: one. Several: see tune/search/scalar.h */
} searcher_desc;

typedef struct searcher searcher;

/* The space must outlive the searcher. WEFT_ERR_USAGE: what the kind cannot search, with the cure. */
weft_status searcher_open(const search_space *space, const searcher_desc *desc, searcher **s);
void searcher_close(searcher *s);
/* How many configurations a grid has, or `most` where it has more. */
int64_t searcher_grid_points(const search_space *space, const searcher_desc *desc, int64_t most);
/* The budget is another one from now on. */
void searcher_limit(searcher *s, int64_t trials);
/* [out] values [dimensions]; trial: its number from 0, or -1 if the grid is exhausted. The trial runs from now on. */
weft_status searcher_suggest(searcher *s, double *values, int64_t *trial);
/* Like searcher_suggest: the leading configuration, if one trial of it ended, or that whose further run says most.
 * -1: none was trained in full. */
weft_status searcher_again(searcher *s, double *values, int64_t *trial);
/* A trial with these values [dimensions] runs: of a replay, or of the user's own. */
weft_status searcher_begin(searcher *s, const double *values, int64_t *trial);
/* As searcher_begin, for a trial that searcher_again chose before a replay. */
weft_status searcher_begin_again(searcher *s, const double *values, int64_t *trial);
/* The trial has ended. A value that is not finite is worse than every other: it diverged. */
weft_status searcher_report(searcher *s, int64_t trial, double value);
/* The trial has this value after a share, in (0, 1), of a full training: it pauses, goes on, or was stopped there. */
weft_status searcher_report_part(searcher *s, int64_t trial, double share, double value);
/* The trial has these values [objectives], one of each objective, after a share of a full training; share 1: the trial
 * has ended. A first value that is not finite says that the trial diverged. */
weft_status searcher_report_all(searcher *s, int64_t trial, double share, const double *values);
/* The trial ended for reasons of its own, and says nothing about its configuration. */
weft_status searcher_forget(searcher *s, int64_t trial);

typedef struct searcher_leader {
    int64_t trial;          /* the first of its configuration; -1: none has ended */
    int64_t runs;           /* of it, that ended */
    double score;           /* the mean of these runs */
    double mean, deviation; /* of its expected score, by the model; NaN where nothing is repeated */
} searcher_leader;
/* Of several objectives by the first one. */
weft_status searcher_best(searcher *s, searcher_leader *best);
