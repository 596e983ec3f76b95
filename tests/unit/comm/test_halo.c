/* The halo exchange over the thread transport, on 1 to 8 ranks; its failures where rows lie in shared memory. */
#include "base/log.h"
#include "support/comm_run.h"
#include "support/halo_cases.h"

/* ---- failures ---------------------------------------------------------------------------------------------------- */
enum { WIDTH = 4, TEXT_BYTES = 512 };

typedef struct halo_failure {
    char text[4][TEXT_BYTES]; /* by rank */
    int shared, messages;     /* jobs that had a window, and that did without */
} halo_failure;

typedef weft_status (*halo_failing_fn)(weft_comm *comm, comm_halo *halo, float *x, halo_failure *failure);

/* fn with a halo of the usual setting. */
static weft_status with_halo(weft_comm *comm, halo_failing_fn fn, halo_failure *failure)
{
    const halo_setting setting = {.shuffled = true};
    weft_status status = WEFT_OK;
    weft_hal hal = fake_hal(false);
    comm_halo *halo = NULL;
    float *x = calloc((size_t)HALO_VERTICES * WIDTH, sizeof *x);
    halo_local *local = malloc(sizeof *local);
    halo_build(comm_rank(comm), comm_size(comm), &setting, local);
    const comm_halo_desc desc = halo_desc_of(local);
    WEFT_TRY_GOTO(comm_halo_create(comm, &hal, &desc, WIDTH, &halo), status, done);
    status = fn(comm, halo, x, failure);
done:
    comm_halo_destroy(halo);
    free(local);
    free(x);
    return status;
}

static weft_status exchange(comm_halo *halo, halo_direction direction, float *x)
{
    WEFT_TRY(comm_halo_post(halo, direction, WEFT_DTYPE_F32, x, WIDTH, WIDTH));
    return comm_halo_wait(halo);
}

/* Rank 2, which has replicas of 0 and 3 alone, never comes: they name it. */
static weft_status stall_on_two(weft_comm *comm, comm_halo *halo, float *x, halo_failure *failure)
{
    comm_set_stall_timeout(comm, 0.2);
    if (comm_rank(comm) != 2) {
        weft_status status = exchange(halo, HALO_REVERSE, x);
        snprintf(failure->text[comm_rank(comm)], TEXT_BYTES, "%s", weft_error_message());
        CASE_CHECK(status == (comm_rank(comm) == 1 ? WEFT_OK : WEFT_ERR_STALL), "a stalled wait gives %s",
                   weft_status_name(status));
    }
    return WEFT_OK;
}

static weft_status run_stall(weft_comm *comm, void *argument)
{
    return with_halo(comm, stall_on_two, argument);
}

static void test_stall_names_the_missing_rank(void **state)
{
    (void)state;
    halo_failure failure = {0};
    ASSERT_OK(comm_thread_run(4, run_stall, &failure));
    for (int rank = 0; rank < 4; rank += 3) {
        if (strstr(failure.text[rank], "lane halo, halo reverse") == NULL ||
            strstr(failure.text[rank], "rank 2 has not come") == NULL) {
            fail_msg("rank %d says: %s", rank, failure.text[rank]);
        }
    }
}

/* Rank 1 fails while the other waits for it. */
static weft_status fail_on_one(weft_comm *comm, comm_halo *halo, float *x, halo_failure *failure)
{
    (void)failure;
    for (int k = 0; k < 10; ++k) {
        if (comm_rank(comm) == 1 && k == 5) {
            return weft_fail(WEFT_ERR_DIVERGED, "loss is NaN");
        }
        WEFT_TRY(exchange(halo, HALO_FORWARD, x));
    }
    return WEFT_OK;
}

static weft_status run_fail(weft_comm *comm, void *argument)
{
    return with_halo(comm, fail_on_one, argument);
}

static void test_failing_rank_ends_all(void **state)
{
    (void)state;
    ASSERT_STATUS(comm_thread_run(2, run_fail, NULL), WEFT_ERR_DIVERGED);
    ASSERT_MESSAGE("loss is NaN");
}

static weft_status note_way(weft_comm *comm, comm_halo *halo, float *x, halo_failure *failure)
{
    WEFT_TRY(exchange(halo, HALO_FORWARD, x));
    if (comm_rank(comm) == 0) {
        const comm_stats stats = comm_lane_stats(comm, COMM_LANE_HALO);
        failure->shared += stats.shared_bytes > 0;
        failure->messages += stats.messages_sent > 0;
    }
    return WEFT_OK;
}

static weft_status run_note(weft_comm *comm, void *argument)
{
    return with_halo(comm, note_way, argument);
}

/* The n-th allocation fails: there is no window and rows travel in messages, or there is no halo; nothing is lost. */
static void test_shortage(void **state)
{
    (void)state;
    halo_failure failure = {0};
    const uint64_t before = weft_mem_usage_total().current_bytes;
    log_set_level(LOG_QUIET);
    for (uint64_t n = 1; n < 150; ++n) { /* past the last allocation */
        weft_alloc_fail_after(n);
        weft_status status = comm_thread_run(2, run_note, &failure);
        weft_alloc_fail_after(0);
        assert_true(status == WEFT_OK || status == WEFT_ERR_RESOURCE);
        assert_int_equal(weft_mem_usage_total().current_bytes, before);
    }
    log_set_level(LOG_INFO);
    assert_true(failure.shared > 10 && failure.messages > 3);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_stall_names_the_missing_rank),
        cmocka_unit_test(test_failing_rank_ends_all),
        cmocka_unit_test(test_shortage),
    };
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    return failed + comm_run_threads(halo_cases, HALO_CASES, comm_run_case);
}
