/*
 * app/bench/comm_sync.c: weft bench comm --op sync: whole synchronisation modes, on training steps without a model: a
 * flat vector of gradients that come in bucket by bucket, a busy loop in place of the layers, plain SGD.
 *
 *      [need bucket B, busy] .. [need bucket 0, busy]     forward, when reductions are split: half of the loop
 *      [busy, ready bucket 0] .. [busy, ready bucket B]   backward
 *      gradients; update; parameters                      the clock leaves out the making of gradients and the update
 *
 * `seconds` is a step without any computing, with what it leaves in the background; where steps differ, the mean of as
 * many as it takes to repeat. `exposed` is what a step takes longer than computing alone when the computing lasts as
 * long as the communication, in turns with that computing. The check depends on what a mode promises:
 *
 *      allreduce            gradients are their sum over the ranks, in double precision, within rounding
 *      topk                 every element is a sum over some of the ranks (2^P of them are tried), and not all are zero
 *      modes with replicas  after sync_average all parameters are the mean of what the ranks held before
 *      all                  afterwards all ranks hold the same bits
 */
#include <assert.h>
#include <string.h>

#include "app/bench/bench_comm.h"
#include "app/setup/sync_setup.h"
#include "base/alloc.h"
#include "base/clock.h"
#include "base/integer/integers.h"
#include "comm/core/layout.h"
#include "comm/core/window.h"

enum { TRIED_RANKS = 12, TRIED_ELEMENTS = 4096, MEAN_ELEMENTS = 1 << 20, CALIBRATION_WORK = 1000000 };
#define LEARNING_RATE 0.01

/* clang-format off */
#define SYNC_ROW(C)                                                                                                    \
    C(TEXT, op, false) C(TEXT, algorithm, true) C(TEXT, ran, true) COMM_SECONDS(C) C(REAL, mpi_seconds_median, true)   \
    C(REAL, ratio, true) C(REAL, model_seconds, true) C(INT, bytes_sent, true) C(INT, messages, true)                  \
    C(REAL, density, true) C(REAL, compute_seconds, true) C(REAL, exposed_seconds, true)                               \
    C(REAL, exposed_percent, true) C(VALID, valid, true)
/* clang-format on */
TABLE_ROW(sync_row, SYNC_ROW);

typedef struct mode_case {
    weft_comm *comm;
    sync_options options;
    comm_sync *sync;
    int64_t count;
    float *value, *grad; /* [count] of comm_buffer_alloc */
    float *source;       /* [count] of gradients: known inputs, after the check few large values and many small ones */
    sync_bucket *bucket; /* [buckets] from the end of the vector to its beginning */
    int buckets;
    bool split;     /* buckets are owed after a step */
    int64_t work;   /* turns of the busy loop in a whole step */
    int64_t steps;  /* so far */
    double seconds; /* of the operation that ran last, on this rank */
    double worst;   /* error over its bound */
} mode_case;

/* ---- steps ---- */

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

/* Another part of the source in every place and step; the first one has it as it is. */
static void make_gradient(mode_case *c)
{
    const int64_t shift = c->steps++ * 7919 % c->count;
    memcpy(c->grad, c->source + shift, (size_t)(c->count - shift) * sizeof *c->grad);
    memcpy(c->grad + (c->count - shift), c->source, (size_t)shift * sizeof *c->grad);
}

static void update(mode_case *c)
{
    const float rate = (float)(LEARNING_RATE / comm_size(c->comm));
#pragma omp parallel for schedule(static)
    for (int64_t i = 0; i < c->count; i++) {
        c->value[i] -= rate * c->grad[i];
    }
}

/* Waits for gradients that a split reduction has not delivered yet, busy between them. */
static weft_status forward(mode_case *c, int64_t work)
{
    for (int b = c->buckets - 1; b >= 0; b--) {
        WEFT_TRY(sync_owes(c->sync, b) ? sync_need(c->sync, b) : WEFT_OK);
        be_busy(work / c->buckets);
    }
    return WEFT_OK;
}

