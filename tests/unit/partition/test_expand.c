/*
 * Growth of parts: beside plain neighbourhood expansion written the slow way, by its limits, and on graphs whose answer
 * is known; the queue beside a list that is searched.
 */
#include "base/log.h"
#include "partition/expand/expand.h"
#include "partition/expand/vertex_queue.h"
#include "partition/methods/method.h"
#include "support/graphs.h"
#include "support/test.h"

/* ---- the oracle -------------------------------------------------------------------------------------------------- */

/* Plain expansion as published: a core vertex brings in its partners by open pairs, those of the border with the fewest
 * pairs out of it become core first, every pair inside core and border is taken, the last part takes what is left. */
typedef struct plain_expansion {
    const weft_graph *graph; /* symmetric, no self-loops */
    char *taken;             /* [edges] either direction */
    char *inside, *core;     /* [n] of the part that grows */
    int64_t load;
} plain_expansion;

static int64_t pairs_out(const plain_expansion *plain, int64_t v)
{
    int64_t count = 0;
    for (int64_t e = plain->graph->offset[v]; e < plain->graph->offset[v + 1]; ++e) {
        count += !plain->taken[e] && !plain->inside[graph_source(plain->graph, e)];
    }
    return count;
}

static int64_t pairs_left(const plain_expansion *plain, int64_t v)
{
    int64_t count = 0;
    for (int64_t e = plain->graph->offset[v]; e < plain->graph->offset[v + 1]; ++e) {
        count += !plain->taken[e];
    }
    return count;
}

static void take(const plain_expansion *plain, int64_t u, int64_t v)
{
    for (int64_t e = plain->graph->offset[u]; e < plain->graph->offset[u + 1]; ++e) {
        plain->taken[e] = (char)(plain->taken[e] | (graph_source(plain->graph, e) == v));
    }
}

static void bring_in(plain_expansion *plain, int64_t v, int64_t share)
{
    const weft_graph *g = plain->graph;
    plain->inside[v] = 1;
    for (int64_t e = g->offset[v]; e < g->offset[v + 1] && plain->load < share; ++e) {
        int64_t u = graph_source(g, e);
        if (plain->inside[u] && !plain->taken[e]) {
            take(plain, u, v);
            take(plain, v, u);
            ++plain->load;
        }
    }
}

static int64_t next_core(const plain_expansion *plain, uint64_t *random)
{
    int64_t n = plain->graph->vertices, best = -1, fewest = INT64_MAX;
    for (int64_t v = 0; v < n; ++v) {
        if (plain->inside[v] && !plain->core[v] && pairs_left(plain, v) > 0 && pairs_out(plain, v) < fewest) {
            best = v;
            fewest = pairs_out(plain, v);
        }
    }
    for (int64_t start = test_random(random) % n, i = 0; best < 0 && i < n; ++i) {
        best = pairs_left(plain, (start + i) % n) > 0 ? (start + i) % n : -1;
    }
    return best;
}

/* [out] largest: vertices of the part that holds most. Returns replicas. */
static int64_t expand_plainly(const weft_graph *g, int parts, int64_t *largest)
{
    int64_t pairs = g->edges / 2, replicas = 0;
    uint64_t random = 5;
    plain_expansion plain = {.graph = g, .taken = calloc((size_t)g->edges, 1)};
    char *before = calloc((size_t)g->edges, 1);
    *largest = 0;
    for (int p = 0; p < parts; ++p) {
        int64_t share = p + 1 < parts ? (pairs + parts - 1) / parts : pairs, rows = 0;
        plain.load = 0;
        plain.inside = calloc((size_t)g->vertices, 1);
        plain.core = calloc((size_t)g->vertices, 1);
        for (int64_t v = 0; plain.load < share && (v = next_core(&plain, &random)) >= 0;) {
            bring_in(&plain, v, share);
            plain.core[v] = 1;
            for (int64_t e = g->offset[v]; e < g->offset[v + 1] && plain.load < share; ++e) {
                if (!plain.taken[e] && !plain.inside[graph_source(g, e)]) {
                    bring_in(&plain, graph_source(g, e), share);
                }
            }
        }
        for (int64_t v = 0; v < g->vertices; ++v) {
            bool here = false;
            for (int64_t e = g->offset[v]; e < g->offset[v + 1]; ++e) {
                here = here || plain.taken[e] != before[e];
            }
            rows += here;
        }
        memcpy(before, plain.taken, (size_t)g->edges);
        replicas += rows;
        *largest = rows > *largest ? rows : *largest;
        free(plain.inside);
        free(plain.core);
    }
    for (int64_t e = 0; e < g->edges; ++e) {
        assert_true(plain.taken[e]);
    }
    free(before);
    free(plain.taken);
    return replicas;
}

