/*
 * comm/sparse/select_reuse.c: the threshold of the last call once more: gradients change slowly.
 *
 * Every `refresh` calls, and whenever k changes, the exact threshold; in between, everything that reaches the stored
 * one, in one pass. When the number found leaves [2/3 k, 5/4 k], the stored threshold moves by 1.2 % for the next call.
 * Zeros never reach it.
 *
 * Cost: one pass. What it trades: about k elements instead of k; past `capacity` those of higher index stay behind.
 *
 * S. Li, T. Hoefler: Near-optimal sparse allreduce for distributed deep learning (Ok-Topk). PPoPP 2022,
 * doi:10.1145/3503221.3508399 (the steps and bounds are those of the authors' code)
 */
#include <math.h>

#include "comm/sparse/select_internal.h"

static const float nudge = 1.012f;

static void store_threshold(selector *s, uint32_t bits)
{
    bits = bits > 0 ? bits : 1;
    s->state.threshold = bits < HAL_MAGNITUDE_INFINITY ? bits : HAL_MAGNITUDE_INFINITY - 1;
}

static void adapt(selector *s, int64_t k, int64_t reached)
{
    float threshold = 0.0f;
    uint32_t bits = (uint32_t)s->state.threshold;
    memcpy(&threshold, &bits, sizeof threshold);
    if (4 * reached > 5 * k) {
        store_threshold(s, hal_magnitude(threshold * nudge));
    } else if (3 * reached < 2 * k) {
        store_threshold(s, hal_magnitude(threshold / nudge));
    }
}

/* Candidates that do not fit their part: one more pass, in order, as far as there is room. *reached counts them all. */
static int64_t take_serially(const selector *s, int64_t count, int64_t capacity, int32_t *index, float *value,
                             int64_t *reached)
{
    int64_t found = 0;
    *reached = 0;
    for (int64_t i = 0; i < count; ++i) {
        if (hal_magnitude(s->x[i]) < s->floor) {
            continue;
        }
        ++*reached;
        if (found < capacity) {
            index[found] = (int32_t)i;
            value[found++] = s->x[i];
        }
    }
    return found;
}

static int64_t take_candidates(const selector *s, int64_t capacity, int32_t *index, float *value)
{
    int64_t found = 0;
    for (int p = 0; p < s->parts; ++p) {
        const select_part *part = &s->part[p];
        int64_t n = part->found < capacity - found ? part->found : capacity - found;
        memcpy(index + found, part->index, (size_t)n * sizeof *index);
        memcpy(value + found, part->value, (size_t)n * sizeof *value);
        found += n;
    }
    return found;
}

static void part_tops(selector *s, select_part *part)
{
    part->sum = s->kernels->sum_magnitudes(s->x, part->begin, part->end, &part->top);
}

weft_status select_reuse(selector *s, const float *x, int64_t count, int64_t k, int64_t capacity, int32_t *index,
                         float *value, int64_t *found)
{
    select_state *state = &s->state;
    if (state->threshold <= 0 || state->threshold >= HAL_MAGNITUDE_INFINITY || state->k != k ||
        state->calls % (uint64_t)s->options.refresh == 0) {
        uint32_t threshold = 0;
        WEFT_TRY(select_radix(s, x, count, k, index, value, &threshold));
        store_threshold(s, threshold);
        state->k = k;
        *found = k;
        return WEFT_OK;
    }
    int64_t reached = 0;
    select_cut(s, x, count);
    if (select_candidates(s, (uint32_t)state->threshold, &reached)) {
        WEFT_TRY(select_finite(s, count));
        *found = take_candidates(s, capacity, index, value);
    } else {
        select_each(s, part_tops);
        WEFT_TRY(select_finite(s, count));
        *found = take_serially(s, count, capacity, index, value, &reached);
    }
    adapt(s, k, reached);
    return WEFT_OK;
}