static weft_status backward(mode_case *c, int64_t work)
{
    WEFT_TRY(sync_begin(c->sync, LEARNING_RATE, 1.0));
    for (int b = 0; b < c->buckets; b++) {
        be_busy(work / c->buckets);
        WEFT_TRY(sync_ready(c->sync, b));
    }
    return sync_gradients(c->sync);
}

static weft_status step(mode_case *c, int64_t work)
{
    const int64_t early = c->split ? work / 2 : 0;
    if (c->split) {
        WEFT_TRY(comm_barrier(c->comm));
        c->seconds -= clock_seconds();
        WEFT_TRY(forward(c, early));
        c->seconds += clock_seconds();
    }
    make_gradient(c);
    WEFT_TRY(comm_barrier(c->comm));
    c->seconds -= clock_seconds();
    WEFT_TRY(backward(c, work - early));
    c->seconds += clock_seconds();
    if (!c->split) {
        update(c);
    }
    c->seconds -= clock_seconds();
    WEFT_TRY(sync_parameters(c->sync));
    c->seconds += clock_seconds();
    return WEFT_OK;
}

/* ---- operations to time ---- */

static weft_status run_mpi(void *self)
{
    const mode_case *c = self;
    return comm_native_sum(c->comm, c->source, c->grad, c->count);
}

static weft_status run_alone(void *self)
{
    be_busy(((const mode_case *)self)->work);
    return WEFT_OK;
}

static weft_status run_together(void *self)
{
    mode_case *c = self;
    c->seconds = 0.0;
    return step(c, c->work);
}

/* As many steps as the mode's period has, with all that they began in the background; the seconds are those of one. */
static weft_status run_bare(void *self)
{
    mode_case *c = self;
    const int period = sync_period(c->sync);
    const sync_buffer *state = NULL;
    int buffers = 0;
    assert(period > 0);
    c->seconds = 0.0;
    for (int i = 0; i < period; i++) {
        WEFT_TRY(step(c, 0));
    }
    c->seconds -= clock_seconds();
    WEFT_TRY(forward(c, 0));
    WEFT_TRY(sync_state(c->sync, &state, &buffers));
    c->seconds = (c->seconds + clock_seconds()) / period;
    return WEFT_OK;
}

/* ---- the check ---- */

/* Least difference between element i of the gradient and the sum over any ranks, over its bound. What each rank adds is
 * below 1. */
static double subset_error(const mode_case *c, int64_t i)
{
    const int ranks = comm_size(c->comm);
    const double rounded = c->options.wire != COMM_WIRE_SAME ? ranks * 0x1p-8 : 0.0;
    double least = INFINITY;
    for (uint32_t some = 0; some < (uint32_t)1 << ranks; some++) {
        double sum = 0.0;
        for (int r = 0; r < ranks; r++) {
            sum += (some >> r & 1U) != 0 ? (double)bench_input(r, i) : 0.0;
        }
        least = fmin(least, fabs((double)c->grad[i] - sum));
    }
    return least / (ranks * ranks * 0x1p-24 + rounded);
}

/* Tries at most TRIED_ELEMENTS elements that are not zero. With many ranks the equality of bits remains. */
static double subsets_error(const mode_case *c)
{
    const bool few = comm_size(c->comm) <= TRIED_RANKS;
    double worst = few ? (double)INFINITY : 0.0;
    for (int64_t i = 0, tried = 0; i < c->count && tried < TRIED_ELEMENTS && few; i++) {
        if (c->grad[i] != 0.0F) {
            worst = bench_worse(tried++ > 0 ? worst : 0.0, subset_error(c, i));
        }
    }
    return worst;
}

/* sync_average against the mean in double precision, on the first MEAN_ELEMENTS. Collective. */
static weft_status check_mean(mode_case *c)
{
    const double ranks = comm_size(c->comm);
    const int64_t count = smaller(c->count, MEAN_ELEMENTS);
    double *mean = NULL;
    WEFT_TRY(comm_agree(c->comm, WEFT_NEW(&mean, count, WEFT_MEM_WORKSPACE)));
    for (int64_t i = 0; i < count; i++) {
        mean[i] = (double)c->value[i] / ranks;
    }
    weft_status status = comm_allreduce(c->comm, mean, count, WEFT_DTYPE_F64, COMM_SUM);
    status = status == WEFT_OK ? sync_average(c->sync) : status;
    for (int64_t i = 0; i < count && status == WEFT_OK; i++) {
        /* Values are in [-1, 1) and a step moves them by less than one. */
        c->worst = bench_worse(c->worst, fabs((double)c->value[i] - mean[i]) / ((ranks + 2.0) * 2.0 * 0x1p-24));
    }
    weft_free(mean);
    return status;
}

