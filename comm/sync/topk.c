/*
 * comm/sync/topk.c: the largest gradients are summed over all ranks now, the rest waits its turn.
 *
 *      bucket   | W (selected from) | b | gamma | W' (selected from) |        small and 1-D tensors go whole,
 *                        |            \     |             |                   together, in one all-reduce a step
 *                   sparse_plan        side buffer    (same plan)
 *
 * A bucket is exchanged where it lies: its small tensors are moved aside and leave zeros, which are never among the
 * largest. What is not sent stays in the plan's residual (comm/sparse).
 *
 * Momentum correction: the velocity u = m u + g is kept here, on each rank, and it is u that is selected from and
 * accumulated. The optimiser then applies plain sums, and weight decay as strong as a velocity of its own would make it
 * (decay_momentum in train/optimizer.h). What is sent in the end adds up to what momentum itself would have applied.
 * Tensors that go whole have one velocity, of the sum, the same on all ranks.
 *
 * Factor masking, by option: where this rank selected and sent, its velocity starts anew, as DGC has it for densities
 * of a thousandth. An element that is sent often has hardly any momentum then, so that 6 % lose more than 1 % do
 * (docs/howto-skew.md has figures).
 *
 * A bucket of which everything is sent (density 1, or past the break-even of comm/sparse) holds nothing back: its
 * velocity stays, and the sum of the ranks' velocities is the velocity of the sum. The step is that of all-reduce then.
 *
 * Values that are selected travel as bfloat16 where gradients may be rounded on the wire, and in 4 bits under the skew
 * guard: what rounding takes away stays in the residual, so that nothing is lost and replicas stay equal.
 *
 * Warm-up: the density falls exponentially from 1/4 to its value.
 *
 *   Y. Lin, S. Han, H. Mao, Y. Wang, W. Dally: Deep gradient compression: reducing the communication bandwidth for
 *   distributed training. ICLR 2018, arXiv 1712.01887.
 *
 * Memory: a velocity of the whole gradient with momentum, the side buffer, and what comm/sparse keeps for each bucket.
 */
#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/integer/integers.h"
#include "base/log.h"
#include "comm/comm_options.def"
#include "comm/core/comm_internal.h"
#include "comm/core/device_mark.h"
#include "comm/core/mirror.h"
#include "comm/sync/predict.h"
#include "comm/sync/sync_mode.h"

#define WARMUP_DENSITY 0.25

/* A run of a bucket that is selected from, or one that goes whole and stands at `side` of the side buffer. */
typedef struct topk_run {
    int64_t offset, count;
    int64_t side; /* -1: selected from */
} topk_run;

typedef struct topk_bucket {
    sparse_plan *plan;    /* NULL: everything goes whole */
    int64_t count;        /* elements of the bucket */
    int64_t selected;     /* of those, the ones that are selected from */
    int first_run, runs;  /* of topk.run */
    bool waiting, posted; /* handed in; under way */
    double start;
} topk_bucket;

typedef struct topk {
    topk_bucket *bucket; /* [buckets] */
    int buckets;
    topk_run *run;
    int runs;
    float *velocity; /* [trained], or NULL: none, or on a device */
    weft_hal *hal;   /* gradients and velocity lie on this device, sync->staging.grad; NULL: in host memory */
    comm_mirror device_velocity; /* [trained] */
    float *side;                 /* [whole] */
    int64_t whole;               /* elements of tensors that go whole */
    hal_event *aside;            /* of hal: behind the copies into the side buffer */
    comm_plan *dense;
    bool dense_posted;
    bool told; /* how much a step sends */
} topk;

/* ---- creation -------------------------------------------------------------------------------------------- */

static bool goes_whole(const sync_options *options, const sync_tensor *tensor)
{
    return tensor->rows <= 1 || tensor->cols <= 1 || tensor->rows * tensor->cols < options->topk.dense_below;
}

/* Returns true if some tensor is large enough to be selected from. */
static bool selects(const comm_sync *sync)
{
    bool found = false;
    for (int i = 0; i < sync->desc.tensors; ++i) {
        found = found || !goes_whole(&sync->options, &sync->desc.tensor[i]);
    }
    return found;
}

