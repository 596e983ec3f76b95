/*
 * With a communication thread an all-reduce over MPI ends while the caller does something else; without it the caller
 * has to help. Nothing here depends on how fast either is.
 *
 * ranks: 2 4
 */
#include <time.h>

#include "base/clock.h"
#include "support/comm_cases.h"

enum { COUNT = 2 << 20, PATIENCE = 60 };

/* Asleep, without a call that moves messages, until an operation of the lane has ended or time is over. */
static bool ends_by_itself(const weft_comm *comm, double before, double seconds)
{
    double start = clock_seconds();
    while (comm_lane_stats(comm, COMM_LANE_GRADIENT).busy_seconds <= before && clock_seconds() - start < seconds) {
        struct timespec pause = {.tv_sec = 0, .tv_nsec = 1000000};
        nanosleep(&pause, NULL);
    }
    return comm_lane_stats(comm, COMM_LANE_GRADIENT).busy_seconds > before;
}

static weft_status overlap(weft_comm *comm, const comm_allreduce_desc *desc, comm_plan *plan, bool threaded)
{
    for (int64_t i = 0; i < desc->count; ++i) {
        case_store(desc->buffer, desc->dtype, i, case_value(comm_rank(comm), i));
    }
    WEFT_TRY(comm_barrier(comm));
    comm_stats before = comm_lane_stats(comm, COMM_LANE_GRADIENT);
    WEFT_TRY(comm_post(plan));
    bool ended = ends_by_itself(comm, before.busy_seconds, threaded ? PATIENCE : 0.2);
    WEFT_TRY(comm_wait(plan));
    WEFT_TRY(case_check_reduced(comm, desc, 0));
    comm_stats after = comm_lane_stats(comm, COMM_LANE_GRADIENT);
    CASE_CHECK(ended == threaded, "ended by itself: %d, communication thread: %d", ended, threaded);
    CASE_CHECK((after.wait_seconds - before.wait_seconds > 0.0) == !threaded, "%g s were waited",
               after.wait_seconds - before.wait_seconds);
    return WEFT_OK;
}

static weft_status run(weft_comm *comm)
{
    weft_status status = WEFT_OK;
    comm_plan *plan = NULL;
    float *x = malloc(COUNT * sizeof *x);
    comm_allreduce_desc desc = case_desc(COMM_LANE_GRADIENT, COMM_ALGO_RING, WEFT_DTYPE_F32, COMM_SUM, COUNT, x);
    comm_set_stall_timeout(comm, PATIENCE);
    WEFT_TRY_GOTO(comm_allreduce_plan(comm, &desc, &plan), status, done);
    WEFT_TRY_GOTO(overlap(comm, &desc, plan, false), status, done);
    WEFT_TRY_GOTO(comm_thread_start(comm, -1), status, done);
    for (int repeat = 0; repeat < 3; ++repeat) {
        WEFT_TRY_GOTO(overlap(comm, &desc, plan, true), status, done);
    }
    comm_thread_stop(comm);
    WEFT_TRY_GOTO(overlap(comm, &desc, plan, false), status, done);
done:
    comm_plan_destroy(plan);
    free(x);
    return status;
}

int main(void)
{
    weft_comm *comm = NULL;
    weft_status status = comm_create_mpi(&comm);
    status = status == WEFT_OK ? run(comm) : status;
    if (status != WEFT_OK) {
        fprintf(stderr, "%s: %s\n", weft_status_name(status), weft_error_message());
        comm_abort(comm, status);
    }
    comm_destroy(comm);
    return 0;
}
