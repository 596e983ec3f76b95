/*
 * comm/sync/sync.c: what all synchronisation modes share in a run: dispatch, the scan for values that are not finite,
 * full averages, state and figures.
 *
 * A bucket is scanned before its reduction may change it: one read pass over the gradient, which the reduction is about
 * to read anyway. Where a thread moves messages it is the first step of the reduction, behind the caller's back; else
 * the caller's threads share it when the bucket is handed in.
 */
#include <assert.h>
#include <math.h>
#include <string.h>

#include "base/clock.h"
#include "base/trace/trace.h"
#include "comm/sync/mode.h"
#include "comm/sync/staging.h"
#include "comm/sync/tracking.h"

/* ---- a step ---------------------------------------------------------------------------------------------- */

static bool alone(const comm_sync *sync)
{
    return comm_size(sync->comm) == 1;
}

void sync_expose(comm_sync *sync, double start)
{
    sync->figures.exposed_s += clock_seconds() - start;
}

/* A timed section: what the caller stands still for, and a span of the trace. */
typedef struct section {
    double start, span;
} section;

static section section_begin(void)
{
    return (section){.start = clock_seconds(), .span = trace_begin()};
}

static void section_end(comm_sync *sync, section s, const char *name)
{
    trace_end(s.span, TRACE_SYNC, name, -1);
    sync_expose(sync, s.start);
}

static weft_status call(comm_sync *sync, weft_status (*fn)(comm_sync *sync), const char *name)
{
    if (fn == NULL) {
        return WEFT_OK;
    }
    section s = section_begin();
    tracking_enter(sync);
    weft_status status = fn(sync);
    tracking_leave(sync);
    section_end(sync, s, name);
    return status;
}

weft_status sync_reset(comm_sync *sync)
{
    sync->step = 0;
    sync->averaged = false;
    sync->diverged = -1;
    if (alone(sync)) {
        return WEFT_OK;
    }
    if (sync->ops->settle != NULL) {
        WEFT_TRY(sync->ops->settle(sync, true));
    }
    int64_t bytes = sync->desc.elements * (int64_t)weft_dtype_bytes(sync->desc.dtype);
    WEFT_TRY(tune_reset(sync, false));
    WEFT_TRY(staging_values_in(sync));
    tracking_reset(sync);
    tracking_enter(sync);
    WEFT_TRY(comm_bcast(sync->comm, 0, sync->desc.value, bytes));
    tracking_leave(sync);
    WEFT_TRY(call(sync, sync->ops->reset, "sync reset"));
    return staging_values_out(sync);
}

weft_status sync_begin(comm_sync *sync, double lr, double weight)
{
    sync->lr = lr;
    sync->weight = weight;
    sync->step += 1;
    sync->diverged = -1;
    sync->figures.steps += 1;
    if (sync->desc.buckets > 0) {
        memset(sync->ready, 0, (size_t)sync->desc.buckets * sizeof *sync->ready);
    }
    return WEFT_OK;
}

int sync_tensor_of(const sync_desc *desc, int64_t element)
{
    int found = -1;
    for (int t = 0; t < desc->tensors; ++t) {
        if (desc->tensor[t].offset <= element && (found < 0 || desc->tensor[t].offset >= desc->tensor[found].offset)) {
            found = t;
        }
    }
    return found;
}

/* Infinities and NaN survive the multiplication by zero; finite values do not. Eight sums, so that they are added side
 * by side. */
static bool finite_f32(const float *x, int64_t count)
{
    float sum[8] = {0};
    int64_t i = 0;
    for (; i + 8 <= count; i += 8) {
        for (int j = 0; j < 8; ++j) {
            sum[j] += x[i + j] * 0.0f;
        }
    }
    for (; i < count; ++i) {
        sum[0] += x[i] * 0.0f;
    }
    for (int j = 1; j < 8; ++j) {
        sum[0] += sum[j];
    }
    return sum[0] == 0.0f;
}

static bool finite_f64(const double *x, int64_t count)
{
    double sum = 0;
    for (int64_t i = 0; i < count; ++i) {
        sum += x[i] * 0.0;
    }
    return sum == 0.0;
}

/* Elements that a thread is worth starting for. */
enum { SCAN_PART = 1 << 16 };

