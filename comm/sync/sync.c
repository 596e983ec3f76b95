/*
 * comm/sync/sync.c: what all synchronisation modes share: checks, dispatch, the scan for values that are not finite,
 * full averages, state and figures.
 *
 * A bucket is scanned when it is handed in, before its reduction may change it: one read pass over the gradient, which
 * the reduction is about to read anyway.
 */
#include "comm/sync/sync.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/trace.h"
#include "comm/comm_internal.h"

static const char *const mode_names[] = {"allreduce", "topk", "divide-shuffle", "shadow", "asp", "auto"};

static const sync_ops *const mode_ops[SYNC_AUTO] = {
    [SYNC_ALLREDUCE] = &sync_allreduce_ops,
    [SYNC_TOPK] = &sync_topk_ops,
    [SYNC_DIVIDE_SHUFFLE] = &sync_divide_shuffle_ops,
    [SYNC_SHADOW] = &sync_shadow_ops,
    [SYNC_ASP] = &sync_asp_ops,
};

const char *sync_mode_name(sync_mode mode)
{
    return mode >= 0 && mode <= SYNC_AUTO ? mode_names[mode] : "unknown";
}

sync_options sync_options_default(void)
{
    return (sync_options){.mode = SYNC_ALLREDUCE,
                          .algorithm = COMM_ALGO_AUTO,
                          .wire = COMM_WIRE_SAME,
                          .overlap = OVERLAP_BACKWARD,
                          .bucket_bytes = (int64_t)25 << 20,
                          .density = 0.01,
                          .select = {.method = SELECT_RADIX, .samplings = 30, .refresh = 32, .threads = 1},
                          .exchange = SPARSE_AUTO,
                          .dense_below = 1024,
                          .group = 2,
                          .shadow = SHADOW_MA,
                          .mix = 0.5,
                          .block_rate = 1.0,
                          .threshold = 0.01,
                          .policy = ASP_LEARNING_RATE,
                          .bandwidth = 10.0 * 0x1p20};
}

/* ---- creation ------------------------------------------------------------------------------------------- */

static int compare_buckets(const void *a, const void *b)
{
    const sync_bucket *x = a;
    const sync_bucket *y = b;
    return (x->offset > y->offset) - (x->offset < y->offset);
}

/* Buckets tile the gradient; `sorted` is work space. */
static weft_status check_buckets(const sync_desc *desc, sync_bucket *sorted)
{
    int64_t end = 0;
    if (desc->buckets > 0) {
        memcpy(sorted, desc->bucket, (size_t)desc->buckets * sizeof *sorted);
        qsort(sorted, (size_t)desc->buckets, sizeof *sorted, compare_buckets);
    }
    for (int b = 0; b < desc->buckets; ++b) {
        WEFT_CHECK(sorted[b].offset == end && sorted[b].count > 0 && sorted[b].count <= desc->trained - end,
                   WEFT_ERR_INTERNAL,
                   "buckets must tile the gradient of %lld elements: one of %lld at %lld where %lld is expected",
                   (long long)desc->trained, (long long)sorted[b].count, (long long)sorted[b].offset, (long long)end);
        end += sorted[b].count;
    }
    WEFT_CHECK(end == desc->trained, WEFT_ERR_INTERNAL, "%d buckets cover %lld of %lld elements of the gradient",
               desc->buckets, (long long)end, (long long)desc->trained);
    return WEFT_OK;
}

