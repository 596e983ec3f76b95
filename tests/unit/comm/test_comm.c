/* The transport of one rank, and what happens when ranks fail, stop or disagree. */
#include <time.h>

#include "support/comm_cases.h"
#include "support/test.h"

static void test_self(void **state)
{
    (void)state;
    weft_comm *comm = NULL;
    ASSERT_OK(comm_create_self(&comm));
    assert_string_equal(comm_transport_name(comm), "self");
    assert_int_equal(comm_node_size(comm), 1);
    for (int i = 0; i < COMM_CASES; ++i) {
        ASSERT_OK(comm_cases[i].run(comm, NULL));
    }
    assert_int_equal(comm_lane_stats(comm, COMM_LANE_CONTROL).bytes_sent, 0);
    comm_destroy(comm);
}

/* Rank `argument` fails while the others are on their way through collectives. */
static weft_status fail_on_one(weft_comm *comm, void *argument)
{
    const int *failing = argument;
    float x[64] = {0};
    for (int i = 0; i < 1000; ++i) {
        if (comm_rank(comm) == *failing && i == 17) {
            return weft_fail(WEFT_ERR_DIVERGED, "loss is NaN");
        }
        weft_status status = comm_allreduce(comm, x, 64, WEFT_DTYPE_F32, COMM_SUM);
        if (status != WEFT_OK) {
            CASE_CHECK(status == WEFT_ERR_LAUNCH, "the others get %s", weft_status_name(status));
            CASE_CHECK(strstr(weft_error_message(), "loss is NaN") != NULL, "%s", weft_error_message());
            return status;
        }
    }
    return WEFT_OK;
}

static void test_failing_rank_ends_all(void **state)
{
    (void)state;
    for (int failing = 0; failing < 4; ++failing) {
        ASSERT_STATUS(comm_thread_run(4, fail_on_one, &failing), WEFT_ERR_DIVERGED);
        char who[16];
        snprintf(who, sizeof who, "rank %d", failing);
        ASSERT_MESSAGE("loss is NaN");
        ASSERT_MESSAGE(who);
    }
}

/* Rank 2 never enters the all-reduce: the ranks that wait for it say so. */
static weft_status stall_on_two(weft_comm *comm, void *argument)
{
    char *text = argument; /* [4][512] */
    float x[8] = {0};
    comm_plan *plan = NULL;
    comm_allreduce_desc desc = case_desc(COMM_LANE_GRADIENT, COMM_ALGO_RING, WEFT_DTYPE_F32, COMM_SUM, 8, x);
    comm_set_stall_timeout(comm, 1.0);
    WEFT_TRY(comm_allreduce_plan(comm, &desc, &plan));
    weft_status status = WEFT_OK;
    if (comm_rank(comm) != 2) {
        status = comm_post(plan);
        status = status == WEFT_OK ? comm_wait(plan) : status;
        snprintf(text + (ptrdiff_t)comm_rank(comm) * 512, 512, "%s", weft_error_message());
        CASE_CHECK(status == WEFT_ERR_STALL, "a stalled wait gives %s", weft_status_name(status));
        status = WEFT_OK;
    }
    comm_plan_destroy(plan);
    return status;
}

static void test_stall_names_the_missing_rank(void **state)
{
    (void)state;
    char text[4][512] = {""};
    ASSERT_OK(comm_thread_run(4, stall_on_two, text));
    /* Rank 3 hears from rank 2 and rank 1 sends to it. */
    assert_non_null(strstr(text[3], "rank 3, lane gradient, all-reduce ring of 8 float32 sum"));
    assert_non_null(strstr(text[3], "reduce-scatter, round 1 of 6: no message from rank 2, 8 bytes expected"));
    assert_non_null(strstr(text[1], "rank 2 has not taken a message of 8 bytes"));
}

/* One rank broadcasts fewer bytes than the others expect. */
static weft_status disagree_on_bytes(weft_comm *comm, void *argument)
{
    (void)argument;
    char data[64] = "";
    return comm_bcast(comm, 0, data, comm_rank(comm) == 0 ? 60 : 64);
}