static bool all_finite(weft_dtype dtype, const void *x, int64_t count, int threads)
{
    const int64_t most = count / SCAN_PART > 1 ? count / SCAN_PART : 1;
    const int parts = threads < most ? threads : (int)most;
    int good = 0;
#pragma omp parallel for schedule(static) num_threads(parts) reduction(+ : good) if (parts > 1)
    for (int part = 0; part < parts; ++part) {
        const hal_span own = hal_split_rows(count, parts, part);
        good += dtype == WEFT_DTYPE_F64 ? finite_f64((const double *)x + own.begin, own.end - own.begin)
                                        : finite_f32((const float *)x + own.begin, own.end - own.begin);
    }
    return good == parts;
}

static bool is_finite(const sync_desc *desc, int64_t element)
{
    return desc->dtype == WEFT_DTYPE_F64 ? isfinite(((const double *)desc->grad)[element])
                                         : isfinite(((const float *)desc->grad)[element]);
}

void sync_blame(comm_sync *sync, int64_t element)
{
    const int tensor = sync_tensor_of(&sync->desc, element);
    if (sync->diverged < 0) {
        sync->diverged = tensor >= 0 ? tensor : sync->desc.tensors;
    }
}

void sync_admit(comm_sync *sync, int b, int threads)
{
    const sync_desc *desc = &sync->desc;
    const sync_bucket *bucket = &desc->bucket[b];
    size_t bytes = weft_dtype_bytes(desc->dtype);
    unsigned char *grad = (unsigned char *)desc->grad + (size_t)bucket->offset * bytes;
    bool zero = sync->weight == 0;
    if (!zero && !all_finite(desc->dtype, grad, bucket->count, threads)) {
        int64_t first = bucket->offset;
        while (is_finite(desc, first)) {
            ++first;
        }
        sync_blame(sync, first);
        zero = true;
    }
    if (zero) {
        memset(grad, 0, (size_t)bucket->count * bytes);
    }
}

/* A bucket as the mode takes it: here, or on the device, and finite. */
static weft_status take_in(comm_sync *sync, int bucket)
{
    if (sync->staging.stays) {
        return staging_admit(sync, bucket);
    }
    WEFT_TRY(staging_gradient_in(sync, bucket));
    if (!sync->admits_aside) {
        sync_admit(sync, bucket, sync->options.threads);
    }
    return WEFT_OK;
}

weft_status sync_ready(comm_sync *sync, int bucket)
{
    WEFT_CHECK(bucket >= 0 && bucket < sync->desc.buckets, WEFT_ERR_INTERNAL, "bucket %d of %d", bucket,
               sync->desc.buckets);
    if (alone(sync) || sync->ready[bucket]) {
        return WEFT_OK;
    }
    section s = section_begin();
    sync->ready[bucket] = true;
    weft_status status = take_in(sync, bucket);
    if (status == WEFT_OK && sync->ops->ready != NULL) {
        status = sync->ops->ready(sync, bucket);
    }
    section_end(sync, s, "sync ready");
    return status;
}

static weft_status scale_gradient(comm_sync *sync)
{
    const float ranks = (float)comm_size(sync->comm);
    if (sync->staging.stays) {
        return staging_scale(sync, ranks);
    }
    mode_scale(sync, sync->desc.grad, sync->desc.trained, ranks);
    return WEFT_OK;
}

weft_status sync_gradients(comm_sync *sync)
{
    if (alone(sync)) {
        return WEFT_OK;
    }
    for (int b = 0; b < sync->desc.buckets; ++b) {
        WEFT_TRY(sync_ready(sync, b));
    }
    if (sync->ops->local_updates && sync->ops->ready == NULL) {
        WEFT_TRY(scale_gradient(sync));
    }
    WEFT_TRY(call(sync, sync->ops->gradients, "sync gradients"));
    WEFT_TRY(staging_admitted(sync));
    tracking_update(sync);
    for (int b = 0; b < sync->desc.buckets; ++b) {
        WEFT_TRY(sync_owes(sync, b) ? WEFT_OK : staging_gradient_out(sync, b));
    }
    return WEFT_OK;
}

weft_status sync_parameters(comm_sync *sync)
{
    if (!sync_moves_parameters(sync)) {
        return WEFT_OK;
    }
    WEFT_TRY(staging_values_in(sync));
    WEFT_TRY(call(sync, sync->ops->parameters, "sync parameters"));
    return staging_values_out(sync);
}

