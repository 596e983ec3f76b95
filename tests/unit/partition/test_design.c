/*
 * Covering designs and the cut by them: every two groups meet, in as few parts as a projective plane would need or
 * little more; pairs lie together within the parts of their groups, evenly, the same by any number of threads; lean
 * designs are taken where clusters of vertices have the edges for their small blocks, else even ones; the forecast
 * chooses designs for graphs whose vertices have neighbours everywhere, and for no others.
 */
#include <math.h>

#include "base/alloc.h"
#include "base/log.h"
#include "partition/stream/design_pairs.h"
#include "partition/stream/edge_stream.h"
#include "support/edge_parts.h"
#include "support/graphs.h"
#include "support/test.h"

enum { LEAST_PARTS = 3 };

static int64_t *degrees_of(const weft_graph *g)
{
    int64_t *degree = calloc((size_t)g->vertices + 1, sizeof *degree);
    for (int64_t v = 0; v < g->vertices; ++v) {
        degree[v] += g->offset[v + 1] - g->offset[v];
        for (int64_t e = g->offset[v]; !g->symmetric && e < g->offset[v + 1]; ++e) {
            ++degree[graph_source(g, e)];
        }
    }
    return degree;
}

/* [out] largest, replicas: of all vertices, those of the largest block and of all. */
static void check_design(int parts, const block_design *design, double *largest, double *replicas)
{
    double shares = 0, block[BLOCK_DESIGN_PARTS] = {0};
    assert_int_equal(design->parts, parts);
    assert_true(design->points >= LEAST_PARTS && design->points <= BLOCK_DESIGN_POINTS);
    *largest = *replicas = 0;
    for (int g = 0; g < design->points; ++g) {
        assert_int_equal((uint64_t)design->holders[g] >> parts, 0);
        assert_true(design->share[g] > 0);
        shares += design->share[g];
        for (int h = 0; h <= g; ++h) {
            assert_true((design->holders[g] & design->holders[h]) != 0);
        }
        for (int p = 0; p < parts; ++p) {
            block[p] += (design->holders[g] >> p & 1) != 0 ? design->share[g] : 0;
        }
    }
    assert_true(fabs(shares - 1) < 1e-9);
    for (int p = 0; p < parts; ++p) {
        assert_true(block[p] > 0);
        *replicas += block[p];
        *largest = fmax(*largest, block[p]);
    }
}

static void test_every_two_groups_meet(void **state)
{
    (void)state;
    int leaner = 0;
    block_design design;
    for (block_design_kind kind = 0; kind < BLOCK_DESIGN_KINDS; ++kind) {
        assert_false(block_design_find(-1, kind, &design));
        assert_false(block_design_find(0, kind, &design));
        assert_false(block_design_find(2, kind, &design));
        assert_false(block_design_find(BLOCK_DESIGN_PARTS + 1, kind, &design));
    }
    for (int parts = LEAST_PARTS; parts <= BLOCK_DESIGN_PARTS; ++parts) {
        double largest = 0, replicas = 0, lean_largest = 0, lean_replicas = 0;
        assert_true(block_design_find(parts, BLOCK_DESIGN_EVEN, &design));
        check_design(parts, &design, &largest, &replicas);
        /* q + 1 for q^2 + q + 1 parts, and this between them */
        const double plane = 0.5 + sqrt((double)parts - 0.75);
        assert_true(replicas < 1.12 * plane);
        if (block_design_find(parts, BLOCK_DESIGN_LEAN, &design)) {
            check_design(parts, &design, &lean_largest, &lean_replicas);
            assert_true(lean_largest * parts < 1.101 * lean_replicas);
            assert_true(1 - lean_replicas / replicas > lean_largest / largest - 1);
            ++leaner;
        }
    }
    assert_true(leaner > 10);
}

static void check_both_directions(const weft_graph *g, const uint16_t *edge_part)
{
    bool together = true;
    for (int64_t v = 0; v < g->vertices; ++v) {
        for (int64_t e = g->offset[v]; e < g->offset[v + 1]; ++e) {
            const int64_t u = graph_source(g, e);
            for (int64_t back = g->offset[u]; back < g->offset[u + 1]; ++back) {
                together = together && (graph_source(g, back) != v || edge_part[back] == edge_part[e]);
            }
        }
    }
    assert_true(together);
}

