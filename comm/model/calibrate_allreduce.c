/*
 * comm/model/calibrate_allreduce.c: all-reduces of the ranks of one node, timed as they run, and checked again later.
 *
 * All algorithms that could be chosen run in turns on one vector in shared memory, as gradients lie; what another
 * program takes hits all of them alike, and of every algorithm the least counts: disturbances only add time. A sample
 * of a short operation holds many. While the two least of the leader differ, further rounds follow. The lengths come in
 * an order that leaves a coarse grid when the time is over, on ranks that share cores or a processor that is slow.
 */
#include <math.h>
#include <string.h>

#include "base/clock.h"
#include "comm/coll/coll.h"
#include "comm/core/window.h"
#include "comm/model/calibrate.h"
#include "comm/model/calibrate_internal.h"

enum {
    LOOKS = 3, /* before the rounds, so that what is hopeless takes no part in them */
    LEAST_ROUNDS = 3,
    MOST_ROUNDS = 9,
    MOST_SETS = 3, /* of rounds */
    MOST_BATCH = 64,
    MOST_SAMPLES = MOST_ROUNDS * TIMED_ALGORITHMS
};
enum { TIMED_NODE_BYTES = 128 << 20, TIMED_LEAST_BYTES = 64 << 10 }; /* of all vectors of a node; of one */

static const double batch_seconds = 30e-6;    /* of a sample */
static const double long_seconds = 2e-2;      /* the rounds of a length that is looked at once */
static const double rounds_seconds = 4e-3;    /* of the rounds of one length */
static const double race_seconds = 0.1;       /* after which a length gets no further rounds */
static const double timed_seconds = 0.4;      /* of all lengths */
static const double undecided_seconds = 0.25; /* of a race: ranks wait for cores, and nothing can be told */
static const double hopeless = 4.0, steady = 1.1;

typedef struct racer {
    comm_plan *plan; /* NULL: takes no part */
    double seconds;  /* least so far */
    int batch;
    bool running;
} racer;

typedef struct race {
    weft_comm *comm;
    racer racer[TIMED_ALGORITHMS];
    double sample[MOST_SAMPLES + 1];
    int samples;
    double begun, spent; /* seconds so far, the same on every rank */
} race;

static coll_place place_of(const weft_comm *comm, const comm_model *model)
{
    return (coll_place){.size = comm_size(comm),
                        .layout = comm_get_layout(comm),
                        .model = model,
                        .shared_memory = !comm->messages_only};
}

/* Chosen for a whole or for halves. */
static bool takes_part(const coll_algorithm *algorithm, const coll_place *place)
{
    coll_place halves = *place;
    halves.half = COMM_REDUCE_SCATTER;
    return algorithm != NULL && (coll_eligible(algorithm, place) || coll_eligible(algorithm, &halves));
}

/* Collective. What has no room in shared memory stays out. */
static weft_status race_enter(race *r, const coll_place *place, void *vector, int64_t bytes)
{
    for (int a = 0; a < TIMED_ALGORITHMS; ++a) {
        const comm_allreduce_desc desc = {.lane = COMM_LANE_CONTROL,
                                          .algorithm = (comm_algorithm)a,
                                          .dtype = WEFT_DTYPE_F32,
                                          .op = COMM_SUM,
                                          .count = bytes / (int64_t)sizeof(float),
                                          .buffer = vector,
                                          .name = "calibration"};
        weft_status status = takes_part(coll_algorithm_of(desc.algorithm), place)
                                 ? comm_allreduce_plan(r->comm, &desc, &r->racer[a].plan)
                                 : WEFT_ERR_RESOURCE;
        if (status != WEFT_OK && status != WEFT_ERR_RESOURCE) {
            return status;
        }
        weft_error_clear();
        r->racer[a].batch = 1;
        r->racer[a].running = status == WEFT_OK;
    }
    return WEFT_OK;
}

static void race_leave(race *r)
{
    for (int a = 0; a < TIMED_ALGORITHMS; ++a) {
        comm_plan_destroy(r->racer[a].plan);
    }
}

static weft_status run_batch(race *r, const racer *one)
{
    WEFT_TRY(comm_barrier(r->comm));
    const double start = clock_seconds();
    for (int i = 0; i < one->batch; ++i) {
        WEFT_TRY(comm_post(one->plan));
        WEFT_TRY(comm_wait(one->plan));
    }
    r->sample[r->samples++] = (clock_seconds() - start) / one->batch;
    return WEFT_OK;
}

