/*
 * tune/sched/sched_pasha.c: successive halving by promotion whose top rung rises only while that changes the order.
 *
 * The ladder begins with two rungs in use. After each record at the top one the trials there are ranked by it and by
 * the rung below; where the rankings differ, the next rung comes into use. Trials closer than epsilon do not count as
 * differently ranked: at each place of the upper ranking the trial's lower score must be within epsilon of the score
 * that has that place in the lower ranking.
 *
 * epsilon is the noise of the curves: the 90th percentile of the distances, at the top rung, of pairs of trials whose
 * curves crossed at least twice on the way. Rungs that rose keep the epsilon of before until pairs of their own are
 * known. When nothing else is to be done, the best trial goes on to max_resource alone (tune/sched/sched_asha.c).
 *
 * O. Bohdal et al.: PASHA: Efficient HPO and NAS with progressive resource allocation. ICLR 2023, arXiv:2207.06940
 */
#include <math.h>

#include "base/grow.h"
#include "base/sample.h"
#include "tune/sched/sched_state.h"

/* True if a was ahead of b at the last of their common resources, behind before, and ahead before that, or the other
 * way round. [out] distance: of the last scores */
static bool crossed_twice(const sched_curve *a, const sched_curve *b, double *distance)
{
    int i = a->count - 1, j = b->count - 1, changes = -1;
    double sign = 0.0;
    *distance = 0.0;
    while (i >= 0 && j >= 0 && changes < 2) {
        const int64_t at = a->point[i].resource, bt = b->point[j].resource;
        if (at == bt) {
            const double difference = a->point[i].score - b->point[j].score;
            if (changes < 0) {
                *distance = fabs(difference);
                sign = difference;
                changes = 0;
            } else if (difference * sign < 0.0) {
                sign = difference;
                changes++;
            }
        }
        i -= at >= bt;
        j -= bt >= at;
    }
    return changes >= 2;
}

/* Adds the distances between `trial` and the others of the rung, and estimates epsilon. */
static weft_status estimate(sched *s, const sched_rung *rung, int trial)
{
    const int before = s->distances;
    for (int i = 0; i < rung->count; i++) {
        const int other = rung->entry[i].trial;
        double distance = 0.0;
        if (other != trial && crossed_twice(&s->curve[trial], &s->curve[other], &distance)) {
            WEFT_TRY(grow_array((void **)&s->distance, sizeof *s->distance, s->distances, &s->distance_capacity,
                                WEFT_MEM_SCHED));
            s->distance[s->distances++] = distance;
        }
    }
    if (s->distances > before) {
        sample_sort(s->distance, s->distances);
        s->epsilon = sample_quantile(s->distance, s->distances, 0.9);
    }
    return WEFT_OK;
}

/* Scores at the lower rung of the trials of the upper one, in the order of the upper one. Trials that did not report
 * finite scores at both are left out. Returns how many there are. */
static int lower_scores(const sched_rung *upper, const sched_rung *lower, double *score)
{
    int count = 0;
    for (int i = 0; i < rung_alive(upper); i++) {
        const rung_entry *entry = rung_find(lower, upper->entry[i].trial);
        if (entry != NULL && isfinite(entry->score)) {
            score[count++] = entry->score;
        }
    }
    return count;
}

static weft_status order_stays(const sched *s, bool *stays)
{
    const sched_rung *upper = &s->ladder->rung[s->top], *lower = upper - 1;
    double *score = NULL;
    WEFT_TRY(WEFT_NEW(&score, 2 * upper->count, WEFT_MEM_WORKSPACE));
    double *sorted = score + upper->count;
    const int count = lower_scores(upper, lower, score);
    for (int i = 0; i < count; i++) {
        sorted[i] = -score[i];
    }
    sample_sort(sorted, count);
    *stays = true;
    for (int i = 0; i < count; i++) {
        *stays = *stays && fabs(score[i] + sorted[i]) <= s->epsilon;
    }
    weft_free(score);
    return WEFT_OK;
}

static weft_status report(sched *s, int trial, double score, sched_decision *decision)
{
    const int before = s->trial[trial].rung;
    WEFT_TRY(ladder_report(s, trial, score, decision));
    if (before > s->top || s->trial[trial].rung <= s->top || s->top + 1 >= s->ladder->rungs) {
        return WEFT_OK;
    }
    bool stays = true;
    WEFT_TRY(estimate(s, &s->ladder->rung[s->top], trial));
    WEFT_TRY(order_stays(s, &stays));
    if (!stays) {
        s->top++;
        s->distances = 0;
    }
    return WEFT_OK;
}

static weft_status open(sched *s)
{
    WEFT_TRY(ladder_open_plain(s));
    s->top = s->ladder->rungs > 1 ? 1 : 0;
    return WEFT_OK;
}

const sched_rule sched_rule_pasha = {.rungs = true,
                                     .grace = true,
                                     .curves = true,
                                     .open = open,
                                     .report = report,
                                     .next = asha_next,
                                     .left = ladder_left};
