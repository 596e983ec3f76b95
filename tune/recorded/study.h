/* tune/recorded/study.h: a search of a recorded table, and how far from the best cell it ends. */
#pragma once

#include "tune/recorded/recorded.h"
#include "tune/search/searcher.h"

typedef struct recorded_study {
    double regret;   /* of the configuration that the search names the best, by its mean over seeds */
    int64_t trials;  /* that were run: fewer than asked where a grid was exhausted */
    int64_t repeats; /* of them, runs of configurations that had been run before */
    double seconds;  /* that the searcher took */
} recorded_study;

/* A trial scores one of the seeds that its cell was run under, at random (`noisy`), or the cell's mean. */
weft_status recorded_search(const recorded_table *table, const searcher_desc *desc, bool noisy, recorded_study *study);