/* cluster [n]: what may lie in one part. */
static void check_cut(const weft_graph *g, int parts, block_design_kind kind, const uint16_t *cluster)
{
    block_design design;
    bool fits = false;
    const row_team alone = row_team_alone(g);
    const int64_t n = g->vertices, even = g->edges / parts;
    int64_t *degree = degrees_of(g), *load = calloc((size_t)parts, sizeof *load), groups = 0;
    uint16_t *point = malloc((size_t)n * sizeof *point);
    uint16_t *part = malloc((size_t)g->edges * sizeof *part), *again = malloc((size_t)g->edges * sizeof *again);
    uint64_t *word = calloc((size_t)n, sizeof *word);
    double of_group[BLOCK_DESIGN_POINTS] = {0};
    char *held = malloc((size_t)(n * parts) + 1);
    assert_true(block_design_find(parts, kind, &design));
    ASSERT_OK(design_group(n, cluster, &design, point));
    for (int64_t v = 0; v < n; ++v) {
        assert_true(point[v] < design.points);
        ++of_group[point[v]];
        groups += __builtin_popcount(design.holders[point[v]]);
    }
    for (int group = 0; group < design.points; ++group) {
        assert_true(fabs(of_group[group] - design.share[group] * (double)n) <= 2);
    }
    ASSERT_OK(design_assign(&alone, degree, &design, 1, even + even / 20, point, part, &fits));
    assert_true(fits);
    const int64_t replicas = count_held(g, parts, part, held, load);
    assert_true(replicas <= groups + groups / 20);
    for (int p = 0; p < parts; ++p) {
        assert_true(load[p] <= even + even / 20);
    }
    check_both_directions(g, part);
    ASSERT_OK(design_tell_held(&alone, part, word));
    for (int64_t i = 0; i < n * parts; ++i) {
        assert_int_equal(word[i / parts] >> (i % parts) & 1, held[i]);
    }
    ASSERT_OK(design_group(n, cluster, &design, point));
    ASSERT_OK(design_assign(&alone, degree, &design, 4, even + even / 20, point, again, &fits));
    assert_memory_equal(part, again, (size_t)g->edges * sizeof *part);
    if (parts % 8 == 0) { /* a limit that no numbering of the groups keeps */
        memset(again, 7, (size_t)g->edges * sizeof *again);
        ASSERT_OK(design_group(n, cluster, &design, point));
        ASSERT_OK(design_assign(&alone, degree, &design, 2, even / 2, point, again, &fits));
        assert_false(fits);
        assert_int_equal(again[g->edges - 1], 0x0707);
    }
    free(held);
    free(word);
    free(again);
    free(part);
    free(point);
    free(load);
    free(degree);
}

static void test_pairs_lie_with_their_groups(void **state)
{
    (void)state;
    enum { N = 400 };
    uint16_t cluster[N];
    for (int v = 0; v < N; ++v) {
        cluster[v] = (uint16_t)(v * 30 / N);
    }
    for (int symmetric = 0; symmetric < 2; ++symmetric) {
        test_graph g = test_graph_random(N, 30000, symmetric != 0, 21);
        for (int parts = LEAST_PARTS; parts <= BLOCK_DESIGN_PARTS; parts += symmetric ? 1 : 5) {
            check_cut(&g.graph, parts, BLOCK_DESIGN_EVEN, cluster);
        }
        test_graph_free(&g);
    }
}

static bool is_by_design(const weft_graph *g, int parts, edge_stream_way way, uint16_t *part, int64_t *replicas)
{
    const row_team alone = row_team_alone(g);
    const edge_stream_options options = {.parts = parts, .threads = 2, .balance = 1.05, .way = way};
    edge_stream_result result = {.by_design = false};
    char *held = malloc((size_t)(g->vertices * parts) + 1);
    int64_t *load = calloc((size_t)parts, sizeof *load);
    ASSERT_OK(edge_stream_assign(&alone, &options, part, NULL, &result));
    *replicas = way == STREAM_BY_DESIGN && !result.by_design ? -1 : count_held(g, parts, part, held, load);
    free(load);
    free(held);
    return result.by_design;
}

/* Clusters that are whole have the edges that small blocks need; in a graph without any an even design is taken. */
static void test_lean_designs_need_clusters(void **state)
{
    (void)state;
    enum { N = 3200, CLUSTERS = 64 };
    static uint16_t cluster[N];
    test_edges edges = {0};
    uint64_t random = 3;
    for (int v = 0; v < N; ++v) {
        cluster[v] = (uint16_t)(v % CLUSTERS);
    }
    for (int i = 0; i < 150000; ++i) {
        const int64_t u = test_random(&random) % N, inside = test_random(&random) % (N / CLUSTERS) * CLUSTERS;
        const int64_t v = test_random(&random) % 100 < 65 ? inside + u % CLUSTERS : test_random(&random) % N;
        if (u != v) {
            test_edge(&edges, u, v);
        }
    }
    test_graph g = test_graph_build(N, &edges, true, false);
    test_graph plain = test_graph_random(800, 60000, true, 5);
    const int64_t most = g.graph.edges > plain.graph.edges ? g.graph.edges : plain.graph.edges;
    uint16_t *part = malloc((size_t)most * sizeof *part);
    for (int parts = LEAST_PARTS; parts <= BLOCK_DESIGN_PARTS; ++parts) {
        block_design even, lean;
        double largest = 0, even_replicas = 0, lean_replicas = 0;
        int64_t replicas = 0;
        if (!block_design_find(parts, BLOCK_DESIGN_LEAN, &lean)) {
            continue;
        }
        assert_true(block_design_find(parts, BLOCK_DESIGN_EVEN, &even));
        check_design(parts, &even, &largest, &even_replicas);
        check_design(parts, &lean, &largest, &lean_replicas);
        check_cut(&g.graph, parts, BLOCK_DESIGN_LEAN, cluster);
        assert_true(is_by_design(&g.graph, parts, STREAM_BEST, part, &replicas));
        print_message("%d parts: %.3f replicas a vertex, %.3f of the lean design, %.3f of the even one\n", parts,
                      (double)replicas / N, lean_replicas, even_replicas);
        assert_true((double)replicas < 1.01 * lean_replicas * N);
        assert_true(is_by_design(&plain.graph, parts, STREAM_BEST, part, &replicas));
        if (parts < 20) { /* of more the balance lets one stay empty */
            assert_true((double)replicas > 1.01 * lean_replicas * 800);
        }
        assert_true((double)replicas < 1.01 * even_replicas * 800);
    }
    free(part);
    test_graph_free(&plain);
    test_graph_free(&g);
}