bool sync_moves_parameters(const comm_sync *sync)
{
    return !alone(sync) && sync->ops->parameters != NULL;
}

bool sync_owes(const comm_sync *sync, int bucket)
{
    return !alone(sync) && sync->ops->owes != NULL && sync->ops->owes(sync, bucket);
}

weft_status sync_need(comm_sync *sync, int bucket)
{
    WEFT_CHECK(bucket >= 0 && bucket < sync->desc.buckets, WEFT_ERR_INTERNAL, "bucket %d of %d", bucket,
               sync->desc.buckets);
    if (!sync_owes(sync, bucket)) {
        return WEFT_OK;
    }
    section s = section_begin();
    weft_status status = sync->ops->need(sync, bucket);
    section_end(sync, s, "sync need");
    return status == WEFT_OK ? staging_gradient_out(sync, bucket) : status;
}

bool sync_diverged(const comm_sync *sync, const char **tensor)
{
    if (sync->diverged < 0) {
        return false;
    }
    *tensor = sync->diverged < sync->desc.tensors ? sync->desc.tensor[sync->diverged].name : "an unnamed tensor";
    return true;
}

/* ---- averages -------------------------------------------------------------------------------------------- */

/* What a rank adds to the square of the consensus distance, in the order of the elements. */
static double square_deviation(const float *own, const float *mean, int64_t count)
{
    double sum = 0;
    for (int64_t i = 0; i < count; ++i) {
        double d = (double)own[i] - (double)mean[i];
        sum += d * d;
    }
    return sum;
}

static void keep_part(void *argument, int64_t begin, int64_t end)
{
    const comm_sync *sync = argument;
    memcpy(sync->mean_buffer + begin, (const float *)sync->desc.value + begin, (size_t)(end - begin) * sizeof(float));
}

/* The sum becomes the mean and takes the place of this rank's own parameters, which go to the buffer. */
static void exchange_part(void *argument, int64_t begin, int64_t end)
{
    const comm_sync *sync = argument;
    const float ranks = (float)comm_size(sync->comm);
    float *value = sync->desc.value;
    float *mean = sync->mean_buffer;
    for (int64_t i = begin; i < end; ++i) {
        const float own = value[i];
        value[i] = mean[i] / ranks;
        mean[i] = own;
    }
}

static weft_status average(comm_sync *sync)
{
    assert(sync->mean != NULL && !sync->averaged);
    const int ranks = comm_size(sync->comm);
    mode_parallel(sync, sync->desc.elements, keep_part, sync);
    WEFT_TRY(comm_post(sync->mean));
    WEFT_TRY(comm_wait(sync->mean));
    mode_parallel(sync, sync->desc.elements, exchange_part, sync);
    double sum = square_deviation(sync->mean_buffer, sync->desc.value, sync->desc.trained);
    WEFT_TRY(comm_allreduce(sync->comm, &sum, 1, WEFT_DTYPE_F64, COMM_SUM));
    double entries = (double)ranks * (double)sync->desc.trained;
    sync->figures.distance = entries > 0 ? sqrt(sum / entries) : 0.0;
    sync->averaged = !sync->ops->average_stays;
    return WEFT_OK;
}

/* Replicas that differ have something to average. */
static bool differs(const comm_sync *sync)
{
    return !alone(sync) && sync->ops->local_updates && sync->desc.elements > 0;
}

weft_status sync_average(comm_sync *sync)
{
    if (!differs(sync) || sync->averaged) {
        return WEFT_OK;
    }
    WEFT_TRY(staging_values_in(sync));
    WEFT_TRY(call(sync, average, "sync average"));
    return staging_values_out(sync);
}

weft_status sync_resume(comm_sync *sync)
{
    if (sync->averaged) {
        memcpy(sync->desc.value, sync->mean_buffer, (size_t)sync->desc.elements * sizeof *sync->mean_buffer);
        tracking_leave(sync);
        sync->averaged = false;
        return staging_values_out(sync);
    }
    return WEFT_OK;
}

static weft_status settle(comm_sync *sync, bool last)
{
    if (alone(sync) || sync->ops->settle == NULL) {
        return WEFT_OK;
    }
    if (sync->ops->local_updates) {
        WEFT_TRY(staging_values_in(sync));
    }
    section s = section_begin();
    tracking_enter(sync);
    weft_status status = sync->ops->settle(sync, last);
    tracking_leave(sync);
    section_end(sync, s, "sync settle");
    return status == WEFT_OK && sync->ops->local_updates ? staging_values_out(sync) : status;
}

