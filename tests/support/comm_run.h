/*
 * support/comm_run.h: cases of a communicator as cmocka tests on threads, or one by one under mpirun; each twice,
 * without and with a communication thread, or (many short operations, which only wake that thread) once without.
 * Sanitizers see fewer counts of ranks, in half the time: who waits for whom is no other with 8 than with 4, and with
 * 5, where one is left over; whose memory it is, no other with 4 than with 3 and 8, nor with 7, which ranks of MPI
 * have.
 */
#pragma once

#include "support/comm_cases.h"
#include "support/test.h"

enum { COMM_RUN_PATIENCE = 60 }; /* seconds: a hang ends with the name of who is missing */

typedef struct comm_run {
    const comm_case *c;
    bool threaded; /* every rank has a communication thread */
} comm_run;

static weft_status comm_run_rank(weft_comm *comm, void *argument)
{
    const comm_run *run = argument;
    comm_set_stall_timeout(comm, COMM_RUN_PATIENCE);
    if (run->threaded) {
        WEFT_TRY(comm_thread_start(comm, -1));
    }
    return run->c->run(comm, NULL);
}

static void comm_run_times(const comm_case *c, int times)
{
    static const int counts[3][9] = {{1, 2, 3, 4, 7, 8, 2, 3, 8}, {1, 3, 8, 2, 5}, {4, 5, 3}};
    static const int bare[3] = {6, 3, 2}, all[3] = {9, 5, 3};
    const int seen_by = TEST_RACES ? 2 : TEST_SANITIZED ? 1 : 0;
    comm_run run = {.c = c};
    for (int i = 0; i < (times == 1 ? bare : all)[seen_by]; ++i) {
        const int ranks = counts[seen_by][i];
        run.threaded = i >= bare[seen_by];
        weft_status status = comm_thread_run(ranks, comm_run_rank, &run);
        if (status != WEFT_OK) {
            fail_msg("%s on %d ranks%s: %s: %s", run.c->name, ranks, run.threaded ? " with communication threads" : "",
                     weft_status_name(status), weft_error_message());
        }
    }
}

static inline void comm_run_case(void **state)
{
    comm_run_times(*state, 2);
}

static inline void comm_run_case_once(void **state)
{
    comm_run_times(*state, 1);
}

/* Over threads, on 1 to 8 ranks; test: comm_run_case or comm_run_case_once. */
static inline int comm_run_threads(const comm_case *cases, int count, CMUnitTestFunction test)
{
    struct CMUnitTest tests[32];
    memset(tests, 0, sizeof tests);
    for (int i = 0; i < count; ++i) {
        tests[i].name = cases[i].name;
        tests[i].test_func = test;
        tests[i].initial_state = (void *)(uintptr_t)&cases[i]; /* cmocka takes no const */
    }
    return _cmocka_run_group_tests("comm", tests, (size_t)count, NULL, NULL);
}

/* Over the ranks of mpirun; a failure ends them all. */
static inline int comm_run_mpi(const comm_case *cases, int count, int times)
{
    weft_comm *comm = NULL;
    weft_status status = comm_create_mpi(&comm);
    if (status == WEFT_OK) {
        comm_set_stall_timeout(comm, COMM_RUN_PATIENCE);
    }
    for (int i = 0; i < times * count && status == WEFT_OK; ++i) {
        if (i == count) {
            status = comm_agree(comm, comm_thread_start(comm, -1));
        }
        status = status == WEFT_OK ? comm_agree(comm, cases[i % count].run(comm, NULL)) : status;
        if (status == WEFT_OK && comm_rank(comm) == 0) {
            printf("ok %s%s\n", cases[i % count].name, i < count ? "" : " with communication threads");
        }
    }
    if (status != WEFT_OK) {
        fprintf(stderr, "%s: %s\n", weft_status_name(status), weft_error_message());
        comm_abort(comm, status);
    }
    comm_destroy(comm);
    return 0;
}
