/* support/table_jobs.h: ranks that are threads and talk through an exchange, such as those that open a table. */
#pragma once

#include <omp.h>
#include <pthread.h>

#include "support/test.h"
#include "table/table.h"

enum { RANKS_MOST = 5 };

typedef struct talk {
    pthread_barrier_t barrier;
    int ranks;
    const void *mine[RANKS_MOST];
    size_t bytes[RANKS_MOST];
} talk;

typedef struct rank_job {
    talk *between;
    const char *const *paths;
    const table_request *request;
    int count, rank;
    weft_status (*run)(struct rank_job *job, const table_exchange *exchange);
    void *argument; /* of other jobs than opening a table */
    weft_table table;
    weft_status status;
    char message[1024];
} rank_job;

static inline weft_status gather(void *self, const void *mine, size_t bytes, void **all, size_t **bytes_of)
{
    rank_job *job = self;
    talk *between = job->between;
    size_t total = 0, at = 0;
    between->mine[job->rank] = mine;
    between->bytes[job->rank] = bytes;
    pthread_barrier_wait(&between->barrier);
    for (int r = 0; r < between->ranks; r++) {
        total += between->bytes[r];
    }
    ASSERT_OK(weft_malloc(total + 1, 1, WEFT_MEM_WORKSPACE, all));
    ASSERT_OK(WEFT_NEW(bytes_of, between->ranks, WEFT_MEM_WORKSPACE));
    for (int r = 0; r < between->ranks; r++) {
        if (between->bytes[r] > 0) {
            memcpy((char *)*all + at, between->mine[r], between->bytes[r]);
        }
        (*bytes_of)[r] = between->bytes[r];
        at += between->bytes[r];
    }
    pthread_barrier_wait(&between->barrier);
    return WEFT_OK;
}

static inline void *run_rank(void *argument)
{
    rank_job *job = argument;
    const table_exchange exchange = {.self = job, .rank = job->rank, .ranks = job->between->ranks, .gather = gather};
    omp_set_num_threads(1 + job->rank % 2);
    job->status = job->run(job, &exchange);
    snprintf(job->message, sizeof job->message, "%s", weft_error_message());
    return NULL;
}

static inline void start_ranks(int ranks, rank_job *jobs)
{
    talk between = {.ranks = ranks};
    pthread_t threads[RANKS_MOST];
    pthread_barrier_init(&between.barrier, NULL, (unsigned)ranks);
    for (int r = 0; r < ranks; r++) {
        jobs[r].between = &between;
        jobs[r].rank = r;
        assert_int_equal(pthread_create(&threads[r], NULL, run_rank, &jobs[r]), 0);
    }
    for (int r = 0; r < ranks; r++) {
        pthread_join(threads[r], NULL);
    }
    pthread_barrier_destroy(&between.barrier);
}

static inline weft_status open_on_rank(rank_job *job, const table_exchange *exchange)
{
    return table_open(job->paths, job->count, job->request, exchange, &job->table);
}

/* Opens a table on ranks that are threads; the tables and statuses stay in jobs, [ranks]. */
static inline void run_ranks(const char *const *paths, int count, const table_request *asked, int ranks, rank_job *jobs)
{
    for (int r = 0; r < ranks; r++) {
        jobs[r] = (rank_job){.paths = paths, .request = asked, .count = count, .run = open_on_rank};
    }
    start_ranks(ranks, jobs);
}
