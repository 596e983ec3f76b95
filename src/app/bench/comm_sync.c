/*
 * app/bench/comm_sync.c: weft bench comm --op sync: whole synchronisation modes on a flat vector, step by step.
 *
 * Two figures a mode. `seconds`: a step without any computing, with what it leaves in the background, beside
 * MPI_Allreduce of the same vector; where steps differ, the mean of as many as it takes to repeat. `exposed`: what a
 * step takes longer than computing alone when the computing lasts as long as the communication (app/bench/sync_step.h),
 * in turns with that computing.
 *
 * Bytes and messages are counted by the communicators, on average a step, of the busiest rank. The check depends on
 * what a mode promises, on known inputs:
 *
 *      allreduce            gradients are their sum over the ranks, in double precision, within rounding
 *      topk                 every element is a sum over some of the ranks (2^P of them are tried), and not all are zero
 *      modes with replicas  after sync_average all parameters are the mean of what the ranks held before
 *      all                  afterwards all ranks hold the same bits
 */
#include <math.h>
#include <string.h>

#include "app/bench/bench_check.h"
#include "app/bench/bench_comm.h"
#include "app/bench/pair.h"
#include "app/bench/sync_step.h"
#include "app/setup/sync_setup.h"
#include "base/alloc.h"
#include "comm/core/cost.h"
#include "comm/core/layout.h"

enum { TRIED_RANKS = 12, TRIED_ELEMENTS = 4096, MEAN_ELEMENTS = 1 << 20, CALIBRATION_WORK = 1000000 };

/* clang-format off */
#define SYNC_ROW(C)                                                                                                    \
    C(TEXT, op, false) C(TEXT, algorithm, true) C(TEXT, ran, true) C(INT, bytes, true) C(INT, ranks, false)            \
    C(INT, nodes, false) C(INT, n, false) C(REAL, seconds_median, true) C(REAL, seconds_q1, true)                      \
    C(REAL, seconds_q3, true) C(REAL, seconds_min, false) C(REAL, mpi_seconds_median, true) C(REAL, ratio, true)       \
    C(REAL, model_seconds, true) C(INT, bytes_sent, true) C(INT, messages, true) C(REAL, density, true)                \
    C(REAL, compute_seconds, true) C(REAL, exposed_seconds, true) C(REAL, exposed_percent, true)                       \
    C(VALID, valid, true)
/* clang-format on */
TABLE_ROW(sync_row, SYNC_ROW);

typedef struct mode_case {
    const char *name;
    sync_step step;
    bench_quartiles seconds, mpi, compute, together;
    double model_seconds;
    int64_t sent, messages; /* a step */
    double worst;           /* error over its bound */
} mode_case;

static void note(mode_case *c, double error)
{
    c->worst = error <= c->worst ? c->worst : isnan(error) ? (double)INFINITY : error;
}

/* Least difference between x and the sum over any ranks, over its bound. part: [ranks] the ranks' inputs. */
static double subset_error(double x, const float *part, int ranks)
{
    double least = INFINITY;
    for (uint32_t some = 0; some < (uint32_t)1 << ranks; some++) {
        double sum = 0.0;
        for (int r = 0; r < ranks; r++) {
            sum += (some >> r & 1U) != 0 ? (double)part[r] : 0.0;
        }
        least = fmin(least, fabs(x - sum));
    }
    return least / (ranks * ranks * 0x1p-24);
}

/* Of at most TRIED_ELEMENTS elements that are not zero. Of many ranks the equality of bits remains. */
static void check_subsets(mode_case *c)
{
    const int ranks = comm_size(c->step.comm);
    int tried = 0;
    for (int64_t i = 0; i < c->step.count && tried < TRIED_ELEMENTS && ranks <= TRIED_RANKS; i++) {
        if (c->step.grad[i] != 0.0F) {
            float part[TRIED_RANKS];
            for (int r = 0; r < ranks; r++) {
                part[r] = bench_input(r, i);
            }
            note(c, subset_error((double)c->step.grad[i], part, ranks));
            tried++;
        }
    }
    note(c, tried > 0 || ranks > TRIED_RANKS ? 0.0 : (double)INFINITY);
}