static weft_status copy_desc(comm_sync *sync, const sync_desc *desc)
{
    sync_bucket *bucket = NULL;
    sync_tensor *tensor = NULL;
    sync->desc = *desc;
    sync->desc.bucket = NULL;
    sync->desc.tensor = NULL;
    WEFT_TRY(WEFT_NEW(&bucket, desc->buckets, WEFT_MEM_COMM));
    sync->desc.bucket = bucket;
    WEFT_TRY(check_buckets(desc, bucket));
    if (desc->buckets > 0) {
        memcpy(bucket, desc->bucket, (size_t)desc->buckets * sizeof *bucket);
    }
    WEFT_TRY(WEFT_NEW(&tensor, desc->tensors, WEFT_MEM_COMM));
    sync->desc.tensor = tensor;
    if (desc->tensors > 0) {
        memcpy(tensor, desc->tensor, (size_t)desc->tensors * sizeof *tensor);
    }
    WEFT_TRY(WEFT_NEW_ZERO(&sync->ready, desc->buckets, WEFT_MEM_COMM));
    return WEFT_NEW_ZERO(&sync->buffer, SYNC_BUFFERS + SYNC_BUFFERS_EACH * (int64_t)desc->buckets, WEFT_MEM_COMM);
}

static weft_status check_desc(const sync_desc *desc, const sync_options *options)
{
    WEFT_CHECK(desc->dtype == WEFT_DTYPE_F32 || desc->dtype == WEFT_DTYPE_F64, WEFT_ERR_UNSUPPORTED,
               "gradients of %s are not synchronised: use float32 or float64", weft_dtype_name(desc->dtype));
    WEFT_CHECK(desc->trained >= 0 && desc->elements >= desc->trained && desc->buckets >= 0 && desc->tensors >= 0,
               WEFT_ERR_INTERNAL, "%lld trained of %lld elements in %d buckets, %d tensors", (long long)desc->trained,
               (long long)desc->elements, desc->buckets, desc->tensors);
    WEFT_CHECK(options->mode >= 0 && options->mode <= SYNC_AUTO, WEFT_ERR_INTERNAL, "synchronisation mode %d of %d",
               (int)options->mode, (int)SYNC_AUTO);
    WEFT_CHECK(desc->dtype == WEFT_DTYPE_F32 || options->mode == SYNC_ALLREDUCE || options->mode == SYNC_AUTO,
               WEFT_ERR_UNSUPPORTED, "--sync %s needs float32 gradients, these are %s: use --sync allreduce",
               sync_mode_name(options->mode), weft_dtype_name(desc->dtype));
    return WEFT_OK;
}

/* One rank has no use for a mode; float64 has one. */
static weft_status choose_mode(comm_sync *sync)
{
    bool single = comm_size(sync->comm) == 1 || sync->desc.dtype != WEFT_DTYPE_F32;
    sync->mode = single ? SYNC_ALLREDUCE : sync->options.mode;
    if (sync->mode == SYNC_AUTO) {
        WEFT_TRY(sync_choose(sync, &sync->mode));
    }
    sync->ops = mode_ops[sync->mode];
    return WEFT_OK;
}

/* The ranks run the same mode over the same buckets, or none does. */
static weft_status check_same(const comm_sync *sync)
{
    char text[OPERATION_NAME_BYTES];
    uint64_t hash = 0xcbf29ce484222325u; /* FNV-1a over the buckets' borders */
    for (int b = 0; b < sync->desc.buckets; ++b) {
        hash = (hash ^ (uint64_t)sync->desc.bucket[b].offset) * 0x100000001b3u;
        hash = (hash ^ (uint64_t)sync->desc.bucket[b].count) * 0x100000001b3u;
    }
    snprintf(text, sizeof text, "synchronisation %s of %" PRId64 " + %" PRId64 " %s in %d buckets (%016" PRIx64 ")",
             sync->ops->name, sync->desc.trained, sync->desc.elements - sync->desc.trained,
             weft_dtype_name(sync->desc.dtype), sync->desc.buckets, hash);
    return comm_check_same(sync->comm, text);
}