/* Who runs in turns, `rounds` times, beginning with another one each; the times of the slowest rank count. */
static weft_status run_rounds(race *r, int rounds)
{
    r->samples = 0;
    for (int round = 0; round < rounds; ++round) {
        for (int i = 0; i < TIMED_ALGORITHMS; ++i) {
            const racer *one = &r->racer[(i + round) % TIMED_ALGORITHMS];
            WEFT_TRY(one->running ? run_batch(r, one) : WEFT_OK);
        }
    }
    r->sample[r->samples++] = clock_seconds() - r->begun;
    WEFT_TRY(comm_allreduce(r->comm, r->sample, r->samples, WEFT_DTYPE_F64, COMM_MAX));
    r->spent = r->sample[r->samples - 1];
    int n = 0;
    for (int round = 0; round < rounds; ++round) {
        for (int i = 0; i < TIMED_ALGORITHMS; ++i) {
            racer *one = &r->racer[(i + round) % TIMED_ALGORITHMS];
            if (one->running) {
                const double seconds = calibrate_positive(r->sample[n++]);
                one->seconds = one->seconds > 0.0 ? fmin(one->seconds, seconds) : seconds;
            }
        }
    }
    return WEFT_OK;
}

static int quickest(const race *r)
{
    int best = -1;
    for (int a = 0; a < TIMED_ALGORITHMS; ++a) {
        const double seconds = r->racer[a].seconds;
        best = seconds > 0.0 && (best < 0 || seconds < r->racer[best].seconds) ? a : best;
    }
    return best;
}

/* Samples of the leader in the last rounds that come near its least: one alone may be luck. */
static bool leader_is_steady(const race *r, int rounds)
{
    const int best = quickest(r);
    int near = 0;
    int n = 0;
    for (int round = 0; round < rounds; ++round) {
        for (int i = 0; i < TIMED_ALGORITHMS; ++i) {
            const int a = (i + round) % TIMED_ALGORITHMS;
            if (r->racer[a].running) {
                near += a == best && r->sample[n] <= steady * r->racer[a].seconds;
                n++;
            }
        }
    }
    return near >= 2;
}

/* Everything that follows from agreed figures is the same on every rank. looks: of each at first. */
static weft_status race_run(race *r, int looks)
{
    WEFT_TRY(run_rounds(r, 1)); /* warm */
    for (int a = 0; a < TIMED_ALGORITHMS; ++a) {
        r->racer[a].seconds = 0.0;
    }
    WEFT_TRY(run_rounds(r, looks));
    const int best = quickest(r);
    double turn = 0.0;
    for (int a = 0; a < TIMED_ALGORITHMS; ++a) {
        racer *one = &r->racer[a];
        one->running = one->running && one->seconds <= hopeless * r->racer[best].seconds;
        const double batch = one->running ? batch_seconds / one->seconds : 1.0;
        one->batch = batch < 1.0 ? 1 : batch > MOST_BATCH ? MOST_BATCH : (int)batch;
        turn += one->running ? one->batch * one->seconds : 0.0;
    }
    const double wanted = rounds_seconds / calibrate_positive(turn);
    const int rounds = wanted < LEAST_ROUNDS ? LEAST_ROUNDS : wanted > MOST_ROUNDS ? MOST_ROUNDS : (int)wanted;
    for (int set = 0; set < MOST_SETS; ++set) {
        WEFT_TRY(run_rounds(r, rounds));
        if (leader_is_steady(r, rounds) || r->spent > race_seconds) {
            break;
        }
    }
    return WEFT_OK;
}

static weft_status race_length(const coll_place *place, weft_comm *comm, void *vector, int64_t bytes, int looks,
                               race *r)
{
    *r = (race){.comm = comm};
    weft_status status = race_enter(r, place, vector, bytes);
    r->begun = clock_seconds();
    status = status == WEFT_OK ? race_run(r, looks) : status;
    race_leave(r);
    return status;
}

/* The longest vector of a timed length for which there is room in shared memory. Collective. */
static weft_status make_vector(weft_comm *comm, int64_t longest, void **vector, int64_t *bytes)
{
    comm_window *window = NULL;
    *bytes = timed_bytes(TIMED_SIZES - 1);
    while (*bytes > longest || *bytes > TIMED_NODE_BYTES / comm_size(comm)) {
        *bytes /= 4;
    }
    weft_status status = comm_agree(comm, comm_window_create(comm, *bytes, &window));
    while (status == WEFT_ERR_RESOURCE && *bytes > TIMED_LEAST_BYTES) {
        weft_error_clear();
        *bytes /= 4;
        status = comm_agree(comm, comm_window_create(comm, *bytes, &window));
    }
    weft_error_clear();
    comm_window_destroy(window);
    WEFT_CHECK(status == WEFT_OK || status == WEFT_ERR_RESOURCE, status, "no vector to time all-reduces on");
    return comm_buffer_alloc(comm, *bytes, vector);
}