weft_status sync_finish(comm_sync *sync)
{
    WEFT_TRY(sync_resume(sync));
    WEFT_TRY(settle(sync, true));
    WEFT_TRY(sync_average(sync));
    sync->averaged = false;
    return WEFT_OK;
}

weft_status sync_agree_steps(weft_comm *comm, int64_t mine, int64_t *longest)
{
    WEFT_TRY(comm_allreduce(comm, &mine, 1, WEFT_DTYPE_I64, COMM_MAX));
    *longest = mine;
    return WEFT_OK;
}

/* ---- figures and state ------------------------------------------------------------------------------------ */

sync_figures sync_get_figures(const comm_sync *sync)
{
    return sync->figures;
}

sync_mode sync_running(const comm_sync *sync)
{
    return sync->mode;
}

sync_tracking sync_running_tracking(const comm_sync *sync)
{
    return sync->tracker.kind;
}

int sync_period(const comm_sync *sync)
{
    return alone(sync) || sync->ops->period == NULL ? 1 : sync->ops->period(sync);
}

weft_status sync_state(comm_sync *sync, const sync_buffer **buffer, int *count)
{
    for (int b = 0; b < sync->desc.buckets; ++b) {
        WEFT_CHECK(!sync_owes(sync, b), WEFT_ERR_INTERNAL, "the state is asked for while bucket %d is owed", b);
    }
    WEFT_TRY(sync_resume(sync));
    WEFT_TRY(settle(sync, false));
    sync->buffer[0] = (sync_buffer){.name = "step", .data = &sync->step, .bytes = (int64_t)sizeof sync->step};
    *count = 1 + tracking_state(sync, sync->buffer + 1);
    *count += tune_state(sync, sync->buffer + *count);
    if (!alone(sync) && sync->ops->state != NULL) {
        *count += sync->ops->state(sync, sync->buffer + *count);
    }
    *buffer = sync->buffer;
    return WEFT_OK;
}

/* ---- from checkpoints -------------------------------------------------------------------------------------- */

weft_status sync_check_range(const comm_sync *sync, const char *name, int64_t value, int64_t low, int64_t high)
{
    WEFT_CHECK(value >= low && value <= high, WEFT_ERR_DATA, "damaged: %s of sync %s is %lld, expected %lld to %lld",
               name, sync->ops->name, (long long)value, (long long)low, (long long)high);
    return WEFT_OK;
}

weft_status sync_check_alike(const comm_sync *sync, const char *names, const int64_t *value, int count)
{
    int64_t bounds[2 * SYNC_ALIKE]; /* the largest of each, and the complement of the least */
    assert(count <= SYNC_ALIKE);
    for (int i = 0; i < count; ++i) {
        bounds[i] = value[i];
        bounds[count + i] = ~value[i];
    }
    WEFT_TRY(comm_allreduce(sync->comm, bounds, 2 * (int64_t)count, WEFT_DTYPE_I64, COMM_MAX));
    for (int i = 0; i < count; ++i) {
        WEFT_CHECK(bounds[i] == ~bounds[count + i], WEFT_ERR_DATA,
                   "damaged: the ranks' files do not agree on %s of sync %s: %lld to %lld", names, sync->ops->name,
                   (long long)~bounds[count + i], (long long)bounds[i]);
    }
    return WEFT_OK;
}

static weft_status check_restored(comm_sync *sync)
{
    WEFT_TRY(comm_agree(sync->comm, sync_check_range(sync, "the step", sync->step, 0, SYNC_STEPS_LIMIT)));
    WEFT_TRY(sync_check_alike(sync, "the step", &sync->step, 1));
    WEFT_TRY(tune_restored(sync));
    return !alone(sync) && sync->ops->restored != NULL ? sync->ops->restored(sync) : WEFT_OK;
}

weft_status sync_restored(comm_sync *sync)
{
    const weft_status status = check_restored(sync);
    if (status == WEFT_ERR_DATA) { /* nothing of it is used, not even by what ends the mode */
        sync->step = 0;
        tracking_reset(sync);
        WEFT_TRY(tune_reset(sync, false));
        WEFT_TRY(!alone(sync) ? call(sync, sync->ops->reset, "sync reset") : WEFT_OK);
        return status;
    }
    return status;
}
