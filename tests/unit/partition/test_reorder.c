/* The clustering order: a permutation, the same for any threads, that finds planted communities again. */
#include "base/alloc.h"
#include "base/log.h"
#include "partition/order/propagate.h"
#include "partition/reorder.h"
#include "support/graphs.h"
#include "support/test.h"

static void check_permutation(const int32_t *position, int64_t n)
{
    char *seen = calloc((size_t)n + 1, 1);
    for (int64_t v = 0; v < n; ++v) {
        assert_in_range(position[v], 0, n - 1);
        assert_int_equal(seen[position[v]]++, 0);
    }
    free(seen);
}

static double near_share(const weft_graph *g, const int32_t *position, int64_t window)
{
    int64_t close = 0;
    for (int64_t v = 0; v < g->vertices; ++v) {
        for (int64_t e = g->offset[v]; e < g->offset[v + 1]; ++e) {
            close += llabs((long long)position[v] - position[graph_source(g, e)]) < window;
        }
    }
    return g->edges > 0 ? (double)close / (double)g->edges : 1;
}

static void test_every_graph_gets_a_permutation(void **state)
{
    (void)state;
    for (int c = 0; c < TEST_GRAPHS; ++c) {
        const char *name = NULL;
        test_graph g = test_graph_case(c, &name);
        int32_t *position = NULL;
        double seconds = -1;
        ASSERT_OK(graph_cluster_order(&g.graph, 1, 2, &position, &seconds));
        check_permutation(position, g.graph.vertices);
        assert_true(seconds >= 0);
        weft_free(position);
        test_graph_free(&g);
    }
}

static void test_planted_communities_are_found(void **state)
{
    (void)state;
    test_graph g = test_graph_communities(20000, 200000, 100, 85, 6); /* communities of 200, ids shuffled */
    int32_t *position = NULL;
    ASSERT_OK(graph_cluster_order(&g.graph, 1, 2, &position, NULL));
    int32_t *before = malloc(20000 * sizeof *before);
    for (int32_t v = 0; v < 20000; ++v) {
        before[v] = v;
    }
    assert_true(near_share(&g.graph, before, 200) < 0.05);
    assert_true(near_share(&g.graph, position, 200) > 0.75);
    free(before);
    weft_free(position);
    test_graph_free(&g);
}

static void test_same_order_for_any_threads(void **state)
{
    (void)state;
    test_graph g = test_graph_communities(30000, 200000, 60, 70, 7);
    int32_t *first = NULL;
    for (int threads = 1; threads <= 4; ++threads) {
        int32_t *position = NULL;
        ASSERT_OK(graph_cluster_order(&g.graph, 5, threads, &position, NULL));
        if (threads == 1) {
            first = position;
            continue;
        }
        assert_memory_equal(position, first, 30000 * sizeof first[0]);
        weft_free(position);
    }
    weft_free(first);
    test_graph_free(&g);
}

/* Isolated vertices come last; 64-bit ids give the same order. */
static void test_isolated_and_wide_ids(void **state)
{
    (void)state;
    test_graph g = test_graph_random(3000, 1000, true, 3);
    int32_t *narrow = NULL, *wide = NULL;
    ASSERT_OK(graph_cluster_order(&g.graph, 1, 2, &narrow, NULL));
    int64_t linked = 0;
    for (int64_t v = 0; v < 3000; ++v) {
        linked += g.offset[v + 1] > g.offset[v];
    }
    for (int64_t v = 0; v < 3000; ++v) {
        assert_int_equal(narrow[v]<linked, g.offset[v + 1]> g.offset[v]);
    }
    int64_t *source = malloc((size_t)g.graph.edges * sizeof *source);
    for (int64_t e = 0; e < g.graph.edges; ++e) {
        source[e] = g.source[e];
    }
    weft_graph other = g.graph;
    other.source32 = NULL;
    other.source64 = source;
    ASSERT_OK(graph_cluster_order(&other, 1, 2, &wide, NULL));
    assert_memory_equal(narrow, wide, 3000 * sizeof narrow[0]);
    free(source);
    weft_free(narrow);
    weft_free(wide);
    test_graph_free(&g);
}

static void test_clusters_keep_their_limit(void **state)
{
    (void)state;
    test_graph g = test_graph_communities(5000, 60000, 5, 90, 2); /* communities of 1000 */
    cluster_graph bottom = {.vertices = 5000, .offset = g.offset, .neighbour = g.source};
    int32_t label[5000];
    int64_t clusters = 0, held[5000] = {0};
    ASSERT_OK(propagate_labels(&bottom, 150, 1, 2, label, &clusters));
    for (int v = 0; v < 5000; ++v) {
        assert_in_range(label[v], 0, clusters - 1);
        ++held[label[v]];
    }
    for (int64_t c = 0; c < clusters; ++c) {
        assert_in_range(held[c], 1, 150);
    }
    /* contraction against a plain count */
    cluster_graph coarse;
    ASSERT_OK(propagate_contract(&bottom, label, clusters, 2, &coarse));
    int64_t *expected = calloc((size_t)(clusters * clusters), sizeof *expected);
    for (int64_t v = 0; v < 5000; ++v) {
        for (int64_t e = g.offset[v]; e < g.offset[v + 1]; ++e) {
            ++expected[label[v] * clusters + label[g.source[e]]];
        }
    }
    for (int64_t c = 0; c < clusters; ++c) {
        assert_int_equal(coarse.size[c], held[c]);
        expected[c * clusters + c] = 0;
        for (int64_t e = coarse.offset[c]; e < coarse.offset[c + 1]; ++e) {
            int64_t *sum = &expected[c * clusters + coarse.neighbour[e]];
            assert_true(*sum > 0);
            *sum -= coarse.weight[e];
            assert_int_equal(*sum, 0);
        }
        for (int64_t d = 0; d < clusters; ++d) {
            assert_int_equal(expected[c * clusters + d], 0);
        }
    }
    free(expected);
    cluster_graph_free(&coarse);
    test_graph_free(&g);
}

static void test_short_memory_is_survived(void **state)
{
    (void)state;
    test_graph g = test_graph_communities(300, 2000, 6, 80, 2);
    weft_status status = WEFT_ERR_RESOURCE;
    for (uint64_t nth = 1; status != WEFT_OK; ++nth) {
        int32_t *position = NULL;
        weft_alloc_fail_after(nth);
        status = graph_cluster_order(&g.graph, 1, 2, &position, NULL);
        weft_alloc_fail_after(0);
        assert_true(status == WEFT_OK || (status == WEFT_ERR_RESOURCE && position == NULL));
        weft_free(position);
    }
    test_graph_free(&g);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_graph_gets_a_permutation), cmocka_unit_test(test_planted_communities_are_found),
        cmocka_unit_test(test_same_order_for_any_threads),     cmocka_unit_test(test_isolated_and_wide_ids),
        cmocka_unit_test(test_clusters_keep_their_limit),      cmocka_unit_test(test_short_memory_is_survived),
    };
    log_set_level(LOG_WARN);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
