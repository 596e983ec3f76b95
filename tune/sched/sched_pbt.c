/*
 * tune/sched/sched_pbt.c: population based training.
 *
 * All trials train for an interval and pause. When the whole population is there, the worst quarter go on from the
 * weights of trials of the best quarter, drawn at random, with changed parameters; the others go on as they are.
 * Trials that diverged go on from another one as well. The population waits for its slowest, so that which trials meet
 * does not depend on the speed of groups: the same seed gives the same lineage for any number of them.
 *
 * Donors and changes are functions of seed, trial and generation (base/philox.h). Quarter, factors and the share of
 * parameters that are drawn afresh are Ray's, PopulationBasedTraining with synch = True.
 *
 * M. Jaderberg et al.: Population based training of neural networks. 2017, arXiv:1711.09846
 */
#include <math.h>

#include "base/grow.h"
#include "base/integer/integers.h"
#include "base/philox.h"
#include "tune/sched/sched_state.h"

static const uint32_t donor_index = UINT32_MAX;
static const float resample_share = 0.25F;

static weft_status open(sched *s)
{
    WEFT_CHECK(s->desc.trials >= 4, WEFT_ERR_USAGE,
               "scheduler pbt: a population of %d trials; 4 and more, for a quarter takes the weights of another",
               s->desc.trials);
    WEFT_CHECK(s->desc.interval >= 1 && s->desc.interval < s->desc.max_resource, WEFT_ERR_USAGE,
               "scheduler pbt: an interval of %lld; 1 and more, below the %lld of a full training",
               (long long)s->desc.interval, (long long)s->desc.max_resource);
    return WEFT_OK;
}

static weft_status report(sched *s, int trial, double score, sched_decision *decision)
{
    const sched_trial *t = &s->trial[trial];
    (void)score;
    if (t->resource >= t->until && t->resource < s->desc.max_resource) {
        *decision = SCHED_PAUSE;
    }
    return WEFT_OK;
}

/* A trial that diverges waits for the weights of another, unless none will be handed on any more. */
static weft_status left(sched *s, int trial, sched_decision *decision)
{
    if (decision != NULL && s->trial[trial].until < s->desc.max_resource) {
        *decision = SCHED_PAUSE;
    }
    return WEFT_OK;
}

/* ---- exchange ---- */

/* The last exchange in which a trial took weights; NULL: it never did. */
static const sched_exploit *last_exploit(const sched *s, int trial)
{
    for (int i = s->exploits - 1; i >= 0; i--) {
        if (s->exploit[i].trial == trial) {
            return &s->exploit[i];
        }
    }
    return NULL;
}

/* Draws belong to the exchange of this number. */
static philox_block draw(const sched *s, int trial, int64_t exchange, uint32_t index)
{
    return philox4x32(philox_counter(index, (uint64_t)trial, WEFT_RNG_POPULATION, (uint32_t)exchange), s->desc.seed);
}

static weft_status take_weights(sched *s, int trial, const sched_rung *population, int donors)
{
    const philox_block block = draw(s, trial, s->exploits, donor_index);
    const int place = (int)(philox_uniform_double(block.word[0], block.word[1]) * donors);
    const int donor = population->entry[place].trial;
    const sched_trial *source = &s->trial[donor];
    sched_trial *t = &s->trial[trial];
    WEFT_TRY(grow_array((void **)&s->exploit, sizeof *s->exploit, s->exploits, &s->exploit_capacity, WEFT_MEM_SCHED));
    s->exploit[s->exploits++] = (sched_exploit){.trial = trial,
                                                .source = donor,
                                                .resource = source->resource,
                                                .value = t->diverged ? (double)NAN : t->value,
                                                .source_value = source->value};
    t->resource = source->resource;
    t->source = donor;
    t->diverged = false;
    return WEFT_OK;
}

static weft_status rank_population(const sched *s, sched_rung *population)
{
    for (int i = 0; i < s->trials; i++) {
        const sched_trial *t = &s->trial[i];
        if (t->state == SCHED_PAUSED) {
            WEFT_TRY(rung_add(population, i, t->diverged ? -(double)INFINITY : sched_score(s, t->value), RUNG_WAITS));
        }
    }
    return WEFT_OK;
}

/* Everybody is there: the worst take the weights of the best, and all may go on to the next boundary. */
static weft_status exchange(sched *s)
{
    weft_status status = WEFT_OK;
    sched_rung population = {0};
    WEFT_TRY_GOTO(rank_population(s, &population), status, done);
    const int count = population.count, alive = rung_alive(&population);
    const int swapped = (int)smaller((count + 3) / 4, count / 2), donors = (int)larger(smaller(swapped, alive), 1);
    for (int i = 0; i < count && alive > 0; i++) {
        const int trial = population.entry[i].trial;
        sched_trial *t = &s->trial[trial];
        if (i >= alive || i >= count - swapped) {
            WEFT_TRY_GOTO(take_weights(s, trial, &population, donors), status, done);
        }
        while (t->until <= t->resource) {
            t->until = smaller(t->until + s->desc.interval, s->desc.max_resource);
        }
    }
done:
    weft_free(population.entry);
    return status;
}

/* Resumes the first trial that may go on; false: none may. */
static bool resume(sched *s, sched_work *work)
{
    for (int i = 0; i < s->trials; i++) {
        const sched_trial *t = &s->trial[i];
        if (t->state == SCHED_PAUSED && !t->diverged && t->resource < t->until) {
            const sched_exploit *exploit = last_exploit(s, i);
            sched_resume(s, i, t->until, work);
            /* Whatever it trained since would have raised its resource. */
            work->source = exploit != NULL && exploit->resource == t->resource ? exploit->source : -1;
            return true;
        }
    }
    return false;
}

static weft_status next(sched *s, sched_work *work)
{
    if (sched_may_start(s)) {
        return sched_start(s, s->desc.interval, work);
    }
    if (resume(s, work)) {
        return WEFT_OK;
    }
    if (s->running == 0) {
        WEFT_TRY(exchange(s));
        if (resume(s, work)) {
            return WEFT_OK;
        }
    }
    sched_idle(s, work);
    return WEFT_OK;
}

const sched_rule sched_rule_pbt = {.open = open, .report = report, .next = next, .left = left};

/* ---- what users of the kind ask ---- */

const sched_exploit *sched_lineage(const sched *s, int *count)
{
    *count = s->exploits;
    return s->exploit;
}

sched_change sched_explore(const sched *s, int trial, int dimension)
{
    const sched_exploit *exploit = last_exploit(s, trial);
    const philox_block block = draw(s, trial, exploit != NULL ? exploit - s->exploit : 0, (uint32_t)dimension);
    return (sched_change){.resample = philox_uniform(block.word[0]) < resample_share,
                          .factor = block.word[1] % 2 == 0 ? 1.2 : 0.8,
                          .uniform = philox_uniform_double(block.word[2], block.word[3])};
}