/* The first step, whose gradients are the known inputs. */
static weft_status check(mode_case *c)
{
    const sync_mode mode = sync_running(c->sync);
    const bool exact = mode == SYNC_ALLREDUCE, replicas = !exact && mode != SYNC_TOPK;
    WEFT_TRY(run_together(c));
    WEFT_TRY(forward(c, 0));
    bench_fill_gradient(comm_rank(c->comm), c->source, c->count);
    if (exact) {
        c->worst = bench_sum_error(c->grad, 0, c->count, comm_size(c->comm), c->options.wire);
    } else if (replicas) {
        WEFT_TRY(check_mean(c));
    } else {
        c->worst = subsets_error(c);
    }
    WEFT_TRY(bench_comm_equal(c->comm, replicas ? c->value : c->grad, c->count, &c->worst));
    return replicas ? sync_resume(c->sync) : WEFT_OK;
}

/* ---- a mode ---- */

static weft_status cut_buckets(mode_case *c)
{
    const int64_t asked = c->options.bucket_bytes / (int64_t)sizeof(float), each = asked > 0 ? asked : 1;
    c->buckets = (int)((c->count + each - 1) / each);
    WEFT_TRY(WEFT_NEW(&c->bucket, c->buckets, WEFT_MEM_GENERAL));
    for (int b = 0; b < c->buckets; b++) {
        const int64_t end = c->count - b * each, begin = end > each ? end - each : 0;
        assert(end > 0); /* the buckets cover the vector, once */
        c->bucket[b] = (sync_bucket){begin, end - begin};
    }
    return WEFT_OK;
}

/* The vector has two dimensions where the count allows: one-dimensional tensors go dense under topk. */
static weft_status create_mode(mode_case *c)
{
    const int64_t cols = c->count % 64 == 0 ? 64 : c->count % 2 == 0 ? 2 : 1;
    const sync_tensor tensor = {"vector", 0, c->count / cols, cols};
    const sync_desc desc = {WEFT_DTYPE_F32,        .value = c->value,    .grad = c->grad,
                            .trained = c->count,   .elements = c->count, .bucket = c->bucket,
                            .buckets = c->buckets, .tensor = &tensor,    .tensors = 1};
    WEFT_TRY(sync_create(c->comm, &c->options, &desc, &c->sync));
    c->split = c->options.overlap == OVERLAP_SPLIT && sync_running(c->sync) == SYNC_ALLREDUCE;
    return sync_reset(c->sync);
}

static weft_status open_case(bench_run *run, void *self)
{
    mode_case *c = self;
    *c = (mode_case){
        .comm = run->comm, .count = COMM_COUNT(run), .options = sync_options_of(run->options, SYNC_SHARDS_SAMPLED)};
    c->options.mode = (sync_mode)run->at[1];
    c->options.tracking = sync_tracking_of(&c->options, c->options.mode);
    c->options.topk.select.threads = run->context->placement.threads;
    WEFT_TRY(comm_buffer_alloc(c->comm, run->at[0], (void **)&c->value));
    WEFT_TRY(comm_buffer_alloc(c->comm, run->at[0], (void **)&c->grad));
    weft_status status = WEFT_NEW(&c->source, c->count, WEFT_MEM_WORKSPACE);
    status = status == WEFT_OK ? cut_buckets(c) : status;
    WEFT_TRY(comm_agree(c->comm, status));
    bench_fill(comm_rank(c->comm), c->source, c->count);
    bench_fill(0, c->value, c->count);
    return create_mode(c);
}

static void close_case(void *self)
{
    mode_case *c = self;
    sync_destroy(c->sync);
    comm_buffer_free(c->comm, c->grad);
    comm_buffer_free(c->comm, c->value);
    weft_free(c->source);
    weft_free(c->bucket);
}

