/* comm/model/link_probe.c: see comm/model/link_probe.h. */
#include "comm/model/link_probe.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/log.h"
#include "comm/core/schedule.h"

enum { SHORT = 8, LONG_LEAST = 64 << 10, LONG_MOST = 4 << 20, SHORT_TRIPS = 16, LONG_TRIPS = 2, REPEATS = 4 };
static const double long_seconds = 0.004; /* worth waiting for */

typedef struct pair_bench {
    weft_comm *comm;
    comm_schedule schedule;
    char *send, *receive; /* [LONG_MOST] */
    char name[64];
} pair_bench;

/* `trips` times there and back. Ranks outside the pair run a list without steps: operations of a lane are counted, and
 * the counts must agree. */
static void build_trips(pair_bench *bench, const comm_pair *pair, int64_t bytes, int trips)
{
    const int me = comm_rank(bench->comm);
    schedule_begin(&bench->schedule, bench->comm, COMM_LANE_CONTROL, bench->name);
    for (int i = 0; i < 2 * trips; i++) {
        const int from = i % 2 == 0 ? pair->a : pair->b;
        const int to = pair->a + pair->b - from;
        schedule_round(&bench->schedule, "ping");
        if (me == from) {
            schedule_send(&bench->schedule, to, bench->send, bytes);
        } else if (me == to) {
            schedule_receive(&bench->schedule, from, bench->receive, bytes);
        }
    }
}

/* Seconds of a message one way, as pair->a sees it. */
static weft_status time_trips(pair_bench *bench, const comm_pair *pair, int64_t bytes, int trips, double *seconds)
{
    double best = INFINITY;
    build_trips(bench, pair, bytes, trips);
    WEFT_TRY(schedule_end(&bench->schedule));
    for (int i = 0; i < REPEATS; i++) {
        const double start = clock_seconds();
        WEFT_TRY(schedule_run(&bench->schedule));
        best = fmin(best, clock_seconds() - start);
    }
    *seconds = best / (2.0 * trips);
    return WEFT_OK;
}

/* Both ends must choose the same length: a's measurement travels to b. */
static weft_status share_seconds(pair_bench *bench, const comm_pair *pair, double *seconds)
{
    const int me = comm_rank(bench->comm);
    schedule_begin(&bench->schedule, bench->comm, COMM_LANE_CONTROL, bench->name);
    schedule_round(&bench->schedule, "figure");
    if (me == pair->a) {
        schedule_send(&bench->schedule, pair->b, seconds, sizeof *seconds);
    } else if (me == pair->b) {
        schedule_receive(&bench->schedule, pair->a, seconds, sizeof *seconds);
    }
    WEFT_TRY(schedule_end(&bench->schedule));
    return schedule_run(&bench->schedule);
}

static weft_status measure_pair(pair_bench *bench, comm_pair *pair)
{
    double seconds = 0.0;
    int64_t bytes = LONG_LEAST;
    WEFT_TRY(time_trips(bench, pair, SHORT, SHORT_TRIPS, &pair->latency));
    WEFT_TRY(time_trips(bench, pair, bytes, LONG_TRIPS, &seconds));
    WEFT_TRY(share_seconds(bench, pair, &seconds));
    while (bytes < LONG_MOST && seconds * 2.0 < long_seconds) {
        bytes *= 2;
        seconds *= 2.0;
    }
    WEFT_TRY(time_trips(bench, pair, bytes, LONG_TRIPS, &seconds));
    pair->bytes_per_second = (double)bytes / seconds;
    return WEFT_OK;
}

/* One pair at a time: the others wait at the barrier. A figure is its first end's. */
static weft_status measure_pairs(pair_bench *bench, comm_pair *pair, int count)
{
    const int me = comm_rank(bench->comm);
    log_progress progress = log_progress_begin("links", "pairs", count);
    for (int i = 0; i < count; i++) {
        snprintf(bench->name, sizeof bench->name, "ping between ranks %d and %d", pair[i].a, pair[i].b);
        WEFT_TRY(measure_pair(bench, &pair[i]));
        if (me != pair[i].a) {
            pair[i].latency = pair[i].bytes_per_second = 0.0;
        }
        WEFT_TRY(comm_barrier(bench->comm));
        log_progress_update(&progress, i + 1);
    }
    log_progress_end(&progress);
    return WEFT_OK;
}

static weft_status list_pairs(int size, comm_pair **pair, int *count)
{
    const int ranks = size < PAIRS_RANKS ? size : PAIRS_RANKS;
    *count = 0;
    WEFT_TRY(WEFT_NEW_ZERO(pair, ranks * (ranks - 1) / 2, WEFT_MEM_COMM));
    for (int i = 0; i < ranks; i++) {
        for (int j = i + 1; j < ranks; j++) {
            (*pair)[(*count)++] =
                (comm_pair){.a = (int)((int64_t)i * size / ranks), .b = (int)((int64_t)j * size / ranks)};
        }
    }
    return WEFT_OK;
}

static weft_status share_pairs(weft_comm *comm, comm_pair *pair, int count)
{
    double *figure = NULL;
    weft_status status = comm_agree(comm, WEFT_NEW(&figure, 2 * count, WEFT_MEM_COMM));
    if (status != WEFT_OK) {
        weft_free(figure);
        return status;
    }
    for (int i = 0; i < count; i++) {
        figure[2 * i] = pair[i].latency;
        figure[2 * i + 1] = pair[i].bytes_per_second;
    }
    status = comm_allreduce(comm, figure, 2 * (int64_t)count, WEFT_DTYPE_F64, COMM_SUM);
    for (int i = 0; i < count; i++) {
        pair[i].latency = figure[2 * i];
        pair[i].bytes_per_second = figure[2 * i + 1];
    }
    weft_free(figure);
    return status;
}

/* Pages of their own, not the kernel's one page of zeros. */
static weft_status new_touched(char **buffer)
{
    WEFT_TRY(WEFT_NEW(buffer, LONG_MOST, WEFT_MEM_COMM));
    memset(*buffer, 1, LONG_MOST);
    return WEFT_OK;
}

weft_status comm_measure_pairs(weft_comm *comm, comm_pair **pair, int *count)
{
    pair_bench bench = {.comm = comm};
    *pair = NULL;
    *count = 0;
    if (comm_size(comm) == 1) {
        return WEFT_OK;
    }
    weft_status status = list_pairs(comm_size(comm), pair, count);
    status = status == WEFT_OK ? new_touched(&bench.send) : status;
    status = status == WEFT_OK ? new_touched(&bench.receive) : status;
    WEFT_TRY_GOTO(comm_agree(comm, status), status, done);
    WEFT_TRY_GOTO(measure_pairs(&bench, *pair, *count), status, done);
    WEFT_TRY_GOTO(share_pairs(comm, *pair, *count), status, done);
done:
    schedule_free(&bench.schedule);
    WEFT_FREE_ALL(bench.send, bench.receive);
    if (status != WEFT_OK) {
        weft_free(*pair);
        *pair = NULL;
        *count = 0;
    }
    return status;
}
