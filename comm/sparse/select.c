/*
 * comm/sparse/select.c: selectors: work space, the cut into one part a thread, and what the methods share.
 *
 * Memory: one byte an element of the longest vector (candidates of up to an eighth of it), 256 KiB a thread.
 */
#include "comm/sparse/select.h"

#include <limits.h>

#include "base/alloc.h"
#include "base/number.h"
#include "comm/comm.h"
#include "comm/sparse/select_internal.h"

enum { PARALLEL_COUNT = 1 << 16, MAX_THREADS = 4096 };

static weft_status check_options(const select_options *options, int64_t max_count)
{
    WEFT_CHECK(max_count >= 0 && max_count <= INT32_MAX, WEFT_ERR_UNSUPPORTED,
               "selection from %lld elements: at most %d, split the vector", (long long)max_count, INT32_MAX);
    WEFT_CHECK(options->threads >= 1 && options->threads <= MAX_THREADS, WEFT_ERR_USAGE,
               "selection on %d threads: 1 to %d", options->threads, MAX_THREADS);
    WEFT_CHECK(options->method == SELECT_RADIX || options->method == SELECT_MSTOPK || options->method == SELECT_REUSE,
               WEFT_ERR_USAGE, "selection method %d is unknown", (int)options->method);
    WEFT_CHECK(options->method != SELECT_MSTOPK || options->samplings >= 1, WEFT_ERR_USAGE,
               "MSTopK with %d samplings: at least 1", options->samplings);
    WEFT_CHECK(options->method != SELECT_REUSE || options->refresh >= 1, WEFT_ERR_USAGE,
               "an exact threshold every %d calls: at least 1", options->refresh);
    return WEFT_OK;
}

weft_status selector_create(const select_options *options, int64_t max_count, selector **out)
{
    weft_status status = WEFT_OK;
    selector *s = NULL;
    *out = NULL;
    WEFT_TRY(check_options(options, max_count));
    WEFT_TRY_GOTO(WEFT_NEW_ZERO(&s, 1, WEFT_MEM_COMM), status, done);
    s->options = *options;
    s->kernels = hal_pack_best();
    s->max_count = max_count;
    int64_t eighth = (max_count / options->threads + 1) / 8;
    s->part_capacity = eighth > SELECT_SMALL ? eighth : SELECT_SMALL;
    WEFT_TRY_GOTO(WEFT_NEW_ZERO(&s->part, options->threads, WEFT_MEM_COMM), status, done);
    WEFT_TRY_GOTO(WEFT_NEW(&s->work, s->part_capacity * options->threads, WEFT_MEM_COMM), status, done);
    for (int p = 0; p < options->threads; ++p) {
        select_part *part = &s->part[p];
        WEFT_TRY_GOTO(WEFT_NEW(&part->index, s->part_capacity + HAL_PACK_SLACK, WEFT_MEM_COMM), status, done);
        WEFT_TRY_GOTO(WEFT_NEW(&part->value, s->part_capacity + HAL_PACK_SLACK, WEFT_MEM_COMM), status, done);
        WEFT_TRY_GOTO(WEFT_NEW(&part->bins, SELECT_LOW_BINS, WEFT_MEM_COMM), status, done);
    }
    *out = s;
    s = NULL;
done:
    selector_destroy(s);
    return status;
}

void selector_destroy(selector *s)
{
    if (s == NULL) {
        return;
    }
    for (int p = 0; s->part != NULL && p < s->options.threads; ++p) {
        WEFT_FREE_ALL(s->part[p].index, s->part[p].value, s->part[p].bins);
    }
    WEFT_FREE_ALL(s->part, s->work, s);
}

void *selector_state(selector *s, int64_t *bytes)
{
    *bytes = (int64_t)sizeof s->state;
    return &s->state;
}

/* ---- parts ---------------------------------------------------------------------------------------------- */
void select_each(selector *s, void (*fn)(selector *s, select_part *part))
{
    if (s->parts == 1) { /* no team of threads where a communication thread drives */
        fn(s, &s->part[0]);
        return;
    }
#pragma omp parallel for schedule(static) num_threads(s->parts)
    for (int p = 0; p < s->parts; ++p) {
        fn(s, &s->part[p]);
    }
}

