/*
 * tune/sched/sched_asha.c: asynchronous successive halving by promotion.
 *
 * A trial trains to the next rung and pauses. A free group of ranks looks from the top rung down for a paused trial
 * among the best floor(m / reduction) of the m recorded there and resumes the best such; if there is none, it starts a
 * new trial. Nobody waits, and nothing is thrown away: a trial that looked bad among few is promoted later, when m has
 * grown.
 *
 * When no trial may be started any more and none runs, a rung from which nobody was promoted (m < reduction) promotes
 * its best, so that every search trains at least one trial in full.
 *
 * L. Li et al.: A system for massively parallel hyperparameter tuning. MLSys 2020, arXiv:1810.05934
 */
#include <math.h>

#include "tune/sched/sched_state.h"

static bool has_promoted(const sched_rung *rung)
{
    for (int i = 0; i < rung->count; i++) {
        if (rung->entry[i].state == RUNG_PROMOTED) {
            return true;
        }
    }
    return false;
}

/* Promotes from the rungs below `top`, the highest first; false: nothing is to be promoted. last: only the best of a
 * rung from which nobody was. */
static bool promote(sched *s, int top, bool last, sched_work *work)
{
    const sched_ladder *ladder = s->ladder;
    for (int k = top - 1; k >= 0; k--) {
        const sched_rung *rung = &ladder->rung[k];
        const int64_t share = last ? (has_promoted(rung) ? 0 : rung->count) : rung->count / s->desc.reduction;
        rung_entry *entry = rung_waiting(rung, share);
        if (entry != NULL && isfinite(entry->score)) {
            ladder_promote(s, ladder, k, entry, work);
            return true;
        }
    }
    return false;
}

weft_status asha_next(sched *s, sched_work *work)
{
    const int whole = s->ladder->rungs - 1;
    if (promote(s, s->rule == &sched_rule_pasha ? s->top : whole, false, work)) {
        return WEFT_OK;
    }
    if (sched_may_start(s)) {
        return sched_start(s, s->ladder->rung[0].resource, work);
    }
    if (s->running == 0 && promote(s, whole, true, work)) {
        return WEFT_OK;
    }
    sched_idle(s, work);
    return WEFT_OK;
}

const sched_rule sched_rule_asha = {.rungs = true,
                                    .grace = true,
                                    .open = ladder_open_plain,
                                    .report = ladder_report,
                                    .next = asha_next,
                                    .left = ladder_left};