/* ---- growth ------------------------------------------------------------------------------------------------------ */

typedef struct grown_cut {
    pair_list list;
    adjacency adjacent;
    uint16_t *pair_part;
    int64_t replicas, largest; /* counted */
    int64_t most_pairs;
    expand_result result;
} grown_cut;

static void count_cut(grown_cut *cut, int parts)
{
    int64_t n = cut->list.vertices;
    char *held = calloc((size_t)(n * parts) + 1, 1);
    int64_t *load = calloc((size_t)parts, sizeof *load), *rows = calloc((size_t)parts, sizeof *rows);
    for (int64_t u = 0; u < n; ++u) {
        for (int64_t e = cut->list.offset[u]; e < cut->list.offset[u + 1]; ++e) {
            assert_true(cut->pair_part[e] < parts);
            held[u * parts + cut->pair_part[e]] = held[cut->list.other[e] * parts + cut->pair_part[e]] = 1;
            ++load[cut->pair_part[e]];
        }
    }
    for (int64_t i = 0; i < n * parts; ++i) {
        cut->replicas += held[i];
        rows[i % parts] += held[i];
    }
    for (int p = 0; p < parts; ++p) {
        cut->most_pairs = load[p] > cut->most_pairs ? load[p] : cut->most_pairs;
        cut->largest = rows[p] > cut->largest ? rows[p] : cut->largest;
    }
    free(held);
    free(load);
    free(rows);
}

static grown_cut grow_cut(const weft_graph *g, expand_options options)
{
    grown_cut cut = {0};
    ASSERT_OK(pair_list_build(g, 2, &cut.list));
    ASSERT_OK(adjacency_build(g, &cut.list, 2, &cut.adjacent));
    cut.pair_part = malloc((size_t)cut.list.pairs * sizeof *cut.pair_part + 1);
    ASSERT_OK(expand_assign(&cut.list, &cut.adjacent, &options, cut.pair_part, &cut.result));
    count_cut(&cut, options.parts);
    return cut;
}

static void cut_free(grown_cut *cut)
{
    free(cut->pair_part);
    adjacency_free(&cut->adjacent);
    pair_list_free(&cut->list);
}

static expand_options plain_options(int parts)
{
    return (expand_options){
        .threads = 2, .parts = parts, .seed = 3, .hub = 1e9, .balance = 1.05, .rows = INT64_MAX, .finished = INT64_MAX};
}

/* The zoo at any number of parts: what growth says it holds covers what pairs need, and no part is overfull by more
 * than the pairs that one vertex closes. */
static void test_growth_covers_every_pair(void **state)
{
    (void)state;
    static const int parts_tried[] = {2, 3, 16, 64, 65, 200};
    for (int c = 0; c < TEST_GRAPHS; ++c) {
        const char *name = NULL;
        test_graph g = test_graph_case(c, &name);
        for (int i = 0; i < 12; ++i) {
            expand_options options = plain_options(parts_tried[i / 2]);
            if (i % 2 == 1) {
                options.hub = 1.5;
                options.rows = g.graph.vertices / options.parts;
                options.finished = g.graph.vertices / options.parts;
            }
            grown_cut cut = grow_cut(&g.graph, options);
            int64_t most_degree = 0;
            for (int64_t v = 0; v < g.graph.vertices; ++v) {
                int64_t degree = cut.adjacent.offset[v + 1] - cut.adjacent.offset[v];
                most_degree = degree > most_degree ? degree : most_degree;
            }
            assert_true(cut.replicas <= cut.result.replicas);
            assert_true(cut.largest <= cut.result.largest);
            assert_true((double)cut.most_pairs <=
                        1.05 * (double)cut.list.pairs / options.parts + 1 + (double)most_degree);
            cut_free(&cut);
        }
        test_graph_free(&g);
    }
}

static void test_star_and_path(void **state)
{
    (void)state;
    const char *name = NULL;
    test_graph star = test_graph_case(4, &name), path = test_graph_case(5, &name);
    grown_cut cut = grow_cut(&star.graph, plain_options(4));
    assert_int_equal(cut.replicas, 299 + 4); /* leaves once, the centre everywhere */
    assert_true(cut.most_pairs <= 80);
    cut_free(&cut);
    cut = grow_cut(&path.graph, plain_options(4));
    assert_true(cut.replicas <= 500 + 2 * 4); /* each part is a run of vertices; two where a run met its neighbours */
    cut_free(&cut);
    test_graph_free(&star);
    test_graph_free(&path);
}

