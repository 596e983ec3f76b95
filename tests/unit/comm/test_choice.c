/*
 * The predicted critical paths against closed forms on even nodes, what is chosen by them, and planning in two levels
 * when memory runs out.
 */
#include "base/log.h"
#include "support/allreduce_cases.h"
#include "support/test.h"

enum { NODES = 4, RANKS = 4, P = NODES * RANKS, COUNT = 1 << 16 };

/* `nodes` nodes of `ranks` ranks, one after the other. */
static comm_layout *even_nodes(int nodes, int ranks)
{
    int leader[256];
    comm_layout *layout = NULL;
    for (int r = 0; r < nodes * ranks; ++r) {
        leader[r] = r / ranks * ranks;
    }
    ASSERT_OK(layout_create(leader, nodes * ranks, &layout));
    return layout;
}

static comm_cost cost_of(comm_algorithm algorithm, const comm_layout *layout, comm_half half, comm_wire wire,
                         bool shared_memory)
{
    const coll_place place = {.size = P, .layout = layout, .half = half, .wire = wire, .shared_memory = shared_memory};
    return coll_algorithm_of(algorithm)->cost(&place, COUNT, 4);
}

/* M = 4 COUNT bytes; n ranks of a node share its link. */
static void test_paths(void **state)
{
    (void)state;
    const int64_t M = 4 * (int64_t)COUNT;
    comm_layout *layout = even_nodes(NODES, RANKS);
    comm_cost cost = cost_of(COMM_ALGO_RECURSIVE_DOUBLING, layout, COMM_WHOLE, COMM_WIRE_SAME, false);
    assert_int_equal(cost.inter_rounds, 2);
    assert_int_equal(cost.inter_bytes, 2 * RANKS * M);
    assert_int_equal(cost.intra_rounds, 2);
    assert_int_equal(cost.intra_bytes, 2 * M);
    cost = cost_of(COMM_ALGO_HALVING_DOUBLING, layout, COMM_WHOLE, COMM_WIRE_SAME, false);
    assert_int_equal(cost.inter_rounds, 4);
    assert_int_equal(cost.inter_bytes, 2 * M * (NODES - 1) / NODES);
    assert_int_equal(cost.intra_rounds, 4);
    assert_int_equal(cost.intra_bytes, 2 * M * (RANKS - 1) / RANKS);
    cost = cost_of(COMM_ALGO_RING, layout, COMM_WHOLE, COMM_WIRE_SAME, false);
    assert_int_equal(cost.inter_rounds, 2 * (P - 1));
    assert_int_equal(cost.inter_bytes, 2 * M * (P - 1) / P);
    assert_int_equal(cost.intra_bytes, 0);
    cost = cost_of(COMM_ALGO_FIXED_ORDER, layout, COMM_WHOLE, COMM_WIRE_SAME, false);
    assert_int_equal(cost.inter_bytes, 2 * M * RANKS * (P - RANKS) / P);
    assert_int_equal(cost.intra_bytes, 2 * M * (RANKS - 1) / P);
    cost = cost_of(COMM_ALGO_FIXED_ORDER, layout, COMM_WHOLE, COMM_WIRE_BF16, false);
    assert_int_equal(cost.inter_bytes, M * RANKS * (P - RANKS) / P);
    for (int memory = 0; memory < 2; ++memory) {
        cost = cost_of(COMM_ALGO_TWO_LEVEL, layout, COMM_WHOLE, COMM_WIRE_SAME, memory != 0);
        assert_int_equal(cost.inter_bytes, 2 * M * (NODES - 1) / NODES);
        assert_int_equal(cost.intra_rounds, memory ? 0 : 2 * (RANKS - 1));
        assert_int_equal(cost.intra_bytes, memory ? 0 : 2 * M * (RANKS - 1) / RANKS);
        assert_int_equal(cost.shared_syncs, memory ? 2 : 0);
        assert_int_equal(cost.shared_bytes, memory ? M * (2 * RANKS + 1) / RANKS : 0);
        cost = cost_of(COMM_ALGO_TWO_LEVEL, layout, COMM_WHOLE, COMM_WIRE_FP16, memory != 0);
        assert_int_equal(cost.inter_bytes, M * (NODES - 1) / NODES);
        cost = cost_of(COMM_ALGO_TWO_LEVEL, layout, COMM_ALL_GATHER, COMM_WIRE_SAME, memory != 0);
        assert_int_equal(cost.inter_bytes, M * (NODES - 1) / NODES);
    }
    cost = cost_of(COMM_ALGO_MASTER, layout, COMM_WHOLE, COMM_WIRE_SAME, true);
    assert_int_equal(cost.inter_bytes, 2 * M * (NODES - 1) / NODES);
    assert_int_equal(cost.intra_rounds, 4);
    assert_int_equal(cost.intra_bytes, 4 * M);
    layout_destroy(layout);
}

/* Ranks dealt out to the nodes one by one: every message of a ring crosses the network. */
static void test_scattered_ring(void **state)
{
    (void)state;
    int leader[P];
    comm_layout *layout = NULL;
    for (int r = 0; r < P; ++r) {
        leader[r] = r % NODES;
    }
    ASSERT_OK(layout_create(leader, P, &layout));
    comm_cost cost = cost_of(COMM_ALGO_RING, layout, COMM_WHOLE, COMM_WIRE_SAME, false);
    assert_int_equal(cost.inter_bytes, RANKS * 2 * 4 * (int64_t)COUNT * (P - 1) / P);
    layout_destroy(layout);
}

