/* METIS behind its guards, and the child process that it runs in. */
#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/log.h"
#include "partition/methods/child.h"
#include "partition/methods/metis_call.h"
#include "support/graphs.h"
#include "support/test.h"

static adjacency adjacency_of(const test_graph *g)
{
    return (adjacency){
        .vertices = g->graph.vertices, .entries = g->graph.edges, .offset = g->offset, .neighbour = g->source};
}

static void test_parts_are_filled_and_balanced(void **state)
{
    (void)state;
    test_graph g = test_graph_communities(1600, 12000, 16, 85, 3);
    adjacency a = adjacency_of(&g);
    uint16_t part[1600], again[1600];
    for (int k = 2; k <= 200; k *= 10) {
        int64_t weight[200] = {0}, most = 0;
        ASSERT_OK(metis_partition(&a, k, NULL, 9, 2, 0, part));
        ASSERT_OK(metis_partition(&a, k, NULL, 9, 1, 0, again));
        assert_memory_equal(part, again, sizeof part);
        for (int v = 0; v < 1600; ++v) {
            assert_true(part[v] < k);
            weight[part[v]] += g.offset[v + 1] - g.offset[v] + 1;
        }
        for (int p = 0; p < k; ++p) {
            assert_true(weight[p] > 0);
            most = weight[p] > most ? weight[p] : most;
        }
        assert_true(k > 20 || (double)most * k / (double)(a.entries + a.vertices) < 1.1);
    }
    test_graph_free(&g);
}

static void test_one_part_needs_no_metis(void **state)
{
    (void)state;
    test_graph g = test_graph_random(5, 10, true, 1);
    adjacency a = adjacency_of(&g);
    uint16_t part[5] = {9, 9, 9, 9, 9}, zero[5] = {0};
    ASSERT_OK(metis_partition(&a, 1, NULL, 0, 1, 0, part));
    assert_memory_equal(part, zero, sizeof part);
    test_graph_free(&g);
}

static void test_too_many_parts_are_refused(void **state)
{
    (void)state;
    test_graph g = test_graph_random(100, 400, true, 1);
    adjacency a = adjacency_of(&g);
    uint16_t part[100];
    ASSERT_STATUS(metis_partition(&a, 13, NULL, 0, 1, 0, part), WEFT_ERR_UNSUPPORTED);
    ASSERT_MESSAGE("at most 12 parts");
    test_graph_free(&g);
}

/* A star is METIS's worst case: nothing to cut well, and parts stay empty. They must not. */
static void test_empty_parts_are_repaired(void **state)
{
    (void)state;
    enum { N = 900 };
    test_edges edges = {0};
    for (int64_t v = 1; v < N; ++v) {
        test_edge(&edges, 0, v);
    }
    test_graph g = test_graph_build(N, &edges, true, false);
    adjacency a = adjacency_of(&g);
    uint16_t part[N];
    int count[N / 8] = {0};
    ASSERT_OK(metis_partition(&a, N / 8, NULL, 0, 1, 0, part));
    for (int v = 0; v < N; ++v) {
        ++count[part[v]];
    }
    for (int p = 0; p < N / 8; ++p) {
        assert_true(count[p] > 0);
    }
    test_graph_free(&g);
}

static void test_bad_input_is_refused(void **state)
{
    (void)state;
    test_graph g = test_graph_communities(200, 2000, 4, 50, 1);
    adjacency a = adjacency_of(&g);
    uint16_t part[200];
    int32_t good = g.source[5];
    g.source[5] = 200;
    ASSERT_STATUS(metis_partition(&a, 4, NULL, 0, 2, 0, part), WEFT_ERR_DATA);
    ASSERT_MESSAGE("entry 5");
    g.source[5] = -7;
    ASSERT_STATUS(metis_partition(&a, 4, NULL, 0, 2, 0, part), WEFT_ERR_DATA);
    g.source[5] = 0; /* row 0: a self-loop */
    ASSERT_STATUS(metis_partition(&a, 4, NULL, 0, 2, 0, part), WEFT_ERR_DATA);
    g.source[5] = good == 199 ? 198 : 199; /* one-directional, unless it was there */
    ASSERT_STATUS(metis_partition(&a, 4, NULL, 0, 2, 0, part), WEFT_ERR_DATA);
    ASSERT_MESSAGE("no reverse");
    g.source[5] = good;
    ASSERT_OK(metis_partition(&a, 4, NULL, 0, 2, 0, part));
    test_graph_free(&g);
}