/* Without hubs and limits it is the published method; with its rules it takes as many replicas, and the largest part is
 * smaller than that one's, and near the mean. */
static void check_beside_plain(const char *name, test_graph *g, int parts)
{
    int64_t plain_largest = 0, plain = expand_plainly(&g->graph, parts, &plain_largest);
    grown_cut cut = grow_cut(&g->graph, plain_options(parts));
    partition_options options = {.method = "expand", .parts = parts, .seed = 3, .balance = 1.1, .threads = 2};
    weft_partition p;
    partition_report report;
    ASSERT_OK(partition_compute(&g->graph, &options, &p, &report));
    double mean = report.replication_factor * (double)g->graph.vertices / parts;
    print_message("%s, %d parts: plain %lld replicas, largest %lld; grown alone %lld, %lld; expand %.0f, %.0f\n", name,
                  parts, (long long)plain, (long long)plain_largest, (long long)cut.replicas, (long long)cut.largest,
                  mean * parts, report.vertex_balance * mean);
    assert_true((double)cut.replicas <= 1.03 * (double)plain);
    assert_true(report.vertex_balance * mean <= (double)plain_largest);
    assert_true(mean * parts <= 1.02 * (double)plain);
    assert_true(report.vertex_balance <= 1.12);
    assert_true(report.edge_balance <= 1.1);
    partition_destroy(&p);
    cut_free(&cut);
    test_graph_free(g);
}

/* Ids drawn by the third power of a uniform number: a few vertices with very many partners. */
static test_graph skewed_graph(int64_t n, int64_t m)
{
    test_edges edges = {0};
    uint64_t random = 8;
    for (int64_t i = 0; i < m; ++i) {
        double a = (double)test_random(&random) / 2147483648.0, b = (double)test_random(&random) / 2147483648.0;
        int64_t u = (int64_t)(a * a * a * (double)n), v = (int64_t)(b * b * b * (double)n);
        if (u != v) {
            test_edge(&edges, u, v);
        }
    }
    return test_graph_build(n, &edges, true, false);
}

static void test_beside_plain_expansion(void **state)
{
    (void)state;
    test_graph communities = test_graph_communities(800, 6000, 12, 85, 5), skewed = skewed_graph(800, 5000),
               random = test_graph_communities(800, 4000, 1, 100, 7);
    check_beside_plain("communities", &communities, 8);
    check_beside_plain("skewed", &skewed, 8);
    check_beside_plain("no communities", &random, 8);
}

/* ---- the queue --------------------------------------------------------------------------------------------------- */

static void test_queue_beside_a_search(void **state)
{
    (void)state;
    enum { N = 60, PARTS = 3 };
    vertex_queue queue;
    uint64_t random = 4;
    int part[N], open[N]; /* part -1: waits nowhere */
    ASSERT_OK(vertex_queue_create(N, PARTS, &queue));
    for (int v = 0; v < N; ++v) {
        part[v] = -1;
        open[v] = 0;
    }
    for (int step = 0; step < 20000; ++step) {
        int v = (int)(test_random(&random) % N), p = (int)(test_random(&random) % PARTS);
        int32_t count = 1 + (int32_t)(test_random(&random) % (step % 2 == 0 ? 20 : 2 * QUEUE_BUCKETS));
        switch (test_random(&random) % 4) {
        case 0:
            vertex_queue_put(&queue, v, p, count);
            part[v] = p;
            open[v] = count;
            break;
        case 1:
            vertex_queue_update(&queue, v, count);
            open[v] = count;
            break;
        case 2:
            vertex_queue_remove(&queue, v);
            part[v] = -1;
            break;
        default: {
            int fewest = INT32_MAX, taken = (int)vertex_queue_take(&queue, p);
            for (int u = 0; u < N; ++u) {
                fewest = part[u] == p && open[u] < fewest ? open[u] : fewest;
            }
            assert_int_equal(taken < 0, fewest == INT32_MAX);
            if (taken >= 0) {
                assert_int_equal(part[taken], p);
                assert_true(open[taken] == fewest || fewest >= QUEUE_BUCKETS);
                part[taken] = -1;
            }
        }
        }
    }
    vertex_queue_free(&queue);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_growth_covers_every_pair),
        cmocka_unit_test(test_star_and_path),
        cmocka_unit_test(test_beside_plain_expansion),
        cmocka_unit_test(test_queue_beside_a_search),
    };
    log_set_level(LOG_WARN);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