static void test_lengths_that_differ_are_refused(void **state)
{
    (void)state;
    ASSERT_STATUS(comm_thread_run(2, disagree_on_bytes, NULL), WEFT_ERR_INTERNAL);
    ASSERT_MESSAGE("60 bytes and received with 64");
}

/* Plans and splits under memory shortage: the failure is agreed, nobody hangs, nothing is lost. */
static weft_status plan_and_split(weft_comm *comm, void *argument)
{
    int n = *(const int *)argument;
    float x[100] = {0};
    comm_plan *plan = NULL;
    weft_comm *half = NULL;
    comm_allreduce_desc desc =
        case_desc(COMM_LANE_GRADIENT, COMM_ALGO_HALVING_DOUBLING, WEFT_DTYPE_F32, COMM_SUM, 100, x);
    WEFT_TRY(comm_barrier(comm));
    if (comm_rank(comm) == 0) {
        weft_alloc_fail_after((uint64_t)n);
    }
    weft_status status = comm_allreduce_plan(comm, &desc, &plan);
    status = status == WEFT_OK ? comm_split(comm, comm_rank(comm) % 2, 0, &half) : status;
    comm_plan_destroy(plan);
    comm_destroy(half);
    return status;
}

static void test_memory_shortage_is_agreed(void **state)
{
    (void)state;
    int failures = 0;
    uint64_t before = weft_mem_usage_of(WEFT_MEM_COMM).current_bytes;
    for (int n = 1; n < 60; ++n) {
        weft_status status = comm_thread_run(3, plan_and_split, &n);
        weft_alloc_fail_after(0);
        assert_true(status == WEFT_OK || status == WEFT_ERR_RESOURCE);
        failures += status != WEFT_OK;
        assert_int_equal(weft_mem_usage_of(WEFT_MEM_COMM).current_bytes, before);
    }
    assert_true(failures > 10);
}

static comm_algorithm chosen(int size, int64_t count)
{
    comm_model model = comm_model_default();
    comm_layout *layout = NULL;
    int leader[8] = {0, 1, 2, 3, 4, 5, 6, 7};
    assert_int_equal(layout_create(leader, size, &layout), WEFT_OK);
    comm_algorithm id = coll_choose(&model, layout, size, count, WEFT_DTYPE_F32)->id;
    layout_destroy(layout);
    return id;
}

static void test_choice_follows_size(void **state)
{
    (void)state;
    assert_int_equal(chosen(8, 10), COMM_ALGO_RECURSIVE_DOUBLING);
    assert_int_equal(chosen(8, 1 << 20), COMM_ALGO_HALVING_DOUBLING);
    assert_int_equal(chosen(7, 10), COMM_ALGO_RECURSIVE_DOUBLING);
    assert_int_equal(chosen(7, 1 << 20), COMM_ALGO_RING);
    assert_int_equal(chosen(1, 1 << 20), COMM_ALGO_RECURSIVE_DOUBLING);
    assert_string_equal(comm_algorithm_name(COMM_ALGO_AUTO), "auto");
    assert_string_equal(comm_algorithm_name(COMM_ALGO_FIXED_ORDER), "fixed-order");
    assert_string_equal(comm_algorithm_name((comm_algorithm)99), "unknown");
}

static void test_mpi_has_a_name(void **state)
{
    (void)state;
    char text[64] = "";
    comm_mpi_version(text, sizeof text);
    assert_true(strlen(text) > 3 && strchr(text, '\n') == NULL);
}

/* ---- messages in the memory of devices --------------------------------------------------------------------------- */

static int spoken_by_rank[2]; /* what the transports of this test say of CUDA's memory */

static int say_by_rank(transport *t)
{
    return spoken_by_rank[t->rank];
}

/* One choice of both ranks, of which rank 1 computes on `device`. */
typedef struct direct_case {
    weft_hal device;
    comm_direct wish;
    int takes[2];
    weft_status status;
    const char *road; /* in what is told; NULL: nothing is */
    bool straight;    /* rows of rank 1 go so */
} direct_case;