/* Elements of a tensor that lie in a bucket, at most 0: none. [out] from: the first of them. */
static int64_t shared_elements(const sync_tensor *tensor, const sync_bucket *bucket, int64_t *from)
{
    *from = larger(tensor->offset, bucket->offset);
    return smaller(tensor->offset + tensor->rows * tensor->cols, bucket->offset + bucket->count) - *from;
}

static int compare_runs(const void *a, const void *b)
{
    const topk_run *x = a;
    const topk_run *y = b;
    return (x->offset > y->offset) - (x->offset < y->offset);
}

static void add_run(topk *t, topk_bucket *bucket, int64_t offset, int64_t count, bool whole)
{
    t->run[t->runs++] = (topk_run){.offset = offset, .count = count, .side = whole ? t->whole : -1};
    t->whole += whole ? count : 0;
    bucket->selected += whole ? 0 : count;
    bucket->runs += 1;
}

/* The bucket as runs in order; `found` is work space for its tensors that go whole. */
static weft_status cut_bucket(const comm_sync *sync, topk *t, int b, topk_run *found)
{
    const sync_bucket *bucket = &sync->desc.bucket[b];
    topk_bucket *out = &t->bucket[b];
    int64_t end = bucket->offset + bucket->count;
    int count = 0;
    for (int i = 0; i < sync->desc.tensors; ++i) {
        int64_t from;
        const int64_t shared = shared_elements(&sync->desc.tensor[i], bucket, &from);
        if (shared > 0 && goes_whole(&sync->options, &sync->desc.tensor[i])) {
            found[count++] = (topk_run){.offset = from, .count = shared, .side = 0};
        }
    }
    int64_t at = bucket->offset;
    out->count = bucket->count;
    out->first_run = t->runs;
    if (!selects(sync)) { /* gaps between tensors hold nothing to select */
        add_run(t, out, at, bucket->count, true);
        return WEFT_OK;
    }
    qsort(found, (size_t)count, sizeof *found, compare_runs);
    for (int i = 0; i < count; ++i) {
        WEFT_CHECK(found[i].offset >= at, WEFT_ERR_INTERNAL, "tensors overlap at element %lld of the gradient",
                   (long long)found[i].offset);
        if (found[i].offset > at) {
            add_run(t, out, at, found[i].offset - at, false);
        }
        add_run(t, out, found[i].offset, found[i].count, true);
        at = found[i].offset + found[i].count;
    }
    if (at < end) {
        add_run(t, out, at, end - at, false);
    }
    return WEFT_OK;
}

static weft_status allocate_side(topk *t)
{
    if (t->hal == NULL) {
        return WEFT_NEW_ZERO(&t->side, t->whole, WEFT_MEM_COMM);
    }
    WEFT_TRY(t->hal->stream.create(t->hal, &t->aside));
    return t->hal->mem.alloc_host(t->hal, (size_t)t->whole * sizeof *t->side, WEFT_MEM_COMM, (void **)&t->side);
}

static void free_side(topk *t)
{
    if (t->hal == NULL) {
        weft_free(t->side);
        return;
    }
    if (t->side != NULL) {
        t->hal->mem.free_host(t->hal, t->side);
    }
    if (t->aside != NULL) {
        t->hal->stream.destroy(t->hal, t->aside);
    }
}