static comm_algorithm choose(const comm_model *model, const comm_layout *layout, int64_t count, comm_half half,
                             comm_wire wire, bool shared_memory)
{
    const coll_place place = {.size = layout->first[layout->nodes],
                              .layout = layout,
                              .model = model,
                              .half = half,
                              .wire = wire,
                              .shared_memory = shared_memory};
    return coll_choose_form(&place, count, 4)->id;
}

static void test_choice_on_nodes(void **state)
{
    (void)state;
    comm_model model = comm_model_default();
    comm_layout *layout = even_nodes(4, 4);
    comm_layout *one = even_nodes(1, 4);
    comm_layout *wide = even_nodes(4, 32);
    /* Long vectors: everybody's link moves 2 (m - 1) / m M only by two levels or halving; halving pays it in latency.
     */
    assert_int_equal(choose(&model, layout, 1 << 22, COMM_WHOLE, COMM_WIRE_SAME, true), COMM_ALGO_TWO_LEVEL);
    assert_int_equal(choose(&model, layout, 1 << 22, COMM_REDUCE_SCATTER, COMM_WIRE_SAME, true), COMM_ALGO_TWO_LEVEL);
    assert_int_equal(choose(&model, layout, 1 << 22, COMM_ALL_GATHER, COMM_WIRE_SAME, true), COMM_ALGO_TWO_LEVEL);
    assert_int_equal(choose(&model, layout, 1 << 22, COMM_WHOLE, COMM_WIRE_BF16, true), COMM_ALGO_TWO_LEVEL);
    /* One node: shared memory, also for halves; without it messages. */
    assert_int_equal(choose(&model, one, 1 << 22, COMM_WHOLE, COMM_WIRE_SAME, true), COMM_ALGO_SHARED);
    assert_int_equal(choose(&model, one, 1 << 22, COMM_ALL_GATHER, COMM_WIRE_SAME, true), COMM_ALGO_TWO_LEVEL);
    assert_int_equal(choose(&model, one, 1 << 22, COMM_ALL_GATHER, COMM_WIRE_SAME, false), COMM_ALGO_HALVING_DOUBLING);
    /* Many ranks a node, no shared memory, a short vector: 31 messages in a row inside the node are too many. */
    assert_int_equal(choose(&model, wide, 1 << 8, COMM_WHOLE, COMM_WIRE_SAME, false), COMM_ALGO_MASTER);
    /* A network that costs nothing next to the node's own copies: as flat as can be. */
    model.inter = (comm_link){1e-9, 1e-15};
    model.intra = (comm_link){1e-9, 1e-15};
    model.sync = 1.0;
    assert_true(choose(&model, layout, 1 << 22, COMM_WHOLE, COMM_WIRE_SAME, true) != COMM_ALGO_TWO_LEVEL);
    layout_destroy(layout);
    layout_destroy(one);
    layout_destroy(wide);
}

/* Forms beyond flat ones, planned while memory runs out on one rank: agreed, nobody hangs, nothing is lost. */
static weft_status plan_forms(weft_comm *comm, void *argument)
{
    static float x[4][100];
    static const comm_algorithm algorithms[] = {COMM_ALGO_TWO_LEVEL, COMM_ALGO_MASTER, COMM_ALGO_FIXED_ORDER};
    int n = *(const int *)argument;
    weft_status status = WEFT_OK;
    WEFT_TRY(comm_imitate_nodes(comm, 2));
    if (comm_rank(comm) == 0) {
        weft_alloc_fail_after((uint64_t)n);
    }
    for (int i = 0; i < 3 && status == WEFT_OK; ++i) {
        comm_plan *plan = NULL;
        comm_allreduce_desc desc =
            case_desc(COMM_LANE_GRADIENT, algorithms[i], WEFT_DTYPE_F32, COMM_SUM, 100, x[comm_rank(comm)]);
        desc.wire = i == 2 ? COMM_WIRE_BF16 : COMM_WIRE_SAME;
        status = comm_allreduce_plan(comm, &desc, &plan);
        status = status == WEFT_OK ? comm_post(plan) : status;
        status = status == WEFT_OK ? comm_wait(plan) : status;
        comm_plan_destroy(plan);
    }
    return status;
}

static void test_memory_shortage(void **state)
{
    (void)state;
    int failures = 0;
    log_set_level(LOG_QUIET); /* stages without shared memory say so */
    uint64_t before = weft_mem_usage_of(WEFT_MEM_COMM).current_bytes;
    for (int n = 1; n < 80; ++n) {
        weft_status status = comm_thread_run(3, plan_forms, &n);
        weft_alloc_fail_after(0);
        assert_true(status == WEFT_OK || status == WEFT_ERR_RESOURCE);
        failures += status != WEFT_OK;
        assert_int_equal(weft_mem_usage_of(WEFT_MEM_COMM).current_bytes, before);
    }
    assert_true(failures > 10);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_paths),
        cmocka_unit_test(test_scattered_ring),
        cmocka_unit_test(test_choice_on_nodes),
        cmocka_unit_test(test_memory_shortage),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