/* Adds sign times the bytes and messages so far, over all communicators of the mode. */
static void add_traffic(const mode_case *c, int sign, int64_t total[3])
{
    const sync_figures figures = sync_get_figures(c->sync);
    total[0] += sign * (int64_t)figures.bytes_sent;
    total[1] += sign * (int64_t)figures.messages_sent;
    bench_comm_traffic(c->comm, sign, total);
}

/* Finds the work that takes as long as communication does. The last try takes as long, because clocks and neighbours
 * depend on the time. */
static weft_status calibrate(mode_case *c, const bench_side *alone, double wanted)
{
    c->work = CALIBRATION_WORK;
    for (int i = 0; i < 3; i++) {
        double seconds = 0.0;
        WEFT_TRY(bench_sample(c->comm, alone, 1, &seconds));
        c->work = (int64_t)((double)c->work * wanted / seconds) + 1;
    }
    return WEFT_OK;
}

/* Times steps without computing. [out] traffic: bytes and messages of a step, of the busiest rank. */
static weft_status measure_bare(bench_run *run, mode_case *c, bench_pair *time, int64_t traffic[3])
{
    const bench_side bare = {run_bare, c, &c->seconds};
    const int64_t first = c->steps;
    add_traffic(c, -1, traffic);
    WEFT_TRY(bench_time(c->comm, &bare, NULL, run->repeats, time));
    add_traffic(c, 1, traffic);
    WEFT_TRY(comm_allreduce(c->comm, traffic, 2, WEFT_DTYPE_I64, COMM_MAX));
    traffic[0] /= c->steps - first;
    traffic[1] /= c->steps - first;
    return WEFT_OK;
}

static weft_status measure(bench_run *run, void *self)
{
    mode_case *c = self;
    const bench_side mpi = {run_mpi, c, NULL};
    const bench_side together = {run_together, c, &c->seconds}, alone = {run_alone, c, NULL};
    bench_pair native = {.seconds = sample_quartiles_of(NULL, 0)}, overlap;
    bench_result result;
    int64_t traffic[3] = {0, 0, 0};
    double model_seconds = 0.0;
    if (comm_native_available(c->comm)) { /* before the first step, while nothing is under way */
        WEFT_TRY(bench_time(c->comm, &mpi, NULL, run->repeats, &native));
    }
    WEFT_TRY(check(c));
    WEFT_TRY(measure_bare(run, c, &result.time, traffic));
    if (comm_size(c->comm) > 1) {
        WEFT_TRY(sync_predict(c->sync, sync_running(c->sync), &model_seconds));
    }
    WEFT_TRY(calibrate(c, &alone, result.time.seconds.median));
    WEFT_TRY(bench_time(c->comm, &together, &alone, run->repeats, &overlap));
    WEFT_TRY(forward(c, 0));
    result.error = c->worst;
    WEFT_TRY(bench_judge(run, &result));
    const double seconds = result.time.seconds.median, computing = overlap.other.median;
    const double exposed = result.valid ? fmax(overlap.seconds.median - computing, 0.0) : (double)NAN;
    WEFT_TRY(bench_add(
        run, &(sync_row){COMM_COMMON(run, &result), .algorithm = bench_name(run, 1),
                         .ran = sync_mode_name(sync_running(c->sync)), .nodes = comm_get_layout(c->comm)->nodes,
                         .mpi_seconds_median = native.seconds.median, .ratio = native.seconds.median / seconds,
                         .model_seconds = model_seconds, .bytes_sent = traffic[0], .messages = traffic[1],
                         .density = sync_get_figures(c->sync).density, .compute_seconds = computing,
                         .exposed_seconds = exposed, .exposed_percent = 100.0 * exposed / seconds}));
    return sync_finish(c->sync);
}

static weft_status check_options(const weft_options *options)
{
    WEFT_TRY(option_check_rules(options));
    return sync_setup_check(options);
}

const comm_bench_op bench_comm_sync = {.kind = {.ranks = true,
                                                BENCH_CASES(mode_case, sync_row),
                                                .unsupported = "does not run on these nodes or with these options"},
                                       .choices = OPT_SYNC,
                                       .check = check_options};
