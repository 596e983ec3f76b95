/* base/trace/job_account.c: see base/trace/job_account.h. */
#include "base/trace/job_account.h"

#include <assert.h>
#include <malloc.h>
#include <stdatomic.h>

#include "base/alloc.h"
#include "base/clock.h"

enum { KEPT_BYTES = 4 << 20 };

/* The first job's mark of the resident set is the process's own, and the kernel's figure (VmHWM) stays as other
 * programs expect it. */
static atomic_int jobs_begun;

/* Resident set that the running job has reached at least: the mark of the system begins anew with every job within
 * it. */
static _Atomic uint64_t reached_rss;

static uint64_t larger(uint64_t a, uint64_t b)
{
    return a > b ? a : b;
}

static uint64_t peak_rss(void)
{
    return larger(clock_peak_rss_bytes(), atomic_load(&reached_rss));
}

static void begin_rss_mark(job_account *account)
{
    if (atomic_fetch_add(&jobs_begun, 1) == 0) {
        return;
    }
    /* Freed blocks that the C library keeps are resident, and no memory of this job. A few of them are left: the next
     * fit of a search would only ask for their pages again. */
    if (mallinfo2().fordblks >= KEPT_BYTES) {
        malloc_trim(0);
    }
    account->outer_peak_rss = peak_rss();
    atomic_store(&reached_rss, clock_peak_rss_restart() ? 0 : account->outer_peak_rss);
}

void job_account_begin(job_account *account)
{
    *account = (job_account){.open = true, .cpu_begin = clock_cpu_seconds(), .begin = clock_seconds()};
    const weft_mem_usage usage = weft_mem_usage_total();
    account->allocations_begin = usage.allocations;
    account->held = usage.current_bytes;
    begin_rss_mark(account);
    account->outer_allocated_peak = weft_mem_peak_restart();
    activity_put_aside(&account->outer);
}

job_figures job_account_read(const job_account *account)
{
    if (!account->open) {
        return (job_figures){.cpu_seconds = 0.0};
    }
    const weft_mem_usage usage = weft_mem_usage_total();
    assert(usage.peak_bytes >= account->held);
    return (job_figures){.cpu_seconds = clock_cpu_seconds() - account->cpu_begin,
                         .wall_seconds = clock_seconds() - account->begin,
                         .allocations = usage.allocations - account->allocations_begin,
                         .allocated_peak_bytes = usage.peak_bytes - account->held,
                         .peak_rss_bytes = peak_rss()};
}

void job_account_end(job_account *account)
{
    if (!account->open) {
        return;
    }
    account->open = false;
    atomic_store(&reached_rss, larger(peak_rss(), account->outer_peak_rss));
    weft_mem_peak_resume(account->outer_allocated_peak);
    activity_take_up(&account->outer);
}