static weft_status create_mean(comm_sync *sync)
{
    WEFT_TRY(comm_agree(sync->comm, WEFT_NEW(&sync->mean_buffer, sync->desc.elements, WEFT_MEM_COMM)));
    const comm_allreduce_desc desc = {.lane = COMM_LANE_GRADIENT,
                                      .algorithm = sync->options.algorithm,
                                      .dtype = WEFT_DTYPE_F32,
                                      .op = COMM_SUM,
                                      .count = sync->desc.elements,
                                      .buffer = sync->mean_buffer,
                                      .name = "mean of all parameters"};
    return comm_allreduce_plan(sync->comm, &desc, &sync->mean);
}

static weft_status prepare(comm_sync *sync, const sync_desc *desc)
{
    WEFT_TRY(check_desc(desc, &sync->options));
    return copy_desc(sync, desc);
}

weft_status sync_create(weft_comm *comm, const sync_options *options, const sync_desc *desc, comm_sync **out)
{
    weft_status status = WEFT_OK;
    comm_sync *sync = NULL;
    *out = NULL;
    WEFT_TRY_GOTO(comm_agree(comm, WEFT_NEW_ZERO(&sync, 1, WEFT_MEM_COMM)), status, done);
    sync->comm = comm;
    sync->options = *options;
    sync->diverged = -1;
    sync->figures.density = 1.0;
    sync->figures.gap = 1.0;
    WEFT_TRY_GOTO(comm_agree(comm, prepare(sync, desc)), status, done);
    WEFT_TRY_GOTO(choose_mode(sync), status, done);
    WEFT_TRY_GOTO(check_same(sync), status, done);
    if (comm_size(comm) > 1) {
        if (sync->ops->create != NULL) {
            WEFT_TRY_GOTO(comm_agree(comm, sync->ops->create(sync)), status, done);
        }
        if (sync->ops->local_updates) {
            WEFT_TRY_GOTO(create_mean(sync), status, done);
        }
    }
    sync->options.topology = NULL;
    sync->options.sites = NULL;
    *out = sync;
    sync = NULL;
done:
    sync_destroy(sync);
    return status;
}

void sync_destroy(comm_sync *sync)
{
    if (sync == NULL) {
        return;
    }
    if (sync->ops != NULL && sync->ops->destroy != NULL) {
        sync->ops->destroy(sync);
    }
    comm_plan_destroy(sync->mean);
    weft_free(sync->mean_buffer);
    weft_free(sync->ready);
    weft_free(sync->buffer);
    weft_free((void *)(uintptr_t)sync->desc.bucket);
    weft_free((void *)(uintptr_t)sync->desc.tensor);
    weft_free(sync);
}

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
    weft_status status = fn(sync);
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
    WEFT_TRY(comm_bcast(sync->comm, 0, sync->desc.value, bytes));
    return call(sync, sync->ops->reset, "sync reset");
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

/* Which tensor is to blame: called for a bucket that is known to be bad. */
static int first_bad_tensor(const sync_desc *desc, const sync_bucket *bucket)
{
    for (int64_t i = bucket->offset; i < bucket->offset + bucket->count; ++i) {
        double value =
            desc->dtype == WEFT_DTYPE_F64 ? ((const double *)desc->grad)[i] : (double)((const float *)desc->grad)[i];
        if (!isfinite(value)) {
            return sync_tensor_of(desc, i);
        }
    }
    return -1;
}

/* A bucket that is not finite, or of a rank without data, takes part as zeros. */
static void admit(comm_sync *sync, int b)
{
    const sync_desc *desc = &sync->desc;
    const sync_bucket *bucket = &desc->bucket[b];
    size_t bytes = weft_dtype_bytes(desc->dtype);
    unsigned char *grad = (unsigned char *)desc->grad + (size_t)bucket->offset * bytes;
    bool zero = sync->weight == 0;
    if (!zero) {
        bool finite = desc->dtype == WEFT_DTYPE_F64 ? finite_f64((const double *)(const void *)grad, bucket->count)
                                                    : finite_f32((const float *)(const void *)grad, bucket->count);
        if (!finite) {
            int tensor = first_bad_tensor(desc, bucket);
            sync->diverged = sync->diverged >= 0 ? sync->diverged : (tensor >= 0 ? tensor : desc->tensors);
            zero = true;
        }
    }
    if (zero) {
        memset(grad, 0, (size_t)bucket->count * bytes);
    }
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
    admit(sync, bucket);
    weft_status status = sync->ops->ready != NULL ? sync->ops->ready(sync, bucket) : WEFT_OK;
    section_end(sync, s, "sync ready");
    return status;
}