static weft_status allocate(comm_sync *sync)
{
    weft_status status = WEFT_OK;
    const sync_desc *desc = &sync->desc;
    topk_run *found = NULL;
    topk *t = NULL;
    WEFT_TRY(WEFT_NEW_ZERO(&t, 1, WEFT_MEM_COMM));
    sync->self = t;
    WEFT_TRY(WEFT_NEW_ZERO(&t->bucket, desc->buckets, WEFT_MEM_COMM));
    t->buckets = desc->buckets;
    /* A tensor that goes whole adds itself and what follows; borders of buckets cut it further. */
    WEFT_TRY(WEFT_NEW(&t->run, 2 * ((int64_t)desc->tensors + desc->buckets) + desc->buckets, WEFT_MEM_COMM));
    WEFT_TRY(WEFT_NEW(&found, (int64_t)desc->tensors + 1, WEFT_MEM_WORKSPACE));
    for (int b = 0; b < desc->buckets; ++b) {
        WEFT_TRY_GOTO(cut_bucket(sync, t, b, found), status, done);
    }
    if (sync->staging.everywhere &&
        sparse_fits_device(sync->options.topk.exchange, sync->options.topk.select.method, sync->options.topk.values)) {
        t->hal = desc->hal;
        sync->staging.stays = true;
    }
    if (sync->options.topk.momentum > 0 && t->hal != NULL) {
        WEFT_TRY_GOTO(mirror_create(t->hal, desc->trained, &t->device_velocity), status, done);
    } else if (sync->options.topk.momentum > 0) {
        WEFT_TRY_GOTO(WEFT_NEW_ZERO(&t->velocity, desc->trained, WEFT_MEM_COMM), status, done);
    }
    WEFT_TRY_GOTO(allocate_side(t), status, done);
done:
    weft_free(found);
    return status;
}

/* Of a bucket of `count` elements; all there is (the zeros that tensors left included) once nothing is held back. */
static int64_t part_of(int64_t selected, int64_t count, double density)
{
    assert(selected <= count && density >= 0.0);
    double k = ceil(density * (double)selected);
    return k < (double)selected ? (int64_t)k : count;
}

static int64_t count_to_send(const topk_bucket *bucket, double density)
{
    return part_of(bucket->selected, bucket->count, density);
}

static double density_of_step(const sync_options *options, int64_t step)
{
    if (step > options->topk.warmup || options->topk.density >= WARMUP_DENSITY) {
        return options->topk.density;
    }
    double part = (double)(step - 1) / (double)options->topk.warmup;
    return WARMUP_DENSITY * pow(options->topk.density / WARMUP_DENSITY, part);
}

/* Of buckets that are whole, which is the most: fewer are selected from where tensors go whole. */
sync_device_need sync_topk_on_device(const sync_options *options, const weft_hal *hal, int64_t trained, int64_t longest)
{
    const int64_t bucket = longest < trained ? longest : trained;
    /* Two in a row hold more than one has room for; each may send an element more than its part. */
    const int64_t buckets = bucket > 0 ? 2 * trained / bucket + 1 : 0;
    const double density = density_of_step(options, 1);
    const uint64_t velocity = options->topk.momentum > 0 ? mirror_bytes(trained) : 0;
    const uint64_t whole = sparse_device_bytes(&options->topk.select, trained, part_of(trained, trained, density));
    const uint64_t rounded = (uint64_t)buckets * sparse_device_bytes(&options->topk.select, 0, 0);
    sync_device_need need = {.kept = velocity + whole + rounded};
    const hal_scratch_shape selection = {.op = HAL_OP_select_largest,
                                         .dtype = WEFT_DTYPE_F32,
                                         .rows = 1,
                                         .cols = bucket,
                                         .selected = part_of(bucket, bucket, density)};
    hal_scratch_ask(hal, &selection, &need.scratch);
    return need;
}

static float *device_grad(const comm_sync *sync, int64_t offset)
{
    return (float *)sync->staging.grad + offset;
}

static weft_status plan_bucket(comm_sync *sync, int b, topk_bucket *out)
{
    const topk *t = sync->self;
    const sync_bucket *bucket = &sync->desc.bucket[b];
    if (out->selected == 0) {
        return WEFT_OK;
    }
    select_options select = sync->options.topk.select;
    select.threads = sync->options.threads;
    const sparse_desc desc = {.lane = COMM_LANE_GRADIENT,
                              .exchange = sync->options.topk.exchange,
                              .preferred = sync->options.topk.preferred,
                              .select = select,
                              .count = bucket->count,
                              .most = count_to_send(out, density_of_step(&sync->options, 1)),
                              .values = sync->options.topk.values,
                              .buffer = (float *)sync->desc.grad + bucket->offset,
                              .hal = t->hal,
                              .device = t->hal != NULL ? device_grad(sync, bucket->offset) : NULL};
    return sparse_create(sync->comm, &desc, &out->plan);
}

