/* Windows and the all-reduce in shared memory over the thread transport, on 1 to 8 ranks; its failures. */
#include "base/log.h"
#include "comm/coll/shared.h"
#include "support/comm_run.h"
#include "support/window_cases.h"

/* ---- failures ---------------------------------------------------------------------------------------------------- */
/* Rank 2 never comes: the others name it. text: [4][512]. */
static weft_status stall_on_two(weft_comm *comm, void *argument)
{
    char *text = argument;
    float x[3000] = {0};
    comm_plan *plan = NULL;
    comm_allreduce_desc desc = case_desc(COMM_LANE_GRADIENT, COMM_ALGO_SHARED, WEFT_DTYPE_F32, COMM_SUM, 3000, x);
    comm_set_stall_timeout(comm, 1.0);
    WEFT_TRY(comm_allreduce_plan(comm, &desc, &plan));
    if (comm_rank(comm) != 2) {
        weft_status status = comm_post(plan);
        status = status == WEFT_OK ? comm_wait(plan) : status;
        snprintf(text + (ptrdiff_t)comm_rank(comm) * 512, 512, "%s", weft_error_message());
        CASE_CHECK(status == WEFT_ERR_STALL, "a stalled wait gives %s", weft_status_name(status));
    }
    comm_plan_destroy(plan);
    return WEFT_OK;
}

static void test_stall_names_the_missing_rank(void **state)
{
    (void)state;
    char text[4][512] = {""};
    ASSERT_OK(comm_thread_run(4, stall_on_two, text));
    for (int rank = 0; rank < 4; ++rank) {
        if (rank != 2 && strstr(text[rank], "rank 2 has not come") == NULL) {
            fail_msg("rank %d says: %s", rank, text[rank]);
        }
    }
}

/* Rank 1 fails while the others wait for it in shared memory. */
static weft_status fail_on_one(weft_comm *comm, void *argument)
{
    (void)argument;
    float x = 1.0f;
    for (int i = 0; i < 100; ++i) {
        if (comm_rank(comm) == 1 && i == 20) {
            return weft_fail(WEFT_ERR_DIVERGED, "loss is NaN");
        }
        WEFT_TRY(comm_allreduce(comm, &x, 1, WEFT_DTYPE_F32, COMM_MAX));
    }
    return WEFT_OK;
}

static void test_failing_rank_ends_all(void **state)
{
    (void)state;
    ASSERT_STATUS(comm_thread_run(3, fail_on_one, NULL), WEFT_ERR_DIVERGED);
    ASSERT_MESSAGE("loss is NaN");
}

/* The n-th allocation fails: a buffer lies in ordinary memory or there is none, a plan sends messages or there is none;
 * whatever is made works. outcome: how often [windows, ordinary memory, refusals]. */
typedef struct shortage {
    int n;
    int outcome[3];
} shortage;

static weft_status under_shortage(weft_comm *comm, void *argument)
{
    shortage *s = argument;
    void *buffer = NULL;
    int64_t offset = 0;
    WEFT_TRY(comm_barrier(comm));
    if (comm_rank(comm) == 0) {
        weft_alloc_fail_after((uint64_t)s->n);
    }
    weft_status status = comm_buffer_alloc(comm, 4000, &buffer);
    int outcome = status != WEFT_OK ? 2 : comm_buffer_window(comm, buffer, 4000, &offset) != NULL ? 0 : 1;
    if (comm_rank(comm) == 0) {
        ++s->outcome[outcome];
    }
    if (status == WEFT_OK) {
        comm_allreduce_desc desc =
            case_desc(COMM_LANE_GRADIENT, COMM_ALGO_AUTO, WEFT_DTYPE_F32, COMM_SUM, 1000, buffer);
        status = case_one_allreduce(comm, &desc);
    }
    comm_buffer_free(comm, buffer);
    return status;
}

static void test_shortage(void **state)
{
    (void)state;
    shortage s = {0};
    uint64_t before = weft_mem_usage_of(WEFT_MEM_COMM).current_bytes;
    log_set_level(LOG_QUIET); /* every shortage is told */
    for (s.n = 1; s.n < 120; ++s.n) {
        weft_status status = comm_thread_run(3, under_shortage, &s);
        weft_alloc_fail_after(0);
        assert_true(status == WEFT_OK || status == WEFT_ERR_RESOURCE);
        assert_int_equal(weft_mem_usage_of(WEFT_MEM_COMM).current_bytes, before);
    }
    log_set_level(LOG_INFO);
    assert_true(s.outcome[0] > 10 && s.outcome[1] > 3);
}

static void test_one_node_shares(void **state)
{
    (void)state;
    comm_model model = comm_model_default();
    comm_layout *layout = NULL;
    for (int size = 2; size <= 8; ++size) {
        assert_int_equal(layout_create(NULL, size, &layout), WEFT_OK);
        for (int64_t count = 1; count < 1 << 28; count *= 4) {
            assert_int_equal(coll_choose(&model, layout, size, count, WEFT_DTYPE_F32)->id, COMM_ALGO_SHARED);
        }
        layout_destroy(layout);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_stall_names_the_missing_rank),
        cmocka_unit_test(test_failing_rank_ends_all),
        cmocka_unit_test(test_shortage),
        cmocka_unit_test(test_one_node_shares),
    };
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    return failed + comm_run_threads(window_cases, WINDOW_CASES, comm_run_case_once);
}
