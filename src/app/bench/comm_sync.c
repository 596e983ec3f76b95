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
    const comm_case *at;
    sync_step step;
    bench_pair mpi, overlap;
    double model_seconds;
    int64_t traffic[2]; /* bytes and messages a step */
    double worst;       /* error over its bound */
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
    s->known = true;
    WEFT_TRY(sync_step_run(s));
    WEFT_TRY(sync_step_settle(s));
    s->known = false;
    switch (sync_running(s->sync)) {
    case SYNC_ALLREDUCE:
        note(c, bench_sum_error(s->grad, 0, s->count, comm_size(s->comm), options->wire));
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

static weft_status run_mpi(void *self)
{
    const sync_step *s = self;
    return comm_native_sum(s->comm, s->noise, s->grad, s->count);
}

/* Steps without computing. Collective. */
static weft_status measure_bare(mode_case *c, int repeats, bench_pair *time)
{
    sync_step *s = &c->step;
    int64_t before[2], after[2];
    const int64_t first = s->steps;
    count_traffic(c, before);
    WEFT_TRY(bench_time(s->comm, &(bench_side){sync_step_bare, s, &s->seconds}, NULL, repeats, time));
    count_traffic(c, after);
    for (int i = 0; i < 2; i++) {
        c->traffic[i] = (after[i] - before[i]) / (s->steps - first);
    }
    return comm_allreduce(s->comm, c->traffic, 2, WEFT_DTYPE_I64, COMM_MAX);
}

/* Steps that compute for as long as one communicates, in turns with computing alone. Collective. */
static weft_status measure_overlap(mode_case *c, int repeats, double wanted)
{
    sync_step *s = &c->step;
    const bench_side together = {sync_step_run, s, &s->seconds}, alone = {sync_step_compute, s, &s->seconds};
    s->work = CALIBRATION_WORK;
    for (int i = 0; i < 3; i++) { /* the last time as long as it will be: clocks and neighbours depend on it */
        double seconds = 0.0;
        WEFT_TRY(bench_sample(s->comm, &alone, 1, &seconds));
        s->work = (int64_t)((double)s->work * wanted / seconds) + 1;
    }
    WEFT_TRY(bench_time(s->comm, &together, &alone, repeats, &c->overlap));
    return sync_step_settle(s);
}

static weft_status measure(mode_case *c, const sync_options *options, int repeats, bench_result *result)
{
    sync_step *s = &c->step;
    c->mpi.seconds = bench_quartiles_of(NULL, 0);
    if (comm_native_available(s->comm)) { /* before the first step, while nothing is under way */
        WEFT_TRY(bench_time(s->comm, &(bench_side){run_mpi, s, NULL}, NULL, repeats, &c->mpi));
    }
    WEFT_TRY(check(c, options));
    WEFT_TRY(measure_bare(c, repeats, &result->time));
    if (comm_size(s->comm) > 1) {
        WEFT_TRY(sync_predict(s->sync, sync_running(s->sync), &c->model_seconds));
    }
    result->error = c->worst;
    return measure_overlap(c, repeats, result->time.seconds.median);
}

static weft_status add_row(comm_bench *bench, const mode_case *c, bench_result *result)
{
    char what[200];
    bench_comm_name(what, c->at);
    bench_judge(&bench->run, what, result);
    const double seconds = result->time.seconds.median, alone = c->overlap.other.median;
    const double exposed = result->valid ? fmax(c->overlap.seconds.median - alone, 0.0) : (double)NAN;
    return bench_add(
        &bench->run,
        &(sync_row){COMM_COMMON(bench, c->at, result), .algorithm = c->at->name,
                    .ran = sync_mode_name(sync_running(c->step.sync)), .nodes = comm_get_layout(c->step.comm)->nodes,
                    .mpi_seconds_median = c->mpi.seconds.median, .ratio = c->mpi.seconds.median / seconds,
                    .model_seconds = c->model_seconds, .bytes_sent = c->traffic[0], .messages = c->traffic[1],
                    .density = sync_get_figures(c->step.sync).density, .compute_seconds = alone,
                    .exposed_seconds = exposed, .exposed_percent = 100.0 * exposed / seconds});
}

static weft_status run_case(comm_bench *bench, const comm_case *at)
{
    weft_comm *comm = bench->run.comm;
    mode_case c = {.at = at};
    bench_result result;
    sync_options options = sync_options_of(bench->run.options, SYNC_SHARDS_SAMPLED);
    options.mode = (sync_mode)at->number;
    options.tracking = sync_tracking_of(&options, options.mode);
    options.topk.select.threads = bench->run.context->placement.threads;
    weft_status status = sync_step_open(comm, &options, at->count, &c.step);
    if (status == WEFT_OK) {
        WEFT_TRY_GOTO(measure(&c, &options, bench->run.repeats, &result), status, done);
        WEFT_TRY_GOTO(add_row(bench, &c, &result), status, done);
        WEFT_TRY_GOTO(sync_finish(c.step.sync), status, done);
    } else {
        status = bench_comm_skip(bench, at, status, "does not run on these nodes or with these options");
    }
done:
    if (status == WEFT_OK || comm_size(comm) == 1) {
        sync_step_close(&c.step); /* after a failure the job ends, and other ranks may not come to meet */
    }
    return status;
}

static weft_status check_options(const weft_options *options)
{
    WEFT_TRY(option_check_rules(options));
    return sync_setup_check(options);
}

const comm_bench_op bench_comm_sync = {.choices = OPT_SYNC,
                                       .column = sync_row_columns,
                                       .columns = TABLE_COLUMNS(sync_row),
                                       .check = check_options,
                                       .run = run_case};