/* Whether the side buffer holds what was put aside on the device. */
static weft_status side_is_here(void *argument, bool *done)
{
    const topk *t = argument;
    return device_mark_reached(t->hal, t->aside, done);
}

static weft_status plan_dense(comm_sync *sync, topk *t)
{
    if (t->whole == 0) {
        return WEFT_OK;
    }
    const comm_allreduce_desc desc = {.lane = COMM_LANE_GRADIENT,
                                      .algorithm = sync->options.algorithm,
                                      .preferred = sync->options.preferred,
                                      .dtype = WEFT_DTYPE_F32,
                                      .op = COMM_SUM,
                                      .count = t->whole,
                                      .buffer = t->side,
                                      .wire = sync->options.wire,
                                      .name = "small tensors",
                                      .before = t->hal != NULL ? side_is_here : NULL,
                                      .argument = t};
    return comm_allreduce_plan(sync->comm, &desc, &t->dense);
}

/* The part of the gradient that a step of this density sends: tensors that go whole, what is selected, whole
 * buckets. */
static double part_sent(const comm_sync *sync, double density)
{
    const topk *t = sync->self;
    int64_t sent = t->whole;
    for (int b = 0; b < t->buckets; ++b) {
        const topk_bucket *bucket = &t->bucket[b];
        const int64_t k = count_to_send(bucket, density);
        const bool all = bucket->plan == NULL || sparse_sends_everything(bucket->plan, k) || k > bucket->selected;
        sent += all ? bucket->selected : k;
    }
    return sync->desc.trained > 0 ? (double)sent / (double)sync->desc.trained : 0.0;
}

/* Why no step selects: every bucket goes whole at the density that warm-up ends in, the lowest there is. NULL: some
 * step does. */
static const char *idle(const comm_sync *sync)
{
    const topk *t = sync->self;
    const sync_options *options = &sync->options;
    for (int b = 0; b < t->buckets; ++b) {
        const topk_bucket *bucket = &t->bucket[b];
        if (bucket->plan != NULL &&
            !sparse_sends_everything(bucket->plan, count_to_send(bucket, options->topk.density))) {
            return NULL;
        }
    }
    return options->topk.density >= 1.0 ? FLAG_TOPK_DENSITY " is 1"
           : t->whole == sync->desc.trained
               ? "no tensor reaches " FLAG_TOPK_DENSE_BELOW
               : "a dense all-reduce is predicted to be faster here than a selection; " FLAG_TOPK_EXCHANGE
                 " hierarchical selects";
}

static weft_status create(comm_sync *sync)
{
    WEFT_TRY(comm_agree(sync->comm, allocate(sync)));
    topk *t = sync->self;
    for (int b = 0; b < t->buckets; ++b) {
        WEFT_TRY(plan_bucket(sync, b, &t->bucket[b]));
    }
    return plan_dense(sync, t);
}

/* After the first step, as a guard sets the density behind create. */
static void tell_density(const comm_sync *sync, topk *t)
{
    if (!t->told && idle(sync) == NULL) {
        log_info("sync topk: a step sends %.3g %% of the gradient: %g %% of what is selected from, small tensors whole",
                 100.0 * part_sent(sync, sync->options.topk.density), 100.0 * sync->options.topk.density);
    }
    t->told = true;
}

static void destroy(comm_sync *sync)
{
    topk *t = sync->self;
    if (t == NULL) {
        return;
    }
    for (int b = 0; b < t->buckets; ++b) {
        sparse_destroy(t->bucket[b].plan);
    }
    comm_plan_destroy(t->dense);
    WEFT_FREE_ALL(t->bucket, t->run, t->velocity);
    mirror_free(&t->device_velocity);
    free_side(t);
    weft_free(t);
    sync->self = NULL;
}

/* ---- a step ---------------------------------------------------------------------------------------------- */

/* u = m u + g, and u is what is sent of. */
static void accumulate(float *velocity, float *grad, float momentum, int64_t count)
{
    for (int64_t i = 0; i < count; ++i) {
        velocity[i] = momentum * velocity[i] + grad[i];
        grad[i] = velocity[i];
    }
}

