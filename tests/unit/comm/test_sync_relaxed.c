/* What holds for all modes with local updates, on 1 to 8 ranks as threads; and when one of them has no memory.
 * trees: tsan
 */
#include "support/comm_run.h"
#include "support/sync_relaxed_cases.h"

/* The failure of one rank's allocation is agreed while a mode is made: nobody hangs, nothing is lost. */
static weft_status create_short(weft_comm *comm, void *argument)
{
    const int *plan = argument; /* mode, allocation that fails */
    comm_set_stall_timeout(comm, COMM_RUN_PATIENCE);
    replica r;
    sync_options options = options_of(plan[0]);
    WEFT_TRY(comm_barrier(comm));
    if (comm_rank(comm) == 1) {
        weft_alloc_fail_after((uint64_t)plan[1]);
    }
    weft_status status = replica_create(comm, &options, &r);
    sync_destroy(status == WEFT_OK ? r.sync : NULL);
    return status;
}

static void test_memory_shortage(void **state)
{
    (void)state;
    int failures = 0;
    uint64_t before = weft_mem_usage_of(WEFT_MEM_COMM).current_bytes;
    for (int k = 0; k < VARIANTS; ++k) {
        for (int n = 1; n < 120; n += 1 + n / 20) {
            int plan[2] = {k, n};
            weft_status status = comm_thread_run(3, create_short, plan);
            weft_alloc_fail_after(0);
            assert_true(status == WEFT_OK || status == WEFT_ERR_RESOURCE);
            failures += status != WEFT_OK;
            assert_int_equal(weft_mem_usage_of(WEFT_MEM_COMM).current_bytes, before);
        }
    }
    assert_true(failures > 100);
}

static int run_shortage(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_memory_shortage)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}

int main(void)
{
    int failed = comm_run_threads(relaxed_cases, 1, comm_run_case_once) +
                 comm_run_threads(relaxed_cases + 1, RELAXED_CASES - 1, comm_run_case);
    return failed + run_shortage();
}
