/*
 * base/trace/job_account.h: what one job of a process took: processor seconds, memory, allocations, seconds by
 * activity.
 *
 * The process has one counter of each. A job notes them when it begins and reads the difference; a peak is a new
 * high-water mark that begins with the job, and that becomes part of the outer job's mark when the job ends. Jobs nest
 * and follow each other; ranks that are threads of one process share the counters, so their jobs are not told apart.
 *
 *      job_account account;
 *      job_account_begin(&account);
 *      ...
 *      job_figures figures = job_account_read(&account);
 *      job_account_end(&account);
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/trace/activity.h"

typedef struct job_account {
    bool open;
    activity_book outer; /* the calling thread's book of the job around this one */
    double cpu_begin, begin;
    uint64_t allocations_begin;
    uint64_t held; /* bytes that lived when the job began: the process's, not the job's */
    uint64_t outer_allocated_peak, outer_peak_rss; /* marks of the jobs before and around this one */
} job_account;

typedef struct job_figures {
    double cpu_seconds, wall_seconds; /* user and system time of all threads; since the job began */
    uint64_t allocations;             /* calls */
    uint64_t allocated_peak_bytes;    /* most that lived at once, beyond what lived when the job began */
    uint64_t peak_rss_bytes;          /* the process's largest resident set while the job ran */
} job_figures;

/* The calling thread's activities begin anew too. End with job_account_end on the same thread. */
void job_account_begin(job_account *account);
/* Figures so far; after job_account_end zeros. */
job_figures job_account_read(const job_account *account);
/* Harmless on a zeroed account, and twice. */
void job_account_end(job_account *account);
