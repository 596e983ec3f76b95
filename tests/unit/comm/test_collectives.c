/* Every collective over the thread transport, on 1 to 8 ranks. */
#include "support/comm_cases.h"
#include "support/test.h"

static const int rank_counts[] = {1, 2, 3, 4, 7, 8};

static void test_case(void **state)
{
    const comm_case *c = *state;
    for (int i = 0; i < 6; ++i) {
        weft_status status = comm_thread_run(rank_counts[i], c->run, NULL);
        if (status != WEFT_OK) {
            fail_msg("%s on %d ranks: %s: %s", c->name, rank_counts[i], weft_status_name(status), weft_error_message());
        }
    }
}

static void test_self(void **state)
{
    (void)state;
    weft_comm *comm = NULL;
    ASSERT_OK(comm_create_self(&comm));
    assert_string_equal(comm_transport_name(comm), "self");
    for (int i = 0; i < COMM_CASES; ++i) {
        ASSERT_OK(comm_cases[i].run(comm, NULL));
    }
    assert_int_equal(comm_lane_stats(comm, COMM_LANE_CONTROL).bytes_sent, 0);
    comm_destroy(comm);
}

int main(void)
{
    struct CMUnitTest tests[COMM_CASES + 1];
    memset(tests, 0, sizeof tests);
    for (int i = 0; i < COMM_CASES; ++i) {
        tests[i].name = comm_cases[i].name;
        tests[i].test_func = test_case;
        tests[i].initial_state = (void *)(uintptr_t)&comm_cases[i];
    }
    tests[COMM_CASES] = (struct CMUnitTest)cmocka_unit_test(test_self);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
