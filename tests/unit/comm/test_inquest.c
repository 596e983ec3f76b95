/* What a stalled job says of its cause, from figures; and that ranks which began to wait later come to the inquest. */
#include <time.h>

#include "comm/core/comm_internal.h"
#include "comm/core/inquest.h"
#include "support/comm_cases.h"
#include "support/test.h"

enum { RANKS = 4 };

/* ---- the text -------------------------------------------------------------------------------------------- */
/* heard and node: a digit for each rank. */
static const char *text_of(const char *heard, const char *node)
{
    static char text[INQUEST_TEXT_BYTES];
    bool is_heard[RANKS];
    int node_of[RANKS];
    inquest_card card[RANKS];
    for (int q = 0; q < RANKS; ++q) {
        is_heard[q] = heard[q] == '1';
        node_of[q] = node[q] - '0';
        snprintf(card[q].host, sizeof card[q].host, "h%d", node_of[q]);
        snprintf(card[q].place, sizeof card[q].place, "place %d", q);
    }
    const inquest_facts facts = {
        .ranks = RANKS, .heard = is_heard, .card = card, .node_of = node_of, .still_seconds = 5.94};
    inquest_write(&facts, text, sizeof text);
    return text;
}

/* `first` comes before `second`, and nothing accuses the program before them. */
static void expect(const char *heard, const char *node, const char *who, const char *first, const char *second)
{
    const char *text = text_of(heard, node);
    const char *a = strstr(text, first);
    const char *b = strstr(text, second);
    if (strstr(text, who) == NULL || a == NULL || b == NULL || a > b || strstr(text, "moved for 5.9 s") == NULL) {
        fail_msg("heard %s, nodes %s: %s", heard, node, text);
    }
}

static void test_causes(void **state)
{
    (void)state;
    expect("1100", "0011", "ranks 2, 3 of 4 do not answer", "the network between the nodes is cut", "stopped (SIGSTOP");
    expect("1110", "0001", "rank 3 of 4 does not answer", "the network between the nodes is cut", "stopped (SIGSTOP");
    expect("1011", "0000", "rank 1 of 4 does not answer", "the process is stopped (SIGSTOP", "connection was lost");
    expect("1010", "0011", "ranks 1, 3 of 4 do not answer", "the processes are stopped", "connection was lost");
    expect("1000", "0011", "ranks 1, 2, 3 of 4 do not answer", "the processes are stopped", "connection was lost");
    expect("1111", "0011", "all 4 ranks answer", "Most likely a connection between two ranks broke", "out of step");
    expect("1111", "0000", "all 4 ranks answer", "where ranks talk over TCP, a connection between", "out of step");
    const char *lines = text_of("1011", "0011");
    assert_non_null(strstr(lines, "\n    rank 0 on h0: place 0\n    rank 2 on h1: place 2\n    rank 3 on h1: place 3"));
    assert_null(strstr(lines, "rank 1 on"));
}

/* A text that does not fit is cut, not written past its end. */
static void test_short_text(void **state)
{
    (void)state;
    bool heard[RANKS] = {true, true, true, true};
    int node_of[RANKS] = {0};
    inquest_card card[RANKS] = {{"", ""}};
    char text[64];
    const inquest_facts facts = {.ranks = RANKS, .heard = heard, .card = card, .node_of = node_of};
    memset(text, 'x', sizeof text);
    inquest_write(&facts, text, 40);
    assert_int_equal(strlen(text), 39);
    for (size_t i = 40; i < sizeof text; ++i) {
        assert_int_equal(text[i], 'x');
    }
}

/* ---- the call -------------------------------------------------------------------------------------------- */
#define LIMIT    1.5
#define PATIENCE 60.0 /* a rank with this limit gives up in time only if it is called, and listens for 3 s */

static void nap(double seconds)
{
    struct timespec pause = {.tv_sec = (time_t)seconds, .tv_nsec = (long)((seconds - (double)(time_t)seconds) * 1e9)};
    nanosleep(&pause, NULL);
}

/* Rank 0 waits from the start and gives up, rank 2, which would wait for long, from half that limit on until it is
 * called, rank 1 comes to the inquest only. */
static weft_status late_waiter(weft_comm *comm, void *argument)
{
    comm_inquest *result = argument; /* [3] */
    float x[8] = {0};
    int rank = comm_rank(comm);
    comm_plan *plan = NULL;
    comm_allreduce_desc desc = case_desc(COMM_LANE_GRADIENT, COMM_ALGO_RING, WEFT_DTYPE_F32, COMM_SUM, 8, x);
    comm_set_stall_timeout(comm, PATIENCE);
    WEFT_TRY(comm_allreduce_plan(comm, &desc, &plan));
    WEFT_TRY(comm_barrier(comm));
    if (rank == 1) {
        nap(1.1 * LIMIT);
        comm_hold_inquest(comm, "here", "elsewhere", &result[rank]);
    } else {
        comm_set_stall_timeout(comm, rank == 0 ? LIMIT : PATIENCE);
        nap(rank == 2 ? 0.5 * LIMIT : 0.0);
        weft_status status = comm_post(plan);
        status = status == WEFT_OK ? comm_wait(plan) : status;
        CASE_CHECK(status == WEFT_ERR_STALL, "rank %d: %s", rank, weft_status_name(status));
        CASE_CHECK(rank == 0 || strstr(weft_error_message(), "and another rank gave up") != NULL, "rank %d: %s", rank,
                   weft_error_message());
        char place[256];
        snprintf(place, sizeof place, "%s", weft_error_message());
        comm_set_stall_timeout(comm, PATIENCE);
        comm_hold_inquest(comm, "here", place, &result[rank]);
    }
    comm_plan_destroy(plan);
    return WEFT_OK;
}

static void test_late_waiters_come(void **state)
{
    (void)state;
    comm_inquest result[3];
    ASSERT_OK(comm_thread_run(3, late_waiter, result));
    for (int q = 0; q < 3; ++q) {
        assert_int_equal(result[q].silent, 0);
        assert_true(result[q].speaks == (q == 0));
    }
    assert_non_null(strstr(result[0].text, "a message was lost"));
    assert_non_null(strstr(result[0].text, "rank 1 on here: elsewhere"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_causes),
        cmocka_unit_test(test_short_text),
        cmocka_unit_test(test_late_waiters_come),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