/* The same on the device, rounded in the same two places. */
static weft_status accumulate_on_device(const comm_sync *sync, topk *t, const topk_run *run)
{
    weft_hal *hal = t->hal;
    WEFT_TRY(mirror_to_device(&t->device_velocity));
    const hal_mat u = hal_row_of(t->device_velocity.device + run->offset, WEFT_DTYPE_F32, run->count);
    const hal_mat g = hal_row_of(device_grad(sync, run->offset), WEFT_DTYPE_F32, run->count);
    const hal_axpby_args decay = {.x = u, .y = u, .alpha = (float)sync->options.topk.momentum, .beta = 0.0};
    const hal_reduce_args add = {.left = u, .right = g, .to = u, .reduction = HAL_SUM};
    WEFT_TRY(hal_axpby(hal, &decay));
    WEFT_TRY(hal_reduce(hal, &add));
    return hal->mem.copy(hal, g.data, u.data, (size_t)run->count * sizeof(float));
}

static weft_status accumulate_run(const comm_sync *sync, topk *t, const topk_run *run)
{
    if (sync->options.topk.momentum <= 0) {
        return WEFT_OK;
    }
    if (t->hal != NULL) {
        return accumulate_on_device(sync, t, run);
    }
    accumulate(t->velocity + run->offset, (float *)sync->desc.grad + run->offset, (float)sync->options.topk.momentum,
               run->count);
    return WEFT_OK;
}

/* A run that goes whole moves to the side buffer and leaves zeros. */
static weft_status put_aside(const comm_sync *sync, topk *t, const topk_run *run)
{
    weft_hal *hal = t->hal;
    const size_t bytes = (size_t)run->count * sizeof *t->side;
    if (hal != NULL) {
        WEFT_TRY(hal->mem.download_async(hal, t->side + run->side, device_grad(sync, run->offset), bytes));
        return hal->mem.zero(hal, device_grad(sync, run->offset), bytes);
    }
    float *grad = (float *)sync->desc.grad + run->offset;
    memcpy(t->side + run->side, grad, bytes);
    memset(grad, 0, bytes);
    return WEFT_OK;
}

static weft_status pack(const comm_sync *sync, topk *t, const topk_bucket *bucket)
{
    for (int i = bucket->first_run; i < bucket->first_run + bucket->runs; ++i) {
        const topk_run *run = &t->run[i];
        WEFT_TRY(run->side >= 0 ? put_aside(sync, t, run) : accumulate_run(sync, t, run));
    }
    return WEFT_OK;
}

static weft_status post(comm_sync *sync, topk_bucket *bucket)
{
    bucket->waiting = false;
    if (bucket->plan == NULL) {
        return WEFT_OK;
    }
    assert(!bucket->posted);
    bucket->posted = true;
    bucket->start = clock_seconds();
    return sparse_post(bucket->plan, count_to_send(bucket, density_of_step(&sync->options, sync->step)));
}

static weft_status ready(comm_sync *sync, int b)
{
    topk *t = sync->self;
    WEFT_TRY(pack(sync, t, &t->bucket[b]));
    t->bucket[b].waiting = true;
    return sync->options.overlap == OVERLAP_OFF ? WEFT_OK : post(sync, &t->bucket[b]);
}

static weft_status await(comm_sync *sync, topk_bucket *bucket)
{
    if (!bucket->posted) {
        return WEFT_OK;
    }
    WEFT_TRY(sparse_wait(bucket->plan));
    bucket->posted = false;
    sync->figures.busy_s += clock_seconds() - bucket->start;
    return WEFT_OK;
}

/* Factor masking: a selected element that was sent has had its push. Where everything was sent nothing is masked. */
static weft_status mask(const comm_sync *sync, topk *t, const topk_bucket *bucket, int64_t offset)
{
    int64_t found = 0;
    if (!sync->options.topk.masking || sync->options.topk.momentum <= 0 || bucket->plan == NULL) {
        return WEFT_OK;
    }
    const int32_t *index = sparse_sent(bucket->plan, &found);
    if (index != NULL && t->hal != NULL) {
        return sparse_clear_sent(bucket->plan, t->device_velocity.device + offset);
    }
    for (int64_t i = 0; index != NULL && i < found; ++i) {
        t->velocity[offset + index[i]] = 0.0f;
    }
    return WEFT_OK;
}

