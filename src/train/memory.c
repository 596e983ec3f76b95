/* train/memory.c: see train/memory.h. */
#include "train/memory.h"

#include <assert.h>

train_memory train_memory_of(const train_memory_desc *desc)
{
    const uint64_t element = weft_dtype_bytes(desc->dtype), own = (uint64_t)desc->own * element;
    const uint64_t gradient = (uint64_t)desc->trained * element + own;
    const uint64_t values = gradient + (uint64_t)desc->state * element;
    const uint64_t largest = (uint64_t)desc->largest * element;
    assert(desc->trained >= 0 && desc->own >= 0 && desc->state >= 0 && desc->largest >= 0);
    train_memory m = {.values = values, .gradients = gradient, .gradient = gradient};
    m.packed = desc->packs ? 2 * largest : 0;
    m.start = (uint64_t)desc->largest * sizeof(double) + (desc->dtype == WEFT_DTYPE_F64 ? 0 : largest);
    if (desc->optimizer != NULL) {
        const optimizer_rule *rule = optimizer_rule_of(desc->optimizer->kind);
        m.moments = (uint64_t)rule->slots(desc->optimizer) * gradient;
        m.best = values + own; /* a rank's own parameters are kept twice: the best, and the first of every run */
        m.averages = desc->optimizer->average > 0.0 ? 2 * values : 0; /* the average, and what it takes the place of */
        m.parts = desc->in_parts ? gradient : 0;
        m.checkpoint =
            desc->checkpoints ? values + m.averages / 2 + m.moments + own : 0; /* and the best of a rank's own */
    }
    m.kept = m.values + m.gradients + m.moments + m.best + m.averages + m.parts + m.packed;
    return m;
}