/* Seconds that timing a length takes at least, by what was measured of the node. */
static double expected_seconds(const coll_place *place, int64_t bytes, int looks)
{
    double all = 0.0;
    for (int a = 0; a < TIMED_ALGORITHMS; ++a) {
        const coll_algorithm *algorithm = coll_algorithm_of((comm_algorithm)a);
        all += takes_part(algorithm, place) ? coll_seconds(algorithm, place, bytes / 4, 4) : 0.0;
    }
    return (1 + looks + LEAST_ROUNDS) * all;
}

static weft_status time_lengths(calibration *c, void *vector, int64_t longest)
{
    static const int order[TIMED_SIZES] = {5, 8, 11, 3, 9, 7, 10, 6, 4, 0, 2, 1, 12, 13};
    const coll_place place = place_of(c->comm, c->model);
    double start = clock_seconds();
    double spent = 0.0;
    race r;
    for (int i = 0; i < TIMED_SIZES; ++i) {
        const int64_t bytes = timed_bytes(order[i]);
        const int looks = expected_seconds(&place, bytes, 0) < long_seconds ? LOOKS : 1;
        if (bytes > longest || (i > 0 && spent + expected_seconds(&place, bytes, looks) > timed_seconds)) {
            continue;
        }
        WEFT_TRY(race_length(&place, c->comm, vector, bytes, looks, &r));
        spent = clock_seconds() - start;
        WEFT_TRY(comm_allreduce(c->comm, &spent, 1, WEFT_DTYPE_F64, COMM_MAX));
        for (int a = 0; a < TIMED_ALGORITHMS; ++a) {
            c->model->timed.seconds[a][order[i]] = r.racer[a].seconds;
        }
    }
    c->model->timed.ranks = comm_size(c->comm);
    return WEFT_OK;
}

weft_status calibrate_allreduces(calibration *c)
{
    void *vector = NULL;
    int64_t bytes = 0;
    weft_status status = make_vector(c->comm, timed_bytes(TIMED_SIZES - 1), &vector, &bytes);
    status = status == WEFT_OK ? time_lengths(c, vector, bytes) : status;
    if (status == WEFT_OK) {
        comm_buffer_free(c->comm, vector); /* after a failure other ranks may not come to meet */
    }
    return status;
}

/* Lost in every attempt, as on a machine that is merely busy it is not: the choice for vectors of `bytes` against
 * what could be taken instead. */
static weft_status check_length(weft_comm *comm, const comm_model *model, void *vector, int64_t bytes, bool *hold)
{
    enum { ATTEMPTS = 4 };
    const coll_place place = place_of(comm, model);
    const coll_algorithm *chosen = coll_choose_form(&place, bytes / 4, 4);
    race r;
    *hold = false;
    for (int i = 0; i < ATTEMPTS && !*hold; ++i) {
        WEFT_TRY(race_length(&place, comm, vector, bytes, 1, &r));
        const double seconds = r.racer[chosen->id].seconds;
        *hold = r.spent > undecided_seconds || (seconds > 0.0 && timings_hold(seconds, r.racer[quickest(&r)].seconds));
    }
    return WEFT_OK;
}

weft_status comm_check_timings(weft_comm *comm, const comm_model *model, bool *hold)
{
    static const int checked[] = {5, 8}; /* 4 KiB and 256 KiB */
    void *vector = NULL;
    int64_t bytes = 0;
    *hold = true;
    if (comm->layout->nodes > 1 || model->timed.ranks != comm_size(comm)) {
        return WEFT_OK;
    }
    comm_counters before;
    calibration_save(comm, &before);
    weft_status status = make_vector(comm, timed_bytes(checked[1]), &vector, &bytes);
    for (int i = 0; status == WEFT_OK && *hold && i < 2 && timed_bytes(checked[i]) <= bytes; ++i) {
        status = check_length(comm, model, vector, timed_bytes(checked[i]), hold);
    }
    if (status == WEFT_OK) {
        comm_buffer_free(comm, vector);
    }
    calibration_restore(comm, &before);
    return status;
}