static void test_memory_limit_is_kept(void **state)
{
    (void)state;
    test_graph g = test_graph_communities(200, 2000, 4, 50, 1);
    adjacency a = adjacency_of(&g);
    uint16_t part[200];
    ASSERT_STATUS(metis_partition(&a, 4, NULL, 0, 2, 1 << 20, part), WEFT_ERR_RESOURCE);
    ASSERT_MESSAGE("GiB");
    ASSERT_OK(metis_partition(&a, 4, NULL, 0, 2, metis_memory(a.vertices, a.entries), part));
    a.entries = INT64_C(3) << 30; /* counts are looked at before the arrays */
    ASSERT_STATUS(metis_partition(&a, 4, NULL, 0, 2, 0, part), WEFT_ERR_UNSUPPORTED);
    ASSERT_MESSAGE("2^31");
    test_graph_free(&g);
}

static int add_to_shared(void *argument)
{
    int *shared = argument;
    shared[1] = shared[0] + 1;
    printf("the child speaks\n");
    return 42;
}

static int die(void *argument)
{
    const int *number = argument;
    raise(*number);
    return 0;
}

static void test_child_reports_results_and_deaths(void **state)
{
    (void)state;
    int *shared = NULL, result = 0;
    ASSERT_OK(child_shared_alloc(2 * sizeof *shared, (void **)&shared));
    shared[0] = 7;
    child_task task = {.what = "a test", .run = add_to_shared, .argument = shared};
    ASSERT_OK(child_run(&task, &result));
    assert_int_equal(result, 42);
    assert_int_equal(shared[1], 8);
    child_shared_free(shared, 2 * sizeof *shared);

    int number = SIGKILL;
    task = (child_task){.what = "a test", .run = die, .argument = &number};
    ASSERT_STATUS(child_run(&task, &result), WEFT_ERR_RESOURCE);
    ASSERT_MESSAGE("killed");
    number = SIGUSR1;
    ASSERT_STATUS(child_run(&task, &result), WEFT_ERR_INTERNAL);
    char text[32];
    snprintf(text, sizeof text, "signal %d", SIGUSR1);
    ASSERT_MESSAGE(text);
}

/* What the child prints must not mix with results. */
static void test_child_leaves_stdout_alone(void **state)
{
    (void)state;
    int shared[2] = {0}, result = 0, pipes[2];
    assert_int_equal(pipe(pipes), 0);
    fflush(stdout);
    int saved_out = dup(STDOUT_FILENO), saved_err = dup(STDERR_FILENO), null = open("/dev/null", O_WRONLY);
    dup2(pipes[1], STDOUT_FILENO);
    dup2(null, STDERR_FILENO);
    child_task task = {.what = "a test", .run = add_to_shared, .argument = shared};
    weft_status status = child_run(&task, &result);
    fflush(stdout);
    dup2(saved_out, STDOUT_FILENO);
    dup2(saved_err, STDERR_FILENO);
    close(pipes[1]);
    char byte = 0;
    ssize_t got = read(pipes[0], &byte, 1);
    close(pipes[0]);
    close(saved_out);
    close(saved_err);
    close(null);
    ASSERT_OK(status);
    assert_int_equal(got, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_parts_are_filled_and_balanced),
        cmocka_unit_test(test_one_part_needs_no_metis),
        cmocka_unit_test(test_too_many_parts_are_refused),
        cmocka_unit_test(test_empty_parts_are_repaired),
        cmocka_unit_test(test_bad_input_is_refused),
        cmocka_unit_test(test_memory_limit_is_kept),
        cmocka_unit_test(test_child_reports_results_and_deaths),
        cmocka_unit_test(test_child_leaves_stdout_alone),
    };
    log_set_level(LOG_WARN);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
