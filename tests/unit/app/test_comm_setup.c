/* How long ranks wait for rank 0 while it works alone: --stall-timeout, and longer while that was announced. */
#include <stdatomic.h>
#include <unistd.h>

#include "app/setup/comm_setup.h"
#include "app/workload/app_catalog.h"
#include "support/test.h"

enum { WORK_MICROSECONDS = 1800000 }; /* the stall timeout below is 1 s */

typedef struct patience_case {
    const weft_options *options;
    double extended;
    atomic_bool given_up; /* by rank 1, which rank 0 waits for where nothing was announced */
} patience_case;

static weft_status wait_for_rank_0(weft_comm *comm, void *argument)
{
    patience_case *c = argument;
    const app_context context = {.comm = comm, .options = c->options};
    comm_setup_extend_patience(&context, c->extended);
    if (comm_rank(comm) == 0) {
        usleep(WORK_MICROSECONDS);
        while (c->extended == 0.0 && !atomic_load(&c->given_up)) {
            usleep(1000);
        }
    }
    const weft_status status = comm_barrier(comm);
    atomic_store(&c->given_up, true);
    return status;
}

static void test_patience(void **state)
{
    (void)state;
    const option_command *train = NULL;
    weft_options *options = NULL;
    ASSERT_OK(option_command_find(app_catalog(), "train", &train));
    ASSERT_OK(option_create(train, &options));
    ASSERT_OK(option_assign(options, "stall-timeout", "1"));
    patience_case c = {.options = options, .extended = 60.0};
    ASSERT_OK(comm_thread_run(2, wait_for_rank_0, &c));
    c.extended = 0.0;
    atomic_store(&c.given_up, false);
    ASSERT_STATUS(comm_thread_run(2, wait_for_rank_0, &c), WEFT_ERR_STALL);
    option_destroy(options);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_patience)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
