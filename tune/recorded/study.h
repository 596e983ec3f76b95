/* tune/recorded/study.h: a search of a recorded table, and how far from the best cell it ends. */
#pragma once

#include "tune/recorded/recorded.h"
#include "tune/search/searcher.h"

/* What a trial scores: one of the seeds that its cell was run under, at random, or the cell's mean. */
#define RECORDED_SCORES(X) X(RECORDED_RUNS, "runs") X(RECORDED_MEANS, "means")
typedef enum recorded_scores { RECORDED_SCORES(CHOICE_VALUE) } recorded_scores;

typedef struct recorded_study {
    double regret;   /* of the configuration that the search names the best, by its mean over seeds */
    int64_t trials;  /* that were run: fewer than asked where a grid was exhausted */
    int64_t repeats; /* of them, runs of configurations that had been run before */
    double seconds;  /* that the searcher took */
} recorded_study;

weft_status recorded_search(const recorded_table *table, const searcher_desc *desc, recorded_scores scores,
                            recorded_study *study);
