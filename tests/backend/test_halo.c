/* The halo exchange with every backend of this build, on 1 to 4 ranks over threads. room: train */
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

int main(void)
{
    enum { MOST = 16 };
    struct CMUnitTest tests[MOST];
    int count = 0;
    memset(tests, 0, sizeof tests);
    for (const hal_backend *b = weft_hal_backend_at(0); b != NULL && count < MOST; b = weft_hal_backend_at(count)) {
        tests[count].name = b->name;
        tests[count].test_func = test_backend;
        tests[count].initial_state = (void *)(uintptr_t)b->name; /* cmocka takes no const */
        ++count;
    }
    return _cmocka_run_group_tests("halo", tests, (size_t)count, NULL, NULL);
}
