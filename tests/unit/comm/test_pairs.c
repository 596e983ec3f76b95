/* Latency and bandwidth of every pair of ranks over the thread transport, and a rank that never answers. */
#include "base/log.h"
#include "support/comm_run.h"
#include "support/pairs_cases.h"

/* Rank 2 never comes: whoever measures is told, in time. text: [3][512]. */
static weft_status stall_on_two(weft_comm *comm, void *argument)
{
    char *text = argument;
    comm_pair *pair = NULL;
    int count = 0;
    comm_set_stall_timeout(comm, 1.0);
    if (comm_rank(comm) != 2) {
        const weft_status status = comm_measure_pairs(comm, &pair, &count);
        snprintf(text + (ptrdiff_t)comm_rank(comm) * 512, 512, "%s", weft_error_message());
        CASE_CHECK(status == WEFT_ERR_STALL && pair == NULL && count == 0, "a silent rank gives %s",
                   weft_status_name(status));
    }
    return WEFT_OK;
}

static void test_stall(void **state)
{
    (void)state;
    char text[3][512] = {""};
    ASSERT_OK(comm_thread_run(3, stall_on_two, text));
    if (strstr(text[0], "rank 2") == NULL && strstr(text[1], "rank 2") == NULL) {
        fail_msg("neither \"%s\" nor \"%s\" names rank 2", text[0], text[1]);
    }
}

static void test_pairs(void **state)
{
    (void)state;
    static const int ranks[] = {1, 2, 3, 5};
    for (size_t i = 0; i < sizeof ranks / sizeof *ranks; i++) {
        ASSERT_OK(comm_thread_run(ranks[i], case_pairs, NULL));
    }
}

int main(void)
{
    log_set_level(LOG_QUIET);
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_pairs), cmocka_unit_test(test_stall)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
