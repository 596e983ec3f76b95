/*
 * app/tune/search_population.h: --scheduler pbt: trials that go on from another trial's checkpoint with other settings.
 *
 *     population_exchange(desk)              weights move, once all trials pause: copies of checkpoints
 *     population_explore(desk, trial, from)  the trial's settings are those of the other one, changed
 *     population_epoch(desk, trial, &epoch)  how far the trial's checkpoint is, after a search that was killed
 *     population_write(state)                lineage.csv: from whom, when, and with which settings each went on
 *
 * Which trial goes on from which, and with which settings, is a function of the scheduler's state, so a search that is
 * resumed comes to the same. A journal that is read again changes settings at every line that has a "source"; weights
 * are not copied again, because they were on the disk before that line was written.
 */
#pragma once

#include "app/tune/search_state.h"

/* WEFT_ERR_USAGE: a dimension of the space is none that may change on the way. */
weft_status population_check(const search_space *space);
weft_status population_exchange(search_desk *desk);
/* source -1: the trial begins, with the settings that it has. */
weft_status population_explore(search_desk *desk, int trial, int source);
/* [out] epoch: of the trial's checkpoint; 0: it has none. WEFT_ERR_DATA: weights that it took from another trial are
 * lost, and it cannot go on. */
weft_status population_epoch(const search_desk *desk, int trial, int64_t *epoch);
void population_free(search_desk *desk);
weft_status population_write(const search_state *s);