void select_cut(selector *s, const float *x, int64_t count)
{
    s->x = x;
    s->parts = count >= PARALLEL_COUNT ? s->options.threads : 1;
    for (int p = 0; p < s->parts; ++p) {
        s->part[p].begin = count / s->parts * p;
        s->part[p].end = p + 1 == s->parts ? count : count / s->parts * (p + 1);
    }
}

static void part_candidates(selector *s, select_part *part)
{
    part->top = 0;
    part->found = s->kernels->compact(s->x, part->begin, part->end, s->floor, s->part_capacity, part->index,
                                      part->value, &part->top);
}

bool select_candidates(selector *s, uint32_t floor, int64_t *total)
{
    bool fit = true;
    s->floor = floor;
    select_each(s, part_candidates);
    *total = 0;
    for (int p = 0; p < s->parts; ++p) {
        fit = fit && s->part[p].found >= 0;
        *total += s->part[p].found;
    }
    return fit;
}

weft_status select_finite(const selector *s, int64_t count)
{
    bool finite = true;
    for (int p = 0; p < s->parts; ++p) {
        finite = finite && s->part[p].top < HAL_MAGNITUDE_INFINITY;
    }
    if (finite) {
        return WEFT_OK;
    }
    int64_t i = 0;
    while (i < count - 1 && hal_magnitude(s->x[i]) < HAL_MAGNITUDE_INFINITY) {
        ++i;
    }
    return weft_fail(WEFT_ERR_DIVERGED, "element %lld of %lld is %g: lower the learning rate", (long long)i,
                     (long long)count, number_plain((double)s->x[i]));
}

void select_place(selector *s, int64_t skip, int64_t wanted)
{
    int64_t to = 0;
    for (int p = 0; p < s->parts; ++p) {
        select_part *part = &s->part[p];
        part->to = to;
        part->skip = skip < part->equal ? skip : part->equal;
        int64_t rest = part->equal - part->skip;
        part->ties = wanted < rest ? wanted : rest;
        skip -= part->skip;
        wanted -= part->ties;
        to += part->above + part->ties;
    }
}

/* ---- the call -------------------------------------------------------------------------------------------- */
static void part_top(selector *s, select_part *part)
{
    part->sum = s->kernels->sum_magnitudes(s->x, part->begin, part->end, &part->top);
}

/* k = 0 and k = count need no threshold, only the check. */
static weft_status select_trivial(selector *s, const float *x, int64_t count, int64_t k, int32_t *index, float *value)
{
    select_cut(s, x, count);
    select_each(s, part_top);
    WEFT_TRY(select_finite(s, count));
    for (int64_t i = 0; i < k; ++i) {
        index[i] = (int32_t)i;
        value[i] = x[i];
    }
    return WEFT_OK;
}

weft_status selector_run(selector *s, const float *x, int64_t count, int64_t k, int64_t capacity, int32_t *index,
                         float *value, int64_t *found)
{
    uint32_t threshold = 0;
    *found = 0;
    WEFT_CHECK(count >= 0 && count <= s->max_count, WEFT_ERR_INTERNAL,
               "selection from %lld elements by a selector made for %lld", (long long)count, (long long)s->max_count);
    WEFT_CHECK(k >= 0 && k <= count && capacity >= k, WEFT_ERR_INTERNAL,
               "selection of %lld of %lld elements into room for %lld", (long long)k, (long long)count,
               (long long)capacity);
    if (k == 0 || k == count) {
        WEFT_TRY(select_trivial(s, x, count, k, index, value));
        *found = k;
    } else if (s->options.method == SELECT_REUSE) {
        WEFT_TRY(select_reuse(s, x, count, k, capacity, index, value, found));
    } else if (s->options.method == SELECT_MSTOPK) {
        WEFT_TRY(select_mstopk(s, x, count, k, index, value));
        *found = k;
    } else {
        WEFT_TRY(select_radix(s, x, count, k, index, value, &threshold));
        *found = k;
    }
    ++s->state.calls;
    return WEFT_OK;
}
