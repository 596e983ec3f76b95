/*
 * tune/sched/sched_digest.c: the number of a scheduler's state, and its best trial.
 *
 * Fields are hashed one by one: structs have padding.
 */
#include <math.h>
#include <string.h>

#include "base/file.h"
#include "tune/sched/sched_state.h"

typedef struct digest {
    uint64_t sum;
} digest;

static void take_int(digest *d, int64_t value)
{
    d->sum = file_checksum(&value, sizeof value, d->sum);
}

static void take_real(digest *d, double value)
{
    int64_t bits = 0;
    memcpy(&bits, &value, sizeof bits);
    take_int(d, isnan(value) ? -1 : bits);
}

static void take_desc(digest *d, const sched_desc *desc)
{
    const int64_t field[] = {desc->kind,     desc->maximise, desc->max_resource, desc->grace,        desc->reduction,
                             desc->brackets, desc->interval, desc->trials,       (int64_t)desc->seed};
    for (size_t i = 0; i < sizeof field / sizeof *field; i++) {
        take_int(d, field[i]);
    }
}

static void take_trial(digest *d, const sched_trial *t)
{
    const int64_t field[] = {t->state,  t->diverged, t->whole, t->rung,         t->bracket,
                             t->source, t->resource, t->until, t->best_resource};
    for (size_t i = 0; i < sizeof field / sizeof *field; i++) {
        take_int(d, field[i]);
    }
    take_real(d, t->value);
    take_real(d, t->best);
}

static void take_ladder(digest *d, const sched_ladder *ladder)
{
    take_int(d, ladder->planned);
    take_int(d, ladder->started);
    take_int(d, ladder->closed);
    for (int k = 0; k < ladder->rungs; k++) {
        take_int(d, ladder->rung[k].resource);
        take_int(d, ladder->rung[k].count);
        for (int i = 0; i < ladder->rung[k].count; i++) {
            take_real(d, ladder->rung[k].entry[i].score);
            take_int(d, ladder->rung[k].entry[i].trial);
            take_int(d, ladder->rung[k].entry[i].state);
        }
    }
}

static void take_curve(digest *d, const sched_curve *curve)
{
    take_int(d, curve->count);
    for (int i = 0; i < curve->count; i++) {
        take_int(d, curve->point[i].resource);
        take_real(d, curve->point[i].score);
    }
}

static void take_exploit(digest *d, const sched_exploit *exploit)
{
    take_int(d, exploit->trial);
    take_int(d, exploit->source);
    take_int(d, exploit->resource);
    take_real(d, exploit->value);
    take_real(d, exploit->source_value);
}

uint64_t sched_digest(const sched *s)
{
    digest d = {0};
    take_desc(&d, &s->desc);
    for (int t = 0; t < s->trials; t++) {
        take_trial(&d, &s->trial[t]);
    }
    for (int t = 0; s->curve != NULL && t < s->trials; t++) {
        take_curve(&d, &s->curve[t]);
    }
    for (int b = 0; b < s->ladders; b++) {
        take_ladder(&d, &s->ladder[b]);
    }
    for (int i = 0; i < s->exploits; i++) {
        take_exploit(&d, &s->exploit[i]);
    }
    take_int(&d, s->top);
    take_real(&d, s->epsilon);
    for (int i = 0; i < s->distances; i++) {
        take_real(&d, s->distance[i]);
    }
    return d.sum;
}

int sched_leader(const sched *s)
{
    int leader = -1;
    for (int t = 0; t < s->trials; t++) {
        const double best = s->trial[t].best;
        if (isfinite(best) && (leader < 0 || sched_score(s, best) > sched_score(s, s->trial[leader].best))) {
            leader = t;
        }
    }
    return leader;
}
