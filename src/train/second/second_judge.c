/*
 * train/second/second_judge.c: second order steps back where it costs more than it saves.
 *
 * After the first step, which makes what is made once a run, a few steps are timed. A step of the schedule takes
 *
 *      overhead = look / factors + inversion / interval + turn
 *
 * beside the rest of a step; each number is the least of the timed steps, because disturbances only add time, and then
 * the largest over ranks. Where the overhead is too large, no more rows are looked at and nothing is inverted: the
 * matrix of a layer becomes the one number that is nearest to it along the gradient of that step,
 *
 *      c = (P . g) / (g . g)
 *
 * so that steps keep their length and no learning rate has to be found anew.
 */
#include <assert.h>
#include <math.h>

#include "base/clock.h"
#include "base/log.h"
#include "train/second/second_internal.h"

enum { TIMED = 3 };

void second_judge_begin(train_second *s)
{
    s->judge.began = clock_seconds();
    s->judge.before = s->figures;
}

static double least(double a, double b, bool first)
{
    return first || b < a ? b : a;
}

/* The times of the step that ends. */
static void add_times(train_second *s)
{
    second_judge *judge = &s->judge;
    double rest = clock_seconds() - judge->began;
    for (int i = 0; i < SECOND_PHASES; ++i) {
        const double phase = s->figures.seconds[i] - judge->before.seconds[i];
        judge->phase[i] = least(judge->phase[i], phase, judge->timed == 0);
        rest -= phase;
    }
    judge->rest = least(judge->rest, rest, judge->timed == 0);
    judge->timed += 1;
}

/* c of each layer, the same on all ranks; 1 where the direction is the gradient. */
static weft_status find_numbers(train_second *s)
{
    for (int l = 0; l < s->layers; ++l) {
        second_layer *layer = &s->layer[l];
        layer->number = layer->squares > 0.0 && layer->dot > 0.0 ? layer->dot / layer->squares : 1.0;
        assert(isfinite(layer->number));
    }
    return WEFT_OK;
}

bool second_judge_is_last(const train_second *s)
{
    return s->judge.most > 0.0 && s->judge.verdict == SECOND_UNJUDGED && s->step > 0 && s->judge.timed + 1 >= TIMED;
}

weft_status second_judge_end(train_second *s)
{
    second_judge *judge = &s->judge;
    if (judge->most <= 0.0 || judge->verdict != SECOND_UNJUDGED || s->step == 0) {
        return WEFT_OK;
    }
    add_times(s);
    if (judge->timed < TIMED) {
        return WEFT_OK;
    }
    double times[2] = {judge->phase[SECOND_FACTORS] / (double)s->options.factors +
                           judge->phase[SECOND_INVERSES] / (double)s->options.interval + judge->phase[SECOND_STEPS],
                       judge->rest};
    WEFT_TRY(comm_allreduce(s->comm, times, 2, WEFT_DTYPE_F64, COMM_MAX));
    s->figures.overhead = times[0] / fmax(times[1], 1e-9);
    judge->verdict = times[0] > judge->least && s->figures.overhead > judge->most ? SECOND_STEPPED_BACK : SECOND_STAYS;
    if (judge->verdict == SECOND_STAYS) {
        return WEFT_OK;
    }
    s->figures.stepped_back = true;
    log_info("precondition none from step %lld on (auto: second order takes %.0f %% of the rest of a step, more than "
             "%.0f %%): each layer's gradient keeps the step length that it had",
             (long long)s->step + 2, 100.0 * s->figures.overhead, 100.0 * judge->most);
    return find_numbers(s);
}
