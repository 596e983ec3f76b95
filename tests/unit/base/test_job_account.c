/*
 * Jobs that follow each other and nest: each reads its own processor seconds, allocations, peaks and activities.
 *
 * trees: release clang
 */
#include <string.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/trace/job_account.h"
#include "support/test.h"

static const weft_activity WORK[1] = {{.text = "work", .kind = ACTIVITY_COMPUTES}};

static void burn(double seconds)
{
    const double end = clock_cpu_seconds() + seconds;
    while (clock_cpu_seconds() < end) {
    }
}

/* Takes, touches and gives back so many bytes. */
static void hold(size_t bytes)
{
    char *block = NULL;
    ASSERT_OK(WEFT_NEW(&block, bytes, WEFT_MEM_GENERAL));
    memset(block, 1, bytes);
    weft_free(block);
}

static job_figures run(size_t bytes, double seconds)
{
    job_account account;
    job_account_begin(&account);
    activity_begin(WORK);
    hold(bytes);
    burn(seconds);
    activity_end(WORK);
    const job_figures figures = job_account_read(&account);
    assert_true(activity_get(WORK).seconds >= seconds);
    assert_int_equal(activity_get(WORK).calls, 1);
    job_account_end(&account);
    job_account_end(&account);
    assert_true(job_account_read(&account).wall_seconds == 0.0);
    return figures;
}

static void test_jobs_follow_each_other(void **state)
{
    (void)state;
    const size_t large = (size_t)256 << 20, small = (size_t)1 << 20;
    const job_figures first = run(large, 0.05), second = run(small, 0.01), third = run(large, 0.01);
    assert_int_equal(first.allocated_peak_bytes, large);
    assert_int_equal(second.allocated_peak_bytes, small);
    assert_int_equal(third.allocated_peak_bytes, large);
    assert_int_equal(second.allocations, 1);
    assert_true(first.cpu_seconds >= 0.05 && second.cpu_seconds < 0.05 + first.cpu_seconds);
    assert_true(first.peak_rss_bytes >= large);
    assert_true(second.peak_rss_bytes < large);
    assert_true(third.peak_rss_bytes >= large);
    assert_true(weft_mem_usage_total().peak_bytes >= large); /* the process's mark is the largest of all */
}

static void test_a_job_within_a_job(void **state)
{
    (void)state;
    const size_t large = (size_t)64 << 20, small = (size_t)8 << 20;
    job_account outer;
    char *kept = NULL;
    job_account_begin(&outer);
    activity_begin(WORK);
    ASSERT_OK(WEFT_NEW(&kept, small, WEFT_MEM_GENERAL));
    const job_figures inner = run(large, 0.02);
    assert_int_equal(inner.allocated_peak_bytes, large);
    assert_int_equal(inner.allocations, 1);
    activity_end(WORK);
    const job_figures figures = job_account_read(&outer);
    assert_int_equal(figures.allocated_peak_bytes, large + small);
    assert_int_equal(figures.allocations, 2);
    assert_true(figures.cpu_seconds >= inner.cpu_seconds);
    assert_true(figures.peak_rss_bytes >= inner.peak_rss_bytes);
    assert_int_equal(activity_get(WORK).calls, 1);
    assert_true(activity_get(WORK).seconds >= 0.02); /* the inner job's time is the running activity's */
    weft_free(kept);
    job_account_end(&outer);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_jobs_follow_each_other),
                                       cmocka_unit_test(test_a_job_within_a_job)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
