/* The halo exchange with every backend of this build, on 1 to 4 ranks over threads. room: train */
#include "base/log.h"
#include "support/halo_cases.h"
#include "support/test.h"

static weft_status run_rank(weft_comm *comm, void *argument)
{
    weft_hal *hal = NULL;
    comm_set_stall_timeout(comm, 60.0);
    WEFT_TRY(weft_hal_open(argument, 1, &hal));
    weft_status status = halo_all_settings(comm, hal);
    weft_hal_close(hal);
    return status;
}

static void test_backend(void **state)
{
    for (int ranks = 1; ranks <= 4; ++ranks) {
        weft_status status = comm_thread_run(ranks, run_rank, *state);
        if (status != WEFT_OK) {
            fail_msg("%s on %d ranks: %s: %s", (const char *)*state, ranks, weft_status_name(status),
                     weft_error_message());
        }
    }
}

static weft_status no_wait(weft_hal *hal, hal_event *event)
{
    (void)hal, (void)event;
    return WEFT_OK;
}

/* A rank that sends its staging memory without waiting for it, or overwrites what is still uploaded. */
static weft_status run_hasty_rank(weft_comm *comm, void *argument)
{
    weft_hal *hal = NULL;
    comm_set_stall_timeout(comm, 60.0);
    WEFT_TRY(weft_hal_open(argument, 1, &hal));
    hal->stream.wait = no_wait;
    weft_status status = halo_all_settings(comm, hal);
    weft_hal_close(hal);
    return status;
}

/* The shadow device catches a missing wait; on backends that complete at once it makes no difference. */
static void test_missing_wait(void **state)
{
    (void)state;
    log_set_level(LOG_QUIET);
    assert_int_equal(comm_thread_run(2, run_hasty_rank, (void *)(uintptr_t) "cpu"), WEFT_OK);
    assert_int_not_equal(comm_thread_run(2, run_hasty_rank, (void *)(uintptr_t) "shadow"), WEFT_OK);
}

int main(void)
{
    enum { MOST = 16 };
    struct CMUnitTest tests[MOST];
    int count = 0;
    memset(tests, 0, sizeof tests);
    for (const hal_backend *b = weft_hal_backend_at(0); b != NULL && count < MOST - 1; b = weft_hal_backend_at(count)) {
        tests[count].name = b->name;
        tests[count].test_func = test_backend;
        tests[count].initial_state = (void *)(uintptr_t)b->name; /* cmocka takes no const */
        ++count;
    }
    tests[count].name = "missing wait";
    tests[count].test_func = test_missing_wait;
    ++count;
    return _cmocka_run_group_tests("halo", tests, (size_t)count, NULL, NULL);
}
