/*
 * tune/sched/sched_hyperband.c: brackets of successive halving, each rung of which waits for all of its trials.
 *
 * Bracket s of s_max, ..., 1, 0 (then again from s_max) begins ceil((s_max + 1) / (s + 1) * reduction^s) trials, each
 * of max_resource / reduction^s, and keeps the best 1/reduction at each of its rungs; s_max is the largest for which
 * the first rung is not below grace. With brackets = 1 it is plain successive halving, synchronous.
 *
 * A rung of a bracket decides when all of its trials are there. Groups of ranks do not wait for that: they start trials
 * of the bracket, or of the next one. The last bracket of a limited search has as many trials as are left.
 *
 * L. Li et al.: Hyperband: a novel bandit-based approach to hyperparameter optimization. JMLR 18(185), 2018
 */
#include <math.h>

#include "base/integer/integers.h"
#include "tune/sched/sched_state.h"

/* Returns the first resource of bracket s. */
static int64_t first_resource(const sched_desc *desc, int s)
{
    int64_t resource = desc->max_resource;
    for (int i = 0; i < s; i++) {
        resource /= desc->reduction;
    }
    return resource;
}

static int last_bracket(const sched_desc *desc)
{
    int s = 0;
    while (first_resource(desc, s + 1) >= desc->grace) {
        s++;
    }
    return s;
}

static weft_status check_size(sched *s)
{
    const int last = last_bracket(&s->desc);
    int64_t trials = 1;
    for (int i = 0; i < last && trials < INT32_MAX; i++) {
        trials *= s->desc.reduction;
    }
    WEFT_CHECK(
        trials < INT32_MAX, WEFT_ERR_USAGE,
        "scheduler hyperband: %lld / %lld with a reduction factor of %lld are %d rungs, and more than %d trials a "
        "bracket: take a larger grace",
        (long long)s->desc.max_resource, (long long)s->desc.grace, (long long)s->desc.reduction, last + 1, INT32_MAX);
    WEFT_CHECK(s->desc.brackets <= last + 1, WEFT_ERR_USAGE,
               "scheduler hyperband: %lld brackets; there are %d from %lld to %lld", (long long)s->desc.brackets,
               last + 1, (long long)s->desc.grace, (long long)s->desc.max_resource);
    return WEFT_OK;
}

static weft_status open_bracket(sched *s)
{
    sched_ladder *ladder = NULL;
    const int last = last_bracket(&s->desc);
    const int kinds = s->desc.brackets > 0 ? (int)s->desc.brackets : last + 1;
    const int bracket = last - s->ladders % kinds;
    int64_t trials = last + 1;
    WEFT_TRY(ladder_add(s, &ladder));
    for (int i = 0; i < bracket; i++) {
        trials *= s->desc.reduction;
    }
    ladder->planned = (int)smaller(whole(trials, bracket + 1) / (bracket + 1), INT32_MAX);
    ladder->rungs = bracket + 1;
    for (int k = 0; k <= bracket; k++) {
        ladder->rung[k].resource = first_resource(&s->desc, bracket - k);
    }
    return WEFT_OK;
}

/* Promotes from a bracket; false: nothing is to be promoted now. */
static bool promote(sched *s, sched_ladder *ladder, bool full, sched_work *work)
{
    int64_t planned = full ? ladder->started : ladder->planned;
    for (int k = 0; k + 1 < ladder->rungs && ladder->rung[k].count >= planned; k++) {
        const sched_rung *rung = &ladder->rung[k];
        planned = smaller(larger(planned / s->desc.reduction, 1), rung_alive(rung));
        rung_entry *entry = rung_waiting(rung, planned);
        if (entry != NULL) {
            ladder->closed = true;
            ladder_promote(s, ladder, k, entry, work);
            return true;
        }
    }
    return false;
}

static weft_status start(sched *s, sched_work *work)
{
    if (s->ladders == 0 || s->ladder[s->ladders - 1].closed ||
        s->ladder[s->ladders - 1].started == s->ladder[s->ladders - 1].planned) {
        WEFT_TRY(open_bracket(s));
    }
    sched_ladder *ladder = &s->ladder[s->ladders - 1];
    WEFT_TRY(sched_start(s, ladder->rung[0].resource, work));
    s->trial[work->trial].bracket = s->ladders - 1;
    ladder->started++;
    return WEFT_OK;
}

static weft_status next(sched *s, sched_work *work)
{
    for (int b = 0; b < s->ladders; b++) {
        sched_ladder *ladder = &s->ladder[b];
        if (promote(s, ladder, ladder->closed || !sched_may_start(s), work)) {
            return WEFT_OK;
        }
    }
    if (sched_may_start(s)) {
        return start(s, work);
    }
    sched_idle(s, work);
    return WEFT_OK;
}

const sched_rule sched_rule_hyperband = {
    .rungs = true, .grace = true, .open = check_size, .report = ladder_report, .next = next, .left = ladder_left};
