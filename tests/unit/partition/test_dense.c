/* Dense graphs in two parts: a few neighbours of each vertex; the bound on covers beside the least cover there is. */
#include "partition/cover/cover_bound.h"
#include "partition/cover/thin.h"
#include "partition/partition.h"
#include "support/graphs.h"
#include "support/test.h"

static adjacency adjacency_of(const test_graph *g)
{
    return (adjacency){
        .vertices = g->graph.vertices, .entries = g->graph.edges, .offset = g->offset, .neighbour = g->source};
}

static bool has(const adjacency *a, int64_t v, int32_t u)
{
    for (int64_t e = a->offset[v]; e < a->offset[v + 1]; ++e) {
        if (a->neighbour[e] == u) {
            return true;
        }
    }
    return false;
}

static void test_a_thin_graph_is_part_of_the_whole(void **state)
{
    (void)state;
    test_graph g = test_graph_communities(600, 30000, 6, 85, 3);
    const adjacency whole = adjacency_of(&g);
    adjacency thin, again;
    ASSERT_OK(adjacency_thin(&whole, THIN_DRAWN, 5, 2, &thin));
    ASSERT_OK(adjacency_thin(&whole, THIN_DRAWN, 5, 1, &again));
    assert_true(thin.vertices == 600 && thin.entries == again.entries && thin.entries < whole.entries);
    assert_memory_equal(thin.neighbour, again.neighbour, (size_t)thin.entries * sizeof *thin.neighbour);
    assert_ptr_equal(thin.weight, whole.offset);
    for (int64_t v = 0; v < 600; ++v) {
        const int64_t degree = whole.offset[v + 1] - whole.offset[v], kept = thin.offset[v + 1] - thin.offset[v];
        assert_true(kept >= (degree < THIN_DRAWN ? degree : THIN_DRAWN) && kept <= degree);
        for (int64_t e = thin.offset[v]; e < thin.offset[v + 1]; ++e) {
            assert_true(has(&whole, v, thin.neighbour[e]) && has(&thin, thin.neighbour[e], (int32_t)v));
        }
    }
    adjacency_free(&thin);
    adjacency_free(&again);
    test_graph_free(&g);
}

enum { SMALL = 12 };

/* The least number of slots (vertex, other part) that cover every pair between two parts, of all choices. */
static int least_cover(const adjacency *a, const uint16_t *part)
{
    int least = SMALL;
    for (int chosen = 0; chosen < 1 << SMALL; ++chosen) {
        bool covers = true;
        for (int64_t v = 0; v < SMALL && covers; ++v) {
            for (int64_t e = a->offset[v]; e < a->offset[v + 1]; ++e) {
                const int32_t u = a->neighbour[e];
                covers &= part[u] == part[v] || (chosen >> v & 1) != 0 || (chosen >> u & 1) != 0;
            }
        }
        const int size = __builtin_popcount((unsigned)chosen);
        least = covers && size < least ? size : least;
    }
    return least;
}

static void test_the_bound_is_at_most_the_least_cover(void **state)
{
    (void)state;
    for (int seed = 0; seed < 40; ++seed) {
        test_graph g = test_graph_random(SMALL, 6 + seed % 30, true, (uint64_t)seed);
        const adjacency a = adjacency_of(&g);
        uint16_t part[SMALL];
        int64_t bound = -1;
        for (int v = 0; v < SMALL; ++v) {
            part[v] = (uint16_t)((v * 7 + seed) % 2);
        }
        ASSERT_OK(cover_bound(&a, part, 2, &bound));
        const int least = least_cover(&a, part);
        assert_true(bound <= least && 2 * bound >= least);
        test_graph_free(&g);
    }
}

static void test_parts_are_bounded_by_pairs(void **state)
{
    (void)state;
    test_edges edges = {0};
    for (int a = 0; a < 6; ++a) { /* all of 0 .. 5 know all of 6 .. 11, which lie in two parts */
        for (int b = 6; b < 12; ++b) {
            test_edge(&edges, a, b);
        }
    }
    test_graph g = test_graph_build(SMALL, &edges, true, false);
    const adjacency a = adjacency_of(&g);
    const uint16_t part[SMALL] = {0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 2, 2};
    int64_t bound = -1;
    ASSERT_OK(cover_bound(&a, part, 3, &bound));
    assert_int_equal(bound, 4 + 2);
    test_graph_free(&g);
}

/* ---- graphs that METIS sees thinly ---- */

enum { LARGE = 5800, BRIDGES = 40 };

/* Of every two vertices seven of ten are joined: nobody has neighbours on one side alone. */
static bool joined_at_random(int64_t u, int64_t v)
{
    const uint64_t low = (uint64_t)(u < v ? u : v), high = (uint64_t)(u < v ? v : u);
    return u != v && ((low * LARGE + high) * UINT64_C(0x9e3779b97f4a7c15) >> 32) % 10 < 7;
}

/* Even vertices and odd ones are two complete graphs, the first BRIDGES of both sides joined in pairs. */
static bool joined_in_halves(int64_t u, int64_t v)
{
    return u != v && (u % 2 == v % 2 || (u / 2 == v / 2 && u / 2 < BRIDGES));
}

static void cut_in_two(bool (*joined)(int64_t u, int64_t v), bool *edge_cut, partition_report *report)
{
    int64_t *offset = calloc(LARGE + 1, sizeof offset[0]), edges = 0;
    for (int64_t v = 0; v < LARGE; ++v) {
        for (int64_t u = 0; u < LARGE; ++u) {
            edges += joined(u, v) ? 1 : 0;
        }
        offset[v + 1] = edges;
    }
    int32_t *source = malloc((size_t)edges * sizeof source[0]);
    for (int64_t v = 0, e = 0; v < LARGE; ++v) {
        for (int64_t u = 0; u < LARGE; ++u) {
            if (joined(u, v)) {
                source[e++] = (int32_t)u;
            }
        }
    }
    const weft_graph graph = {
        .vertices = LARGE, .edges = edges, .offset = offset, .source32 = source, .symmetric = true};
    const partition_options options = {.method = "auto", .parts = 2, .balance = 1.1, .threads = 2};
    weft_partition partition = {0};
    assert_true(thin_pays(LARGE, edges, 2));
    ASSERT_OK(partition_compute(&graph, &options, &partition, report));
    ASSERT_OK(partition_is_valid(&graph, &partition));
    *edge_cut = partition.edge_cut;
    partition_destroy(&partition);
    free(source);
    free(offset);
}

static void test_a_graph_without_groups_is_cut_by_rows(void **state)
{
    (void)state;
    partition_report report;
    bool edge_cut = false;
    cut_in_two(joined_at_random, &edge_cut, &report);
    assert_true(edge_cut && report.rows_per_layer == LARGE && report.edge_balance < 1.01);
}

static void test_two_groups_are_told_apart(void **state)
{
    (void)state;
    partition_report report;
    bool edge_cut = false;
    cut_in_two(joined_in_halves, &edge_cut, &report);
    assert_true(report.rows_per_layer <= 2 * BRIDGES && report.edge_balance < 1.01);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_thin_graph_is_part_of_the_whole),
        cmocka_unit_test(test_the_bound_is_at_most_the_least_cover),
        cmocka_unit_test(test_parts_are_bounded_by_pairs),
        cmocka_unit_test(test_a_graph_without_groups_is_cut_by_rows),
        cmocka_unit_test(test_two_groups_are_told_apart),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
