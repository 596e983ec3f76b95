/*
 * tune/sched/sched_asha.c: asynchronous successive halving by promotion, delayed.
 *
 * A trial trains to the next rung and pauses. A free group of ranks looks from the top rung down for one of which
 * fewer than floor(m / reduction) of the m trials recorded there were promoted, and resumes the best that waits; if
 * there is none, it starts a new trial. Nobody waits, and nothing is thrown away: a trial that looked bad among few
 * is promoted later, when m has grown. As promotions are counted, those that were too early are not paid for twice:
 * where a searcher learns, nearly each new trial is among the best third for a while.
 *
 * When no trial may be started any more and none runs, a rung from which nobody was promoted (m < reduction) promotes
 * its best, so that every search trains at least one trial in full; and the trial with the best score of all goes on,
 * as long as it leads.
 *
 * L. Li et al.: A system for massively parallel hyperparameter tuning. MLSys 2020, arXiv:1810.05934. The delay is that
 * of Y. Li et al.: Hyper-Tune: towards efficient hyper-parameter tuning at scale. VLDB 2022, arXiv:2201.06834
 */
#include <math.h>

#include "tune/sched/sched_state.h"

static int64_t count_promoted(const sched_rung *rung)
{
    int64_t count = 0;
    for (int i = 0; i < rung->count; i++) {
        count += rung->entry[i].state == RUNG_PROMOTED;
    }
    return count;
}

/* Promotes from the rungs below `top`, the highest first; false: nothing is to be promoted. last: only the best of a
 * rung from which nobody was. */
static bool promote(sched *s, int top, bool last, sched_work *work)
{
    const sched_ladder *ladder = s->ladder;
    for (int k = top - 1; k >= 0; k--) {
        const sched_rung *rung = &ladder->rung[k];
        const int64_t due = last ? 1 : rung->count / s->desc.reduction;
        rung_entry *entry = count_promoted(rung) < due ? rung_waiting(rung, rung->count) : NULL;
        if (entry != NULL && isfinite(entry->score)) {
            ladder_promote(s, ladder, k, entry, work);
            return true;
        }
    }
    return false;
}

/* The trial with the best score goes on, where it waits. */
static bool promote_leader(sched *s, sched_work *work)
{
    const int leader = sched_leader(s);
    if (leader < 0 || s->trial[leader].state != SCHED_PAUSED) {
        return false;
    }
    const int k = s->trial[leader].rung - 1;
    ladder_promote(s, s->ladder, k, rung_find(&s->ladder->rung[k], leader), work);
    return true;
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
    if (s->running == 0 && (promote(s, whole, true, work) || promote_leader(s, work))) {
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
