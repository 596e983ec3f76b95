/* Minimum vertex covers against brute force, and against an independent maximum matching; then the cut assignment. */
#include "partition/cover/cover.h"
#include "partition/cover/cover_sides.h"
#include "partition/cover/matching.h"
#include "support/graphs.h"
#include "support/test.h"

enum { SIDE_MAX = 300, EDGES_MAX = 4000 };

typedef struct instance {
    int32_t left, right;
    int64_t offset[SIDE_MAX + 1];
    int32_t adjacent[EDGES_MAX];
} instance;

static void fill_random(instance *g, int32_t left, int32_t right, unsigned percent, uint64_t *random)
{
    g->left = left;
    g->right = right;
    int64_t edges = 0;
    for (int32_t l = 0; l < left; ++l) {
        g->offset[l] = edges;
        for (int32_t r = 0; r < right && edges < EDGES_MAX; ++r) {
            if (test_random(random) % 100 < percent) {
                g->adjacent[edges++] = r;
            }
        }
    }
    g->offset[left] = edges;
}

static int64_t solve(const instance *g, uint8_t *left, uint8_t *right)
{
    static int32_t left_match[SIDE_MAX], right_match[SIDE_MAX], level[SIDE_MAX], queue[SIDE_MAX];
    static int64_t next[SIDE_MAX];
    matching_work work = {left_match, right_match, level, queue, next};
    bipartite graph = {.left = g->left, .right = g->right, .offset = g->offset, .adjacent = g->adjacent};
    int64_t size = matching_cover(&graph, &work, left, right), counted = 0;
    for (int32_t l = 0; l < g->left; ++l) {
        counted += left[l];
        for (int64_t e = g->offset[l]; e < g->offset[l + 1]; ++e) {
            assert_true(left[l] != 0 || right[g->adjacent[e]] != 0);
        }
    }
    for (int32_t r = 0; r < g->right; ++r) {
        counted += right[r];
    }
    assert_int_equal(counted, size);
    return size;
}

/* For each subset of the left side: it and the neighbours of the rest cover everything. */
static int64_t brute_cover(const instance *g)
{
    int64_t best = INT64_MAX;
    for (uint32_t subset = 0; subset < UINT32_C(1) << g->left; ++subset) {
        uint32_t needed = 0;
        for (int32_t l = 0; l < g->left; ++l) {
            for (int64_t e = g->offset[l]; (subset >> l & 1) == 0 && e < g->offset[l + 1]; ++e) {
                needed |= UINT32_C(1) << g->adjacent[e];
            }
        }
        int64_t size = __builtin_popcount(subset) + __builtin_popcount(needed);
        best = size < best ? size : best;
    }
    return best;
}

static void test_tiny_covers_are_minimum(void **state)
{
    (void)state;
    uint64_t random = 1;
    uint8_t left[SIDE_MAX], right[SIDE_MAX];
    static instance g;
    for (int i = 0; i < 2000; ++i) {
        int32_t a = (int32_t)(test_random(&random) % 9), b = (int32_t)(test_random(&random) % 9);
        fill_random(&g, a, b, 5 + test_random(&random) % 90, &random);
        assert_int_equal(solve(&g, left, right), brute_cover(&g));
    }
}

static bool kuhn(const instance *g, int32_t l, int32_t *match, uint8_t *seen)
{
    for (int64_t e = g->offset[l]; e < g->offset[l + 1]; ++e) {
        int32_t r = g->adjacent[e];
        if (seen[r] == 0) {
            seen[r] = 1;
            if (match[r] < 0 || kuhn(g, match[r], match, seen)) {
                match[r] = l;
                return true;
            }
        }
    }
    return false;
}

/* Koenig: the minimum cover is as large as the maximum matching. */
static void test_larger_covers_equal_the_matching(void **state)
{
    (void)state;
    uint64_t random = 2;
    uint8_t left[SIDE_MAX], right[SIDE_MAX], seen[SIDE_MAX];
    int32_t match[SIDE_MAX];
    static instance g;
    for (int i = 0; i < 100; ++i) {
        fill_random(&g, 1 + (int32_t)(test_random(&random) % SIDE_MAX), 1 + (int32_t)(test_random(&random) % SIDE_MAX),
                    1, &random);
        memset(match, -1, sizeof match);
        int64_t size = 0;
        for (int32_t l = 0; l < g.left; ++l) {
            memset(seen, 0, sizeof seen);
            size += kuhn(&g, l, match, seen) ? 1 : 0;
        }
        assert_int_equal(solve(&g, left, right), size);
    }
}