/* The sums of the tensors that went whole, back in their places. */
static weft_status unpack(const comm_sync *sync, topk *t)
{
    for (int i = 0; i < t->runs; ++i) {
        const topk_run *run = &t->run[i];
        const size_t bytes = (size_t)run->count * sizeof *t->side;
        if (run->side < 0) {
            continue;
        }
        if (t->hal != NULL) {
            WEFT_TRY(t->hal->mem.upload_async(t->hal, device_grad(sync, run->offset), t->side + run->side, bytes));
        } else {
            memcpy((float *)sync->desc.grad + run->offset, t->side + run->side, bytes);
        }
        WEFT_TRY(accumulate_run(sync, t, run));
    }
    return WEFT_OK;
}

static weft_status post_dense(topk *t)
{
    if (t->dense == NULL) {
        return WEFT_OK;
    }
    if (t->hal != NULL) {
        WEFT_TRY(device_mark_put(t->hal, t->aside));
    }
    WEFT_TRY(comm_post(t->dense));
    t->dense_posted = true;
    return WEFT_OK;
}

static weft_status gradients(comm_sync *sync)
{
    topk *t = sync->self;
    for (int b = 0; b < t->buckets; ++b) {
        if (t->bucket[b].waiting) {
            WEFT_TRY(post(sync, &t->bucket[b]));
        }
    }
    WEFT_TRY(post_dense(t));
    for (int b = 0; b < t->buckets; ++b) {
        WEFT_TRY(await(sync, &t->bucket[b]));
        WEFT_TRY(mask(sync, t, &t->bucket[b], sync->desc.bucket[b].offset));
    }
    if (t->dense != NULL) {
        WEFT_TRY(comm_wait(t->dense));
        t->dense_posted = false;
        WEFT_TRY(unpack(sync, t));
    }
    sync->figures.density = part_sent(sync, density_of_step(&sync->options, sync->step));
    tell_density(sync, t);
    return WEFT_OK;
}

/* ---- between steps ---------------------------------------------------------------------------------------- */

static weft_status settle(comm_sync *sync, bool last)
{
    topk *t = sync->self;
    (void)last;
    for (int b = 0; b < t->buckets; ++b) {
        t->bucket[b].waiting = false;
        WEFT_TRY(await(sync, &t->bucket[b]));
        if (t->bucket[b].plan != NULL) {
            WEFT_TRY(sparse_residual_to_host(t->bucket[b].plan));
        }
    }
    if (t->dense_posted) {
        WEFT_TRY(comm_wait(t->dense));
        t->dense_posted = false;
    }
    return t->hal != NULL && sync->options.topk.momentum > 0 ? mirror_to_host(&t->device_velocity) : WEFT_OK;
}

static int state(comm_sync *sync, sync_buffer *buffer)
{
    topk *t = sync->self;
    int count = 0;
    if (sync->options.topk.momentum > 0) {
        buffer[count++] = (sync_buffer){.name = "topk velocity",
                                        .data = t->hal != NULL ? t->device_velocity.host : t->velocity,
                                        .bytes = sync->desc.trained * (int64_t)sizeof *t->velocity};
    }
    for (int b = 0; b < t->buckets; ++b) {
        int64_t begin = 0;
        int64_t elements = 0;
        if (t->bucket[b].plan == NULL) {
            continue;
        }
        sync_buffer *residual = &buffer[count++];
        sync_buffer *selection = &buffer[count++];
        residual->data = sparse_residual(t->bucket[b].plan, &begin, &elements);
        residual->bytes = elements * (int64_t)sizeof(float);
        selection->data = selector_state(sparse_selector(t->bucket[b].plan), &selection->bytes);
        snprintf(residual->name, sizeof residual->name, "topk bucket %d residual", b);
        snprintf(selection->name, sizeof selection->name, "topk bucket %d selection", b);
        sync_buffer *exchange = &buffer[count];
        exchange->data = sparse_state(t->bucket[b].plan, &exchange->bytes);
        snprintf(exchange->name, sizeof exchange->name, "topk bucket %d exchange", b);
        count += exchange->bytes > 0;
    }
    return count;
}

