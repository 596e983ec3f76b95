/*
 * Real launches: whatever masks mpirun gave, the ranks of a node end on disjoint cores, all of them used.
 * ranks: 1 2
 * launch: default
 * The optional argument "healed" demands that the launcher's masks were found bad and replaced.
 */
#include <mpi.h>
#include <omp.h>
#include <sched.h>

#include "base/log.h"
#include "machine/placement.h"
#include "support/test.h"

enum { MAX_RANKS = 64, MAX_THREADS = 256 };

static const char *expectation = "";
static int node_rank;
static int node_ranks;

/* Where thread i of a team of `threads` may run, as the kernel says. */
static void read_masks(int threads, cpu_set *masks)
{
#pragma omp parallel num_threads(threads)
    {
        int i = omp_get_thread_num();
        memset(&masks[i], 0, sizeof masks[i]);
        sched_getaffinity(0, sizeof masks[i], (cpu_set_t *)(void *)&masks[i]);
    }
}

static void check_threads(const placement *plan)
{
    static cpu_set masks[MAX_THREADS];
    assert_true(plan->threads <= MAX_THREADS);
    assert_int_equal(omp_get_max_threads(), plan->threads);
    read_masks(plan->threads, masks);
    assert_true(cpu_set_equal(&masks[0], &plan->mask));
    for (int i = 1; i < plan->threads; i++) {
        assert_int_equal(cpu_set_count(&masks[i]), 1);
        assert_true(cpu_set_has(&masks[i], plan->cpu[i]));
    }
}

/* Threads of a pool that shrank and grew again must not pile up on one CPU. */
static void check_regrowth(const placement *plan)
{
    static cpu_set masks[MAX_THREADS];
    read_masks(1, masks);
    read_masks(plan->threads, masks);
    for (int i = 1; i < plan->threads; i++) {
        assert_true(cpu_set_equal(&masks[i], &plan->mask) || cpu_set_has(&masks[i], plan->cpu[i]));
    }
    placement_refresh(plan);
    check_threads(plan);
}

static void test_launch(void **state)
{
    (void)state;
    static cpu_set masks[MAX_RANKS];
    static cpu_set planned[MAX_RANKS];
    assert_true(node_ranks <= MAX_RANKS);
    machine m;
    cpu_set mine;
    ASSERT_OK(machine_detect(&m));
    ASSERT_OK(placement_current_mask(&mine));
    MPI_Allgather(&mine, (int)sizeof mine, MPI_BYTE, masks, (int)sizeof mine, MPI_BYTE, MPI_COMM_WORLD);
    placement_request request = {
        .node_ranks = node_ranks, .node_rank = node_rank, .masks = masks, .threads = 0, .pin = PIN_AUTO};
    placement plan;
    ASSERT_OK(placement_plan(&m, &request, &plan));
    ASSERT_OK(placement_apply(&plan));
    MPI_Allgather(&plan.mask, (int)sizeof plan.mask, MPI_BYTE, planned, (int)sizeof plan.mask, MPI_BYTE,
                  MPI_COMM_WORLD);

    cpu_set together;
    memset(&together, 0, sizeof together);
    int cores = 0;
    for (int r = 0; r < node_ranks; r++) {
        for (int q = 0; q < r; q++) {
            assert_false(cpu_set_intersects(&planned[r], &planned[q]));
        }
        for (size_t w = 0; w < sizeof together.bits / sizeof together.bits[0]; w++) {
            together.bits[w] |= planned[r].bits[w];
        }
    }
    for (int i = 0; i < m.cores; i++) {
        cores += m.core[i].allowed;
    }
    if (node_rank == 0) {
        char line[512];
        placement_describe(&m, "here", node_ranks, &plan, &together, line, sizeof line);
        puts(line);
    }
    if (cores >= node_ranks) {
        assert_true(plan.pinned);
        assert_int_equal(cpu_set_count(&together), cores / node_ranks * node_ranks);
        check_threads(&plan);
        check_regrowth(&plan);
    }
    if (strcmp(expectation, "healed") == 0) {
        assert_true(plan.healed);
    }
    placement_free(&plan);
    machine_free(&m);
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &node_rank);
    MPI_Comm_size(MPI_COMM_WORLD, &node_ranks);
    log_set_speaker(node_rank == 0);
    if (argc > 1) {
        expectation = argv[1];
    }
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_launch)};
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    if (failed != 0) {
        MPI_Abort(MPI_COMM_WORLD, 1); /* the others may wait in a collective */
    }
    MPI_Finalize();
    return 0;
}
