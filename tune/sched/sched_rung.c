/*
 * tune/sched/sched_rung.c: ladders of rungs, and what the kinds that pause at them share.
 *
 * A rung keeps its entries sorted, so the best m / reduction of m are its first ones; recording one moves those behind
 * it, 24 bytes each, which is nothing beside the training that led there.
 */
#include <math.h>
#include <string.h>

#include "base/grow.h"
#include "base/integer/search.h"
#include "tune/sched/sched_state.h"

weft_status ladder_add(sched *s, sched_ladder **out)
{
    WEFT_TRY(grow_array((void **)&s->ladder, sizeof *s->ladder, s->ladders, &s->ladder_capacity, WEFT_MEM_SCHED));
    *out = &s->ladder[s->ladders++];
    memset(*out, 0, sizeof **out);
    return WEFT_OK;
}

weft_status ladder_open_plain(sched *s)
{
    sched_ladder *ladder = NULL;
    WEFT_TRY(ladder_add(s, &ladder));
    /* Resources are at most 2^40 and factors at least 2, so 41 rungs are enough and nothing overflows. */
    for (int64_t r = s->desc.grace; r < s->desc.max_resource; r *= s->desc.reduction) {
        ladder->rung[ladder->rungs++].resource = r;
    }
    ladder->rung[ladder->rungs++].resource = s->desc.max_resource;
    return WEFT_OK;
}

int64_t sched_rung_resource(const sched *s, int k)
{
    return s->desc.kind != SCHED_HYPERBAND && s->ladders > 0 && k >= 0 && k < s->ladder->rungs
               ? s->ladder->rung[k].resource
               : 0;
}

/* ---- entries ---- */

weft_status rung_add(sched_rung *rung, int trial, double score, rung_state state)
{
    const size_t item = sizeof *rung->entry;
    int64_t place = 0;
    WEFT_TRY(grow_array((void **)&rung->entry, item, rung->count, &rung->capacity, WEFT_MEM_SCHED));
    const rung_entry *entry = rung->entry;
    SEARCH_FIRST(place, rung->count, entry[at].score > score || (entry[at].score == score && entry[at].trial < trial));
    memmove(rung->entry + place + 1, rung->entry + place, (size_t)(rung->count - place) * item);
    rung->entry[place] = (rung_entry){.score = score, .trial = trial, .state = state};
    rung->count++;
    return WEFT_OK;
}

rung_entry *rung_find(const sched_rung *rung, int trial)
{
    for (int i = 0; i < rung->count; i++) {
        if (rung->entry[i].trial == trial) {
            return &rung->entry[i];
        }
    }
    return NULL;
}

rung_entry *rung_waiting(const sched_rung *rung, int64_t count)
{
    for (int i = 0; i < rung->count && i < count; i++) {
        if (rung->entry[i].state == RUNG_WAITS) {
            return &rung->entry[i];
        }
    }
    return NULL;
}

int rung_alive(const sched_rung *rung)
{
    int count = rung->count;
    while (count > 0 && !isfinite(rung->entry[count - 1].score)) {
        count--;
    }
    return count;
}

/* ---- trials at rungs ---- */

weft_status ladder_report(sched *s, int trial, double score, sched_decision *decision)
{
    sched_trial *t = &s->trial[trial];
    sched_ladder *ladder = &s->ladder[t->bracket];
    while (!t->whole && t->rung < ladder->rungs && t->resource >= ladder->rung[t->rung].resource) {
        const bool last = t->rung + 1 == ladder->rungs;
        const bool passes = !last && t->resource >= ladder->rung[t->rung + 1].resource;
        WEFT_TRY(rung_add(&ladder->rung[t->rung], trial, score,
                          last     ? RUNG_GONE
                          : passes ? RUNG_PROMOTED
                                   : RUNG_WAITS));
        *decision = last ? SCHED_CONTINUE : SCHED_PAUSE;
        t->rung++;
    }
    return WEFT_OK;
}

/* Makes the entry of a trial that waits the worst of its rung; false: it does not wait there. */
static bool sink(sched_rung *rung, int trial)
{
    rung_entry *entry = rung_find(rung, trial);
    if (entry == NULL || entry->state != RUNG_WAITS) {
        return false;
    }
    rung_entry *last = rung->entry + rung->count - 1;
    memmove(entry, entry + 1, (size_t)(last - entry) * sizeof *entry);
    *last = (rung_entry){.score = -(double)INFINITY, .trial = trial, .state = RUNG_GONE};
    return true;
}

/* A trial that waits at a rung becomes the worst there, one that runs the worst of the rung to which it was going. */
weft_status ladder_left(sched *s, int trial, sched_decision *decision)
{
    sched_trial *t = &s->trial[trial];
    sched_rung *rung = s->ladder[t->bracket].rung;
    (void)decision;
    if (t->whole || (t->rung > 0 && sink(&rung[t->rung - 1], trial))) {
        return WEFT_OK;
    }
    return rung_add(&rung[t->rung++], trial, -(double)INFINITY, RUNG_GONE);
}

void ladder_promote(sched *s, const sched_ladder *ladder, int k, rung_entry *entry, sched_work *work)
{
    entry->state = RUNG_PROMOTED;
    sched_resume(s, entry->trial, ladder->rung[k + 1].resource, work);
}