/* sync_average against the mean in double precision, on the first MEAN_ELEMENTS. Collective. */
static weft_status check_mean(mode_case *c)
{
    weft_comm *comm = c->step.comm;
    const double ranks = comm_size(comm);
    const int64_t count = c->step.count < MEAN_ELEMENTS ? c->step.count : MEAN_ELEMENTS;
    double *mean = NULL;
    WEFT_TRY(comm_agree(comm, WEFT_NEW(&mean, count, WEFT_MEM_WORKSPACE)));
    for (int64_t i = 0; i < count; i++) {
        mean[i] = (double)c->step.value[i] / ranks;
    }
    weft_status status = comm_allreduce(comm, mean, count, WEFT_DTYPE_F64, COMM_SUM);
    status = status == WEFT_OK ? sync_average(c->step.sync) : status;
    for (int64_t i = 0; i < count && status == WEFT_OK; i++) {
        /* Values are in [-1, 1) and a step moves them by less than one. */
        note(c, fabs((double)c->step.value[i] - mean[i]) / ((ranks + 2.0) * 2.0 * 0x1p-24));
    }
    weft_free(mean);
    return status;
}

static weft_status check(mode_case *c, const sync_options *options)
{
    sync_step *s = &c->step;
    double seconds = 0.0;
    WEFT_TRY(sync_step_run(s, true, 0, &seconds));
    WEFT_TRY(sync_step_settle(s));
    switch (sync_running(s->sync)) {
    case SYNC_ALLREDUCE:
        note(c, bench_sum_error(s->grad, s->count, comm_size(s->comm), options->wire));
        WEFT_TRY(bench_comm_equal(s->comm, s->grad, s->count, &c->worst));
        break;
    case SYNC_TOPK:
        check_subsets(c);
        WEFT_TRY(bench_comm_equal(s->comm, s->grad, s->count, &c->worst));
        break;
    default:
        WEFT_TRY(check_mean(c));
        WEFT_TRY(bench_comm_equal(s->comm, s->value, s->count, &c->worst));
        WEFT_TRY(sync_resume(s->sync));
        break;
    }
    return comm_allreduce(s->comm, &c->worst, 1, WEFT_DTYPE_F64, COMM_MAX);
}

/* Bytes and messages so far, over all communicators of the mode. */
static void count_traffic(const mode_case *c, int64_t total[2])
{
    const sync_figures figures = sync_get_figures(c->step.sync);
    total[0] = (int64_t)figures.bytes_sent;
    total[1] = (int64_t)figures.messages_sent;
    static const comm_lane lanes[] = {COMM_LANE_GRADIENT, COMM_LANE_SHADOW};
    for (size_t i = 0; i < sizeof lanes / sizeof *lanes; i++) {
        const comm_stats stats = comm_lane_stats(c->step.comm, lanes[i]);
        total[0] += (int64_t)stats.bytes_sent;
        total[1] += (int64_t)stats.messages_sent;
    }
}

static weft_status run_mpi(void *argument)
{
    const sync_step *s = argument;
    return comm_native_sum(s->comm, s->noise, s->grad, s->count);
}

/* Before the first step, while nothing is under way. theirs: [repeats]. Collective. */
static weft_status measure_mpi(mode_case *c, int repeats, double *theirs)
{
    const bench_side mpi = {run_mpi, &c->step};
    const bool native = comm_native_available(c->step.comm);
    double warm = 0.0;
    if (native) {
        WEFT_TRY(bench_sample(c->step.comm, &mpi, 1, &warm));
    }
    for (int i = 0; i < repeats && native; i++) {
        WEFT_TRY(bench_sample(c->step.comm, &mpi, 1, &theirs[i]));
    }
    c->mpi = bench_quartiles_of(theirs, native ? repeats : 0);
    return WEFT_OK;
}

/* Steps without computing. time: [repeats]. Collective. */
static weft_status measure_bare(mode_case *c, int repeats, double *time)
{
    int64_t before[2];
    int64_t after[2];
    count_traffic(c, before);
    for (int i = 0; i < repeats; i++) {
        WEFT_TRY(sync_step_bare(&c->step, &time[i]));
    }
    count_traffic(c, after);
    const int64_t steps = (int64_t)repeats * sync_period(c->step.sync);
    int64_t sent[2] = {(after[0] - before[0]) / steps, (after[1] - before[1]) / steps};
    WEFT_TRY(comm_allreduce(c->step.comm, sent, 2, WEFT_DTYPE_I64, COMM_MAX));
    c->sent = sent[0];
    c->messages = sent[1];
    c->seconds = bench_quartiles_of(time, repeats);
    return WEFT_OK;
}

/* Steps that compute for as long, in turns with computing alone. time: [2 * repeats]. Collective. */
static weft_status measure_overlap(mode_case *c, int repeats, double *time)
{
    sync_step *s = &c->step;
    double *alone = time + repeats;
    int64_t work = CALIBRATION_WORK;
    for (int i = 0; i < 3; i++) { /* the last time as long as it will be: clocks and neighbours depend on it */
        double seconds = 0.0;
        WEFT_TRY(sync_step_compute(s->comm, work, &seconds));
        work = (int64_t)((double)work * c->seconds.median / seconds) + 1;
    }
    for (int i = 0; i < repeats; i++) {
        WEFT_TRY(sync_step_compute(s->comm, work, &alone[i]));
        WEFT_TRY(sync_step_run(s, false, work, &time[i]));
    }
    WEFT_TRY(sync_step_settle(s));
    c->together = bench_quartiles_of(time, repeats);
    c->compute = bench_quartiles_of(alone, repeats);
    return WEFT_OK;
}