/* Two parts with loose ends only: the minimum cover decides, and the number of replicas is its size. */
static void test_cut_takes_the_cover(void **state)
{
    (void)state;
    test_edges edges = {0};
    /* two stars across the cut: hubs 0 (part 0) and 10 (part 1) with leaves in the other part; two inner stars */
    for (int64_t v = 1; v < 10; ++v) {
        test_edge(&edges, 0, 10 + v);
        test_edge(&edges, 10, v);
        test_edge(&edges, 1, v == 1 ? 2 : v);
        test_edge(&edges, 11, v == 1 ? 12 : 10 + v);
    }
    test_graph g = test_graph_build(20, &edges, true, false);
    pair_list list;
    ASSERT_OK(pair_list_build(&g.graph, 2, &list));
    uint16_t node_part[20], pair_part[64];
    for (int v = 0; v < 20; ++v) {
        node_part[v] = v < 10 ? 0 : 1;
    }
    ASSERT_OK(cover_assign(&list, node_part, 2, NULL, 2, pair_part));
    for (int64_t u = 0; u < 20; ++u) {
        for (int64_t e = list.offset[u]; e < list.offset[u + 1]; ++e) {
            int64_t v = list.other[e];
            /* a pair of a hub lies with the leaf: only the hubs are replicated */
            int64_t leaf = u == 0 || u == 10 ? v : u;
            if (node_part[u] != node_part[v]) {
                assert_int_equal(pair_part[e], node_part[leaf]);
            } else {
                assert_int_equal(pair_part[e], node_part[u]);
            }
        }
    }
    pair_list_free(&list);
    test_graph_free(&g);
}

/* Dense equal parts: minimum covers alone would give one part the replicas of all others. */
static void test_sides_are_balanced(void **state)
{
    (void)state;
    enum { PARTS = 8, CUTS = PARTS * (PARTS - 1) / 2 };
    cover_offer offer[CUTS];
    int64_t vertices[PARTS], pairs[PARTS];
    for (int j = 0; j < PARTS; ++j) {
        vertices[j] = 1000 + j;
        pairs[j] = 100000;
        for (int i = 0; i < j; ++i) { /* the smaller boundary is always that of the lower part */
            offer[cover_cut(i, j)] = (cover_offer){.low_replicas = {0, 1000 + j, 0},
                                                   .high_replicas = {1000 + i, 0, 1000 + i},
                                                   .low_pairs = {0, 30000, 0},
                                                   .high_pairs = {30000, 0, 30000}};
        }
    }
    cover_choose_sides(PARTS, NULL, vertices, pairs, offer);
    int64_t most = 0, sum = 0, check[PARTS];
    for (int p = 0; p < PARTS; ++p) {
        check[p] = 1000 + p;
    }
    for (int j = 1; j < PARTS; ++j) {
        for (int i = 0; i < j; ++i) {
            const cover_offer *o = &offer[cover_cut(i, j)];
            check[i] += o->low_replicas[o->side];
            check[j] += o->high_replicas[o->side];
        }
    }
    for (int p = 0; p < PARTS; ++p) {
        assert_int_equal(vertices[p], check[p]);
        most = vertices[p] > most ? vertices[p] : most;
        sum += vertices[p];
    }
    assert_true((double)most * PARTS / (double)sum < 1.25);
}

/* Whatever the sides: every pair lies with one of its ends. */
static void test_pairs_lie_with_an_end(void **state)
{
    (void)state;
    test_graph g = test_graph_communities(3000, 30000, 30, 60, 8);
    pair_list list;
    ASSERT_OK(pair_list_build(&g.graph, 2, &list));
    uint16_t *node_part = malloc(3000 * sizeof *node_part), *first = malloc((size_t)list.pairs * sizeof *first);
    uint16_t *again = malloc((size_t)list.pairs * sizeof *again);
    uint64_t random = 4;
    for (int v = 0; v < 3000; ++v) {
        node_part[v] = (uint16_t)(test_random(&random) % 7);
    }
    ASSERT_OK(cover_assign(&list, node_part, 7, NULL, 1, first));
    ASSERT_OK(cover_assign(&list, node_part, 7, NULL, 3, again));
    for (int64_t u = 0; u < 3000; ++u) {
        for (int64_t e = list.offset[u]; e < list.offset[u + 1]; ++e) {
            assert_true(first[e] == node_part[u] || first[e] == node_part[list.other[e]]);
            assert_int_equal(first[e], again[e]);
        }
    }
    free(node_part);
    free(first);
    free(again);
    pair_list_free(&list);
    test_graph_free(&g);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_tiny_covers_are_minimum), cmocka_unit_test(test_larger_covers_equal_the_matching),
        cmocka_unit_test(test_cut_takes_the_cover),     cmocka_unit_test(test_sides_are_balanced),
        cmocka_unit_test(test_pairs_lie_with_an_end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
