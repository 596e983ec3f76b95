/*
 * train/skew/skew_guard.h: bounds what a lossy mode of synchronisation loses where ranks own different data
 * (--skew-guard): it scores replicas as they train and turns the mode's knob by a rule (train/skew/skew_rule.h).
 *
 *      topk            --topk-density    0.25, 0.12, 0.04, 0.015, 0.005
 *      divide-shuffle  --group-size      P, P / 2, ... 2 ranks
 *      shadow          --shadow-gap      1, 2, 4, 8, 16, 32 steps
 *      asp             --asp-threshold   0.005, 0.01, 0.02, 0.05, 0.1, 0.2 of a parameter
 *      exact, graphs   --delay           0, 2, 4, ... R epochs, for the R that the halos were made with
 *
 * A check costs no model on the wire but one average: every rank scores its own replica on probes of all ranks
 * (train_source.probe), so home and away scores meet in two sums; then replicas are averaged as before an evaluation,
 * every rank scores the mean on its own probe, and one more sum is the judge's score. Replicas go on as they were. Of
 * a graph in parts, whose rows no rank computes alone, only the mean is judged, on all training rows. What it decides
 * depends on values and numbers of steps alone, so that a repeated run has the same bits.
 *
 * Where replicas are equal to the last statistic, one score a rank is home, away and mean at once: such a check sends
 * nothing and is made twice as often, so that a run leaves the densest setting earlier.
 *
 * Where shards hardly differ in their labels (train_source.label_distance) modes whose ranks update by themselves
 * start in the middle of the ladder, as what they lose comes from shards that differ, and their mean is judged at
 * every fourth check, as an average sends as much as they do between two checks of a short run. What topk loses comes
 * from a fast rise, whatever the shards: it always starts with the setting that sends most. A gradient entry that topk
 * keeps back waits 1 / density steps on average, so that the model lies behind by what it gains in as many: a density
 * is taken once that gain is within the bound. A longer run gains less a step, and spends a smaller part of its checks
 * on dense settings. What waits when a run ends never arrives: densities by which it would wait more than a sixth of
 * the run are not on the ladder.
 */
#pragma once

#include "train/replica.h"
#include "train/skew/skew_rule.h"
#include "train/source.h"

typedef struct skew_guard skew_guard;

/*
 * points: of accuracy that may be lost, above 0; steps: of a run. [out] guard: NULL where there is nothing to guard,
 * with a line in the log: one rank, a mode that is exact, or a knob with one setting. WEFT_ERR_USAGE: the data
 * have no classes to score. Collective.
 */
weft_status skew_guard_create(weft_comm *comm, train_model *model, const train_source *source, train_replica *replica,
                              double points, int64_t steps, skew_guard **guard);
void skew_guard_destroy(skew_guard *guard); /* NULL is allowed */

/* A run begins, after replica_reset: the mode stands on the setting to start from. Collective. NULL is allowed. */
weft_status skew_guard_reset(skew_guard *guard);
/* After the update of step `step` of the run, from 1: checks every skew_guard_every steps. seed: of the run. NULL is
 * allowed. Collective. */
weft_status skew_guard_step(skew_guard *guard, uint64_t seed, int64_t step);
/* Returns the steps between two checks. */
int64_t skew_guard_every(const skew_guard *guard);

/* Returns the figures of the last check; NULL is allowed. */
skew_figures skew_guard_figures(const skew_guard *guard);
/* Returns what a checkpoint keeps, under "skew"; NULL gives no bytes. */
sync_buffer skew_guard_state(skew_guard *guard);
/* The buffer was filled from a checkpoint, or zeroed where that has none; the mode's knob is restored by itself.
 * WEFT_ERR_DATA on all ranks: numbers that cannot be, or that differ between ranks. Collective. NULL is allowed. */
weft_status skew_guard_restored(skew_guard *guard);