static weft_status measure(mode_case *c, const sync_options *options, int repeats)
{
    double *time = NULL;
    weft_status status = WEFT_OK;
    WEFT_TRY(comm_agree(c->step.comm, WEFT_NEW(&time, 2 * (int64_t)repeats, WEFT_MEM_GENERAL)));
    WEFT_TRY_GOTO(measure_mpi(c, repeats, time), status, done);
    WEFT_TRY_GOTO(check(c, options), status, done);
    WEFT_TRY_GOTO(measure_bare(c, repeats, time), status, done);
    const sync_mode mode = sync_running(c->step.sync);
    if (comm_size(c->step.comm) > 1) {
        WEFT_TRY_GOTO(sync_predict(c->step.sync, mode, &c->model_seconds), status, done);
    }
    WEFT_TRY_GOTO(measure_overlap(c, repeats, time), status, done);
done:
    weft_free(time);
    return status;
}

static weft_status add_row(comm_bench *bench, const mode_case *c)
{
    const weft_comm *comm = c->step.comm;
    const int64_t bytes = c->step.count * (int64_t)sizeof(float);
    const bool valid = c->worst <= 1.0;
    const bench_quartiles ours = valid ? c->seconds : bench_quartiles_of(NULL, 0);
    const double exposed = valid ? fmax(c->together.median - c->compute.median, 0.0) : (double)NAN;
    if (!valid) {
        bench_comm_reject(bench, c->name, bytes, c->worst);
    }
    sync_row row = {.op = "sync",
                    .algorithm = c->name,
                    .ran = sync_mode_name(sync_running(c->step.sync)),
                    .bytes = bytes,
                    .ranks = comm_size(comm),
                    .nodes = comm_get_layout(comm)->nodes,
                    .seconds_min = ours.least,
                    .mpi_seconds_median = c->mpi.median,
                    .ratio = c->mpi.median / ours.median,
                    .model_seconds = c->model_seconds,
                    .bytes_sent = c->sent,
                    .messages = c->messages,
                    .density = sync_get_figures(c->step.sync).density,
                    .compute_seconds = c->compute.median,
                    .exposed_seconds = exposed,
                    .exposed_percent = 100.0 * exposed / c->seconds.median,
                    .valid = valid};
    BENCH_SET_SECONDS(&row, ours);
    row.n = c->seconds.count;
    return bench_grid_add(&bench->grid, &row);
}

static weft_status run_mode(comm_bench *bench, int64_t bytes, int number)
{
    const weft_options *o = bench->context->options;
    weft_comm *comm = bench->context->comm;
    mode_case c = {.name = bench->names.choice[number]};
    sync_options options = sync_options_of(o, SYNC_SHARDS_SAMPLED);
    options.mode = (sync_mode)number;
    options.tracking = sync_tracking_of(&options, options.mode);
    options.topk.select.threads = bench->context->placement.threads;
    weft_status status = sync_step_open(comm, &options, bytes / (int64_t)sizeof(float), &c.step);
    if (status == WEFT_ERR_UNSUPPORTED && bench->names.all) {
        weft_error_clear();
        status = bench_grid_skip(&bench->grid, c.name, bytes, "does not run on these nodes or with these options");
        goto done;
    }
    if (status != WEFT_OK) {
        goto done;
    }
    WEFT_TRY_GOTO(measure(&c, &options, bench->repeats), status, done);
    WEFT_TRY_GOTO(add_row(bench, &c), status, done);
    WEFT_TRY_GOTO(sync_finish(c.step.sync), status, done);
done:
    if (status == WEFT_OK || comm_size(comm) == 1) {
        sync_step_close(&c.step); /* after a failure the job ends, and other ranks may not come to meet */
    }
    return status;
}

weft_status bench_comm_sync(comm_bench *bench)
{
    WEFT_TRY(option_check_rules(bench->context->options));
    WEFT_TRY(sync_setup_check(bench->context->options));
    WEFT_TRY(bench_comm_begin(bench, sync_row_columns, TABLE_COLUMNS(sync_row)));
    for (int i = 0; i < bench->sizes; i++) {
        for (int j = 0; j < bench->names.count; j++) {
            WEFT_TRY(run_mode(bench, bench->size[i], bench->names.wanted[j]));
        }
    }
    return WEFT_OK;
}