static weft_status choose_direct(weft_comm *comm, const direct_case *c)
{
    const weft_hal host = {.mem = {.kind = HAL_MEM_HOST}};
    const weft_hal *hal = comm_rank(comm) == 1 ? &c->device : &host;
    const transport_ops *usual = comm->transport->ops;
    transport_ops ops = *usual;
    char road[COMM_ROAD_BYTES];
    ops.takes_cuda = say_by_rank;
    comm->transport->ops = &ops;
    weft_status status = comm_choose_direct(comm, hal, c->wish, road);
    comm->transport->ops = usual;
    CASE_CHECK(status == c->status, "the choice gives %s", weft_status_name(status));
    const char *told = status == WEFT_OK ? road : weft_error_message();
    CASE_CHECK(c->road != NULL ? strstr(told, c->road) != NULL : told[0] == '\0', "told: %.200s", told);
    CASE_CHECK(hal == &host || status != WEFT_OK || comm->straight[hal->mem.reach] == c->straight, "not %d",
               (int)c->straight);
    weft_error_clear();
    return WEFT_OK;
}

static weft_status choose_on_rank(weft_comm *comm, void *argument)
{
    weft_comm *group = NULL;
    WEFT_TRY(choose_direct(comm, argument));
    WEFT_TRY(comm_split(comm, 0, 0, &group));
    weft_status status = memcmp(group->straight, comm->straight, sizeof comm->straight) == 0
                             ? WEFT_OK
                             : weft_fail(WEFT_ERR_INTERNAL, "a group does otherwise");
    comm_destroy(group);
    return status;
}

static void test_messages_in_device_memory(void **state)
{
    (void)state;
    const weft_hal cuda = {.mem = {.kind = HAL_MEM_DEVICE, .reach = HAL_REACH_CUDA}};
    const weft_hal imitated = {.mem = {.kind = HAL_MEM_DEVICE, .reach = HAL_REACH_ALL}};
    const weft_hal closed = {.mem = {.kind = HAL_MEM_DEVICE}};
    const weft_hal host = {.mem = {.kind = HAL_MEM_HOST}};
    direct_case cases[] = {
        {cuda, COMM_DIRECT_AUTO, {1, 1}, WEFT_OK, "straight to ", true},
        {cuda, COMM_DIRECT_AUTO, {0, 1}, WEFT_OK, "takes no device memory; one that was built with CUDA does", false},
        {cuda, COMM_DIRECT_AUTO, {1, -1}, WEFT_OK, "--gpu-direct on if it does", false},
        {cuda, COMM_DIRECT_ON, {1, -1}, WEFT_OK, "straight to ", true},
        {cuda, COMM_DIRECT_ON, {0, -1}, WEFT_ERR_UNSUPPORTED, "--gpu-direct on: ", false},
        {cuda, COMM_DIRECT_OFF, {1, 1}, WEFT_OK, "through pinned host memory: --gpu-direct off", false},
        {imitated, COMM_DIRECT_AUTO, {0, 0}, WEFT_OK, "straight to ", true},
        {imitated, COMM_DIRECT_OFF, {0, 0}, WEFT_OK, "--gpu-direct off", false},
        {closed, COMM_DIRECT_AUTO, {1, 1}, WEFT_OK, "no library reaches", false},
        {closed, COMM_DIRECT_ON, {1, 1}, WEFT_ERR_UNSUPPORTED, "no library reaches", false},
        {host, COMM_DIRECT_ON, {0, 0}, WEFT_OK, NULL, false},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; ++i) {
        memcpy(spoken_by_rank, cases[i].takes, sizeof spoken_by_rank);
        ASSERT_OK(comm_thread_run(2, choose_on_rank, &cases[i]));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_self),
        cmocka_unit_test(test_failing_rank_ends_all),
        cmocka_unit_test(test_stall_names_the_missing_rank),
        cmocka_unit_test(test_lengths_that_differ_are_refused),
        cmocka_unit_test(test_memory_shortage_is_agreed),
        cmocka_unit_test(test_choice_follows_size),
        cmocka_unit_test(test_mpi_has_a_name),
        cmocka_unit_test(test_messages_in_device_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