static void scale_gradient(comm_sync *sync)
{
    float *grad = sync->desc.grad;
    float ranks = (float)comm_size(sync->comm);
    for (int64_t i = 0; i < sync->desc.trained; ++i) {
        grad[i] *= ranks;
    }
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
        scale_gradient(sync);
    }
    return call(sync, sync->ops->gradients, "sync gradients");
}

weft_status sync_parameters(comm_sync *sync)
{
    return alone(sync) ? WEFT_OK : call(sync, sync->ops->parameters, "sync parameters");
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
    return status;
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

/* Mean square deviation over the trained parameters: what a rank adds to the consensus distance. */
static double square_deviation(const float *own, const float *mean, int64_t count)
{
    double sum = 0;
    for (int64_t i = 0; i < count; ++i) {
        double d = (double)own[i] - (double)mean[i];
        sum += d * d;
    }
    return sum;
}

static weft_status average(comm_sync *sync)
{
    float *value = sync->desc.value;
    float *mean = sync->mean_buffer;
    int64_t elements = sync->desc.elements;
    int ranks = comm_size(sync->comm);
    memcpy(mean, value, (size_t)elements * sizeof *mean);
    WEFT_TRY(comm_post(sync->mean));
    WEFT_TRY(comm_wait(sync->mean));
    for (int64_t i = 0; i < elements; ++i) {
        float own = value[i];
        value[i] = mean[i] / (float)ranks;
        mean[i] = own;
    }
    double sum = square_deviation(mean, value, sync->desc.trained);
    WEFT_TRY(comm_allreduce(sync->comm, &sum, 1, WEFT_DTYPE_F64, COMM_SUM));
    double entries = (double)ranks * (double)sync->desc.trained;
    sync->figures.distance = entries > 0 ? sqrt(sum / entries) : 0.0;
    sync->averaged = !sync->ops->average_stays;
    return WEFT_OK;
}

weft_status sync_average(comm_sync *sync)
{
    if (alone(sync) || !sync->ops->local_updates || sync->averaged || sync->desc.elements == 0) {
        return WEFT_OK;
    }
    return call(sync, average, "sync average");
}

weft_status sync_resume(comm_sync *sync)
{
    if (sync->averaged) {
        memcpy(sync->desc.value, sync->mean_buffer, (size_t)sync->desc.elements * sizeof *sync->mean_buffer);
        sync->averaged = false;
    }
    return WEFT_OK;
}

static weft_status settle(comm_sync *sync, bool last)
{
    if (alone(sync) || sync->ops->settle == NULL) {
        return WEFT_OK;
    }
    section s = section_begin();
    weft_status status = sync->ops->settle(sync, last);
    section_end(sync, s, "sync settle");
    return status;
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

weft_status sync_state(comm_sync *sync, const sync_buffer **buffer, int *count)
{
    for (int b = 0; b < sync->desc.buckets; ++b) {
        WEFT_CHECK(!sync_owes(sync, b), WEFT_ERR_INTERNAL, "the state is asked for while bucket %d is owed", b);
    }
    WEFT_TRY(sync_resume(sync));
    WEFT_TRY(settle(sync, false));
    sync->buffer[0] = (sync_buffer){.name = "step", .data = &sync->step, .bytes = (int64_t)sizeof sync->step};
    *count = 1;
    if (!alone(sync) && sync->ops->state != NULL) {
        *count += sync->ops->state(sync, sync->buffer + 1);
    }
    *buffer = sync->buffer;
    return WEFT_OK;
}
