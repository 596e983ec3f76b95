/* app/bench/sync_step.c: see app/bench/sync_step.h. */
#include "app/bench/sync_step.h"

#include <assert.h>
#include <string.h>

#include "app/bench/bench_check.h"
#include "base/alloc.h"
#include "base/clock.h"
#include "comm/core/window.h"

#define LEARNING_RATE 0.01

static volatile double busy_result; /* read and written, so that the loop is not left out */

/* A chain of multiplications: as long as the work says, whatever else happens, so that a thread that takes this one's
 * core away makes it longer. */
static void be_busy(int64_t work)
{
    double x = busy_result;
    for (int64_t i = 0; i < work; i++) {
        x = x * 0.999999 + 1e-6;
    }
    busy_result = x;
}

weft_status sync_step_compute(void *self)
{
    sync_step *s = self;
    const double begin = clock_seconds();
    be_busy(s->work);
    s->seconds = clock_seconds() - begin;
    return WEFT_OK;
}

static weft_status cut_buckets(sync_step *s, int64_t bucket_bytes)
{
    const int64_t each = bucket_bytes / (int64_t)sizeof(float) > 0 ? bucket_bytes / (int64_t)sizeof(float) : 1;
    s->buckets = (int)((s->count + each - 1) / each);
    WEFT_TRY(WEFT_NEW(&s->bucket, s->buckets, WEFT_MEM_GENERAL));
    int64_t end = s->count;
    for (int b = 0; b < s->buckets; b++) {
        const int64_t begin = end > each ? end - each : 0;
        s->bucket[b] = (sync_bucket){begin, end - begin};
        end = begin;
    }
    assert(end == 0); /* the buckets cover the vector */
    return WEFT_OK;
}

weft_status sync_step_open(weft_comm *comm, const sync_options *options, int64_t count, sync_step *s)
{
    void *value = NULL, *grad = NULL;
    *s = (sync_step){.comm = comm, .count = count};
    WEFT_TRY(comm_buffer_alloc(comm, count * (int64_t)sizeof(float), &value));
    s->value = value;
    WEFT_TRY(comm_buffer_alloc(comm, count * (int64_t)sizeof(float), &grad));
    s->grad = grad;
    weft_status status = WEFT_NEW(&s->noise, count, WEFT_MEM_WORKSPACE);
    status = status == WEFT_OK ? cut_buckets(s, options->bucket_bytes) : status;
    WEFT_TRY(comm_agree(comm, status));
    bench_fill_gradient(comm_rank(comm), s->noise, count);
    bench_fill(0, s->value, count);
    /* Two dimensions, where the count allows: vectors go dense under topk. */
    const int64_t cols = count % 64 == 0 ? 64 : count % 2 == 0 ? 2 : 1;
    const sync_tensor tensor = {"vector", 0, count / cols, cols};
    const sync_desc desc = {.dtype = WEFT_DTYPE_F32,
                            .value = s->value,
                            .grad = s->grad,
                            .trained = count,
                            .elements = count,
                            .bucket = s->bucket,
                            .buckets = s->buckets,
                            .tensor = &tensor,
                            .tensors = 1};
    WEFT_TRY(sync_create(comm, options, &desc, &s->sync));
    s->split = options->overlap == OVERLAP_SPLIT && sync_running(s->sync) == SYNC_ALLREDUCE;
    return sync_reset(s->sync);
}

void sync_step_close(sync_step *s)
{
    sync_destroy(s->sync);
    comm_buffer_free(s->comm, s->grad);
    comm_buffer_free(s->comm, s->value);
    weft_free(s->noise);
    weft_free(s->bucket);
    *s = (sync_step){0};
}

/* Noise: another part of it in every place and step. */
static void make_gradient(sync_step *s)
{
    if (s->known) {
        bench_fill(comm_rank(s->comm), s->grad, s->count);
        return;
    }
    const int64_t shift = s->steps * 7919 % s->count;
    memcpy(s->grad, s->noise + shift, (size_t)(s->count - shift) * sizeof *s->grad);
    memcpy(s->grad + (s->count - shift), s->noise, (size_t)shift * sizeof *s->grad);
}

static void update(sync_step *s)
{
    const float rate = (float)(LEARNING_RATE / comm_size(s->comm));
#pragma omp parallel for schedule(static)
    for (int64_t i = 0; i < s->count; i++) {
        s->value[i] -= rate * s->grad[i];
    }
}

static weft_status take(sync_step *s, int bucket)
{
    return sync_owes(s->sync, bucket) ? sync_need(s->sync, bucket) : WEFT_OK;
}

weft_status sync_step_settle(sync_step *s)
{
    for (int b = s->buckets - 1; b >= 0; b--) {
        WEFT_TRY(take(s, b));
    }
    return WEFT_OK;
}

static weft_status forward(sync_step *s, int64_t work)
{
    for (int b = s->buckets - 1; b >= 0; b--) {
        WEFT_TRY(take(s, b));
        be_busy(work / s->buckets);
    }
    return WEFT_OK;
}

static weft_status backward(sync_step *s, int64_t work)
{
    WEFT_TRY(sync_begin(s->sync, LEARNING_RATE, 1.0));
    for (int b = 0; b < s->buckets; b++) {
        be_busy(work / s->buckets);
        WEFT_TRY(sync_ready(s->sync, b));
    }
    return sync_gradients(s->sync);
}

/* Adds to the seconds. */
static weft_status step(sync_step *s, int64_t work)
{
    const int64_t early = s->split ? work / 2 : 0;
    double begin = 0.0;
    s->steps++;
    if (s->split) {
        WEFT_TRY(comm_barrier(s->comm));
        begin = clock_seconds();
        WEFT_TRY(forward(s, early));
        s->seconds += clock_seconds() - begin;
    }
    make_gradient(s);
    WEFT_TRY(comm_barrier(s->comm));
    begin = clock_seconds();
    WEFT_TRY(backward(s, work - early));
    s->seconds += clock_seconds() - begin;
    if (!s->split) {
        update(s);
    }
    begin = clock_seconds();
    WEFT_TRY(sync_parameters(s->sync));
    s->seconds += clock_seconds() - begin;
    return WEFT_OK;
}

weft_status sync_step_run(void *self)
{
    sync_step *s = self;
    s->seconds = 0.0;
    return step(s, s->work);
}

weft_status sync_step_bare(void *self)
{
    sync_step *s = self;
    const int period = sync_period(s->sync);
    const sync_buffer *state = NULL;
    int buffers = 0;
    assert(period > 0);
    s->seconds = 0.0;
    for (int i = 0; i < period; i++) {
        WEFT_TRY(step(s, 0));
    }
    const double begin = clock_seconds();
    WEFT_TRY(sync_step_settle(s));
    WEFT_TRY(sync_state(s->sync, &state, &buffers)); /* ends what is under way */
    s->seconds = (s->seconds + clock_seconds() - begin) / period;
    return WEFT_OK;
}
