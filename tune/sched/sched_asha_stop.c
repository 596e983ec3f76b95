/*
 * tune/sched/sched_asha_stop.c: successive halving that stops trials at rungs, with nothing to pause or resume.
 *
 * Two programs call different rules by this name:
 *
 *   asha-stop    Ray 2.60, ASHAScheduler with one bracket: at the highest rung reached at which the trial is not yet
 *                recorded, it stops if its value is strictly worse than the quantile 1 - 1/reduction (linear between
 *                neighbours) of the values that were recorded there before. A report that jumps over a rung is recorded
 *                at the higher one, the next report at the lower one.
 *   asha-optuna  Optuna 5.0, SuccessiveHalvingPruner: at each rung in turn, recorded, the trial goes on if its value is
 *                among the best floor(m / reduction) of the m recorded values with its own, or the best of all where
 *                that is 0. A report that jumps over rungs is recorded at each until one stops the trial.
 *
 * A trial that has reached max_resource is complete, whatever others have there.
 *
 * Both judge early arrivals by few others: the first of a rung always goes on, and a late one that is good may stop.
 */
#include <math.h>

#include "tune/sched/sched_state.h"

/* Linear quantile of the scores of a rung, best first, by the operations of numpy.nanpercentile: ties must be the
 * ties of the rule's source. */
static double quantile(const sched_rung *rung, double share)
{
    const double place = (double)(rung->count - 1) * share;
    const int low = (int)place, high = low + 1 < rung->count ? low + 1 : low;
    const double a = rung->entry[rung->count - 1 - low].score, b = rung->entry[rung->count - 1 - high].score;
    const double part = place - floor(place);
    return part >= 0.5 ? b - (b - a) * (1.0 - part) : a + (b - a) * part;
}

static weft_status report_ray(sched *s, int trial, double score, sched_decision *decision)
{
    sched_trial *t = &s->trial[trial];
    sched_ladder *ladder = s->ladder;
    const double share = (1.0 - 1.0 / (double)s->desc.reduction) * 100.0 / 100.0;
    for (int k = ladder->rungs - 2; k >= 0 && t->resource < s->desc.max_resource; k--) {
        sched_rung *rung = &ladder->rung[k];
        if (t->resource < rung->resource || rung_find(rung, trial) != NULL) {
            continue;
        }
        if (rung->count > 0 && score < quantile(rung, share)) {
            *decision = SCHED_STOP;
        }
        t->rung = k + 1 > t->rung ? k + 1 : t->rung;
        return rung_add(rung, trial, score, RUNG_GONE);
    }
    return WEFT_OK;
}

static weft_status report_optuna(sched *s, int trial, double score, sched_decision *decision)
{
    sched_trial *t = &s->trial[trial];
    sched_ladder *ladder = s->ladder;
    bool good = true;
    while (good && t->rung + 1 < ladder->rungs && t->resource >= ladder->rung[t->rung].resource) {
        sched_rung *rung = &ladder->rung[t->rung++];
        WEFT_TRY(rung_add(rung, trial, score, RUNG_GONE));
        const int64_t best = rung->count / s->desc.reduction;
        good = score >= rung->entry[best > 0 ? best - 1 : 0].score;
    }
    *decision = good || t->resource >= s->desc.max_resource ? SCHED_CONTINUE : SCHED_STOP;
    return WEFT_OK;
}

const sched_rule sched_rule_asha_stop = {
    .rungs = true, .grace = true, .open = ladder_open_plain, .report = report_ray, .next = sched_next_whole};
const sched_rule sched_rule_asha_optuna = {
    .rungs = true, .grace = true, .open = ladder_open_plain, .report = report_optuna, .next = sched_next_whole};