static weft_status reset(comm_sync *sync)
{
    int count = state(sync, sync->buffer);
    for (int i = 0; i < count; ++i) {
        if (sync->buffer[i].bytes > 0) {
            memset(sync->buffer[i].data, 0, (size_t)sync->buffer[i].bytes);
        }
    }
    return WEFT_OK;
}

static weft_status restored(comm_sync *sync)
{
    const topk *t = sync->self;
    for (int b = 0; b < t->buckets; ++b) {
        WEFT_TRY(t->bucket[b].plan != NULL ? sparse_restored(t->bucket[b].plan) : WEFT_OK);
    }
    return WEFT_OK;
}

/* ---- prediction ------------------------------------------------------------------------------------------ */
/* Elements of a bucket that topk selects from: those of matrices that are large enough. */
static int64_t selectable(const comm_sync *sync, const sync_bucket *bucket)
{
    int64_t count = 0, from;
    for (int t = 0; t < sync->desc.tensors; ++t) {
        const int64_t shared = shared_elements(&sync->desc.tensor[t], bucket, &from);
        count += shared > 0 && !goes_whole(&sync->options, &sync->desc.tensor[t]) ? shared : 0;
    }
    return count;
}

static double exchange_seconds(const comm_sync *sync, sparse_exchange exchange, int64_t count, int64_t k)
{
    const comm_layout *layout = comm_get_layout(sync->comm);
    bool windowed = exchange != SPARSE_ALL_GATHER && layout->most > 1 && !sync->comm->messages_only;
    comm_cost cost = sparse_cost(layout, 0, exchange, windowed, count, k, sync->options.topk.values);
    return comm_model_seconds(comm_get_model(sync->comm), &cost);
}

static double sparse_seconds(const comm_sync *sync, int64_t count)
{
    int64_t k = (int64_t)ceil(sync->options.topk.density * (double)count);
    if (count == 0) {
        return 0.0;
    }
    if (sync->options.topk.exchange != SPARSE_AUTO) {
        return exchange_seconds(sync, sync->options.topk.exchange, count, k);
    }
    double best = exchange_seconds(sync, SPARSE_HIERARCHICAL, count, k);
    best = fmin(best, exchange_seconds(sync, SPARSE_OK_TOPK, count, k));
    return fmin(best, exchange_seconds(sync, SPARSE_ALL_GATHER, count, k));
}

static weft_status predict(const comm_sync *sync, double *seconds)
{
    for (int b = 0; b < sync->desc.buckets; ++b) {
        const sync_bucket *bucket = &sync->desc.bucket[b];
        int64_t sparse = selectable(sync, bucket);
        *seconds += sparse_seconds(sync, sparse) + predict_allreduce(sync, bucket->count - sparse);
    }
    return WEFT_OK;
}

/* ---- options and knobs ------------------------------------------------------------------------------------ */
static void defaults(sync_options *options)
{
    options->topk =
        (sync_topk_options){.density = 0.01,
                            .select = {.method = SELECT_RADIX, .samplings = 30, .refresh = 32, .threads = 1},
                            .exchange = SPARSE_AUTO,
                            .dense_below = 1024};
}

static double density_of(const sync_options *options)
{
    return options->topk.density;
}

/* Buffers of the exchanges are as large as the density needs; what was held back, and what the selections remember,
 * stays. */
static weft_status set_density(comm_sync *sync, double density, bool restoring)
{
    (void)restoring;
    topk *t = sync->self;
    sync->options.topk.density = density;
    for (int b = 0; b < t->buckets; ++b) {
        topk_bucket *bucket = &t->bucket[b];
        if (bucket->plan != NULL) {
            WEFT_TRY(sparse_resize(&bucket->plan, count_to_send(bucket, density_of_step(&sync->options, 1))));
        }
    }
    return WEFT_OK;
}

static const sync_tunable tunables[] = {
    {.knob = SYNC_KNOB_DENSITY, .least = 1e-7, .most = 1, .of = density_of, .set = set_density}};

const sync_ops sync_topk_ops = {SYNC_OPS_TUNED, .name = "topk",         .idle = idle,
                                .ready = ready, .gradients = gradients, .settle = settle};