static void test_the_forecast_chooses(void **state)
{
    (void)state;
    test_graph dense = test_graph_random(800, 60000, true, 5), groups = test_graph_communities(4000, 60000, 20, 95, 13);
    test_edges edges = {0};
    for (int64_t v = 1; v < 3000; ++v) {
        test_edge(&edges, v - 1, v);
    }
    test_graph path = test_graph_build(3000, &edges, true, false);
    const int64_t most = dense.graph.edges > groups.graph.edges ? dense.graph.edges : groups.graph.edges;
    uint16_t *part = malloc((size_t)most * sizeof *part);
    int64_t best = 0, scores = 0;
    for (int parts = 4; parts <= 32; parts *= 2) {
        assert_true(is_by_design(&dense.graph, parts, STREAM_BEST, part, &best));
        assert_false(is_by_design(&dense.graph, parts, STREAM_BY_SCORES, part, &scores));
        print_message("dense, %d parts: %lld replicas by a design, %lld by scores\n", parts, (long long)best,
                      (long long)scores);
        assert_true(best < scores - scores / 10);
        assert_false(is_by_design(&groups.graph, parts, STREAM_BEST, part, &best));
        assert_false(is_by_design(&path.graph, parts, STREAM_BY_DESIGN, part, &best));
    }
    assert_false(is_by_design(&dense.graph, 2, STREAM_BEST, part, &best));
    assert_false(is_by_design(&dense.graph, BLOCK_DESIGN_PARTS + 1, STREAM_BEST, part, &best));
    const uint64_t before = weft_mem_usage_of(WEFT_MEM_PARTITION).allocations;
    assert_false(is_by_design(&dense.graph, 2, STREAM_BY_DESIGN, part, &best));
    assert_int_equal(weft_mem_usage_of(WEFT_MEM_PARTITION).allocations, before); /* nothing is looked for */
    free(part);
    test_graph_free(&path);
    test_graph_free(&groups);
    test_graph_free(&dense);
}

/* Every method that may take a design keeps what it promises, on a graph for which it does. */
static void test_methods_on_a_dense_graph(void **state)
{
    (void)state;
    static const char *const methods[] = {"stream", "expand", "auto"};
    test_graph g = test_graph_random(800, 60000, true, 5);
    for (int m = 0; m < 3; ++m) {
        const partition_options options = {.method = methods[m], .parts = 7, .balance = 1.1, .threads = 2};
        weft_partition made;
        partition_report report;
        ASSERT_OK(partition_compute(&g.graph, &options, &made, &report));
        ASSERT_OK(partition_is_valid(&g.graph, &made));
        print_message("%s: replication factor %.3f, vertices %.3f\n", methods[m], report.replication_factor,
                      report.vertex_balance);
        assert_true(report.replication_factor <= 3.01); /* the Fano plane's lines */
        assert_true(report.edge_balance <= 1.1 && report.vertex_balance <= 1.05);
        partition_destroy(&made);
    }
    test_graph_free(&g);
}

static void test_false_symmetry_is_refused(void **state)
{
    (void)state;
    test_graph g = test_graph_random(400, 40000, false, 3);
    const row_team alone = row_team_alone(&g.graph);
    const edge_stream_options options = {.parts = 8, .threads = 1, .balance = 1.05, .way = STREAM_BY_DESIGN};
    uint16_t *part = malloc((size_t)g.graph.edges * sizeof *part);
    g.graph.symmetric = true;
    ASSERT_STATUS(edge_stream_assign(&alone, &options, part, NULL, NULL), WEFT_ERR_DATA);
    ASSERT_MESSAGE("convert it again");
    free(part);
    test_graph_free(&g);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_two_groups_meet),      cmocka_unit_test(test_pairs_lie_with_their_groups),
        cmocka_unit_test(test_lean_designs_need_clusters), cmocka_unit_test(test_the_forecast_chooses),
        cmocka_unit_test(test_methods_on_a_dense_graph),   cmocka_unit_test(test_false_symmetry_is_refused),
    };
    log_set_level(LOG_WARN);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
