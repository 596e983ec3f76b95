/* Libra's rule replayed step by step; refinement's bookkeeping, balance and promise; counts against a plain array; the
 * stream's bounds, closed forms and refusals. */
#include "base/log.h"
#include "partition/cover/counts.h"
#include "partition/cover/evict.h"
#include "partition/cover/refine.h"
#include "partition/methods/libra.h"
#include "partition/partition.h"
#include "partition/stream/edge_stream.h"
#include "support/edge_parts.h"
#include "support/graphs.h"
#include "support/test.h"

/* Replays the choices: each must be one that the rule allows, given all before it. */
static void check_libra(const pair_list *list, int parts, const uint16_t *pair_part)
{
    bool *held = calloc((size_t)(list->vertices * parts), sizeof *held);
    int64_t *load = calloc((size_t)parts, sizeof *load), *degree = calloc((size_t)list->vertices, sizeof *degree);
    for (int64_t u = 0; u < list->vertices; ++u) {
        for (int64_t e = list->offset[u]; e < list->offset[u + 1]; ++e) {
            ++degree[u];
            ++degree[list->other[e]];
        }
    }
    for (int64_t u = 0; u < list->vertices; ++u) {
        for (int64_t e = list->offset[u]; e < list->offset[u + 1]; ++e) {
            int64_t v = list->other[e];
            bool *a = held + u * parts, *b = held + v * parts;
            int in_a = 0, in_b = 0, in_both = 0;
            for (int p = 0; p < parts; ++p) {
                in_a += a[p];
                in_b += b[p];
                in_both += a[p] && b[p];
            }
            int64_t least = INT64_MAX;
            bool allowed_chosen = false;
            for (int p = 0; p < parts; ++p) {
                bool allowed;
                if (in_a == 0 && in_b == 0) {
                    allowed = true;
                } else if (in_a == 0 || in_b == 0) {
                    allowed = a[p] || b[p];
                } else if (in_both > 0) {
                    allowed = a[p] && b[p];
                } else {
                    allowed = degree[v] < degree[u] ? b[p] : a[p];
                }
                least = allowed && load[p] < least ? load[p] : least;
                allowed_chosen = allowed_chosen || (allowed && p == pair_part[e]);
            }
            assert_true(allowed_chosen);
            assert_int_equal(load[pair_part[e]], least);
            a[pair_part[e]] = b[pair_part[e]] = true;
            ++load[pair_part[e]];
        }
    }
    free(held);
    free(load);
    free(degree);
}

static void test_libra_follows_its_rule(void **state)
{
    (void)state;
    static const int parts_tried[] = {2, 3, 16, 100};
    for (int c = 4; c < TEST_GRAPHS; ++c) {
        const char *name = NULL;
        test_graph g = test_graph_case(c, &name);
        pair_list list;
        ASSERT_OK(pair_list_build(&g.graph, 2, &list));
        uint16_t *pair_part = malloc((size_t)list.pairs * sizeof *pair_part);
        for (int k = 0; k < 4; ++k) {
            ASSERT_OK(libra_assign(&list, parts_tried[k], NULL, 5, 2, pair_part));
            check_libra(&list, parts_tried[k], pair_part);
        }
        free(pair_part);
        pair_list_free(&list);
        test_graph_free(&g);
    }
}

/* The first pair may go anywhere: over seeds it goes everywhere, about equally often. */
static void test_libra_draws_ties(void **state)
{
    (void)state;
    test_graph g = test_graph_random(20, 60, true, 1);
    pair_list list;
    ASSERT_OK(pair_list_build(&g.graph, 1, &list));
    uint16_t pair_part[64];
    int count[4] = {0};
    for (uint64_t seed = 0; seed < 400; ++seed) {
        ASSERT_OK(libra_assign(&list, 4, NULL, seed, 1, pair_part));
        ++count[pair_part[0]];
    }
    for (int p = 0; p < 4; ++p) {
        assert_in_range(count[p], 60, 140); /* 100 +- 4.6 standard deviations */
    }
    pair_list_free(&list);
    test_graph_free(&g);
}

static int64_t count_replicas(const pair_list *list, int parts, const uint16_t *pair_part, int64_t *most_pairs)
{
    char *held = calloc((size_t)(list->vertices * parts), 1);
    int64_t *load = calloc((size_t)parts, sizeof *load), replicas = 0;
    *most_pairs = 0;
    for (int64_t u = 0; u < list->vertices; ++u) {
        for (int64_t e = list->offset[u]; e < list->offset[u + 1]; ++e) {
            assert_true(pair_part[e] < parts);
            held[u * parts + pair_part[e]] = held[list->other[e] * parts + pair_part[e]] = 1;
            *most_pairs = ++load[pair_part[e]] > *most_pairs ? load[pair_part[e]] : *most_pairs;
        }
    }
    for (int64_t i = 0; i < list->vertices * parts; ++i) {
        replicas += held[i];
    }
    free(held);
    free(load);
    return replicas;
}

static weft_status refine(const pair_list *list, int parts, int passes, int threads, uint16_t *pair_part,
                          refine_result *result)
{
    refine_options options = {.parts = parts, .threads = threads, .passes = passes, .balance = 1.05};
    part_counts counts;
    ASSERT_OK(counts_create(list, pair_part, parts, threads, &counts));
    const weft_status status = refine_pairs(list, &options, &counts, pair_part, result);
    counts_free(&counts);
    return status;
}

static weft_status evict(const pair_list *list, const adjacency *adjacent, int parts, double balance,
                         uint16_t *pair_part, refine_result *result)
{
    const refine_options options = {.parts = parts, .threads = 2, .balance = balance};
    part_counts counts;
    uint16_t *entry_part = malloc((size_t)adjacent->entries * sizeof *entry_part);
    ASSERT_OK(counts_create(list, pair_part, parts, 2, &counts));
    const weft_status status = evict_replicas(list, adjacent, &options, &counts, pair_part, entry_part, result);
    for (int64_t v = 0; v < list->vertices && status == WEFT_OK; ++v) {
        int64_t pair = list->offset[v];
        for (int64_t e = adjacent->offset[v]; e < adjacent->offset[v + 1]; ++e) {
            if (adjacent->neighbour[e] > v) {
                assert_int_equal(entry_part[e], pair_part[pair++]);
            }
        }
    }
    counts_free(&counts);
    free(entry_part);
    return status;
}

static void test_refinement_never_adds_replicas(void **state)
{
    (void)state;
    static const int parts_tried[] = {2, 5, 16, 64, 200};
    for (int c = 4; c < TEST_GRAPHS; ++c) {
        const char *name = NULL;
        test_graph g = test_graph_case(c, &name);
        pair_list list;
        ASSERT_OK(pair_list_build(&g.graph, 2, &list));
        size_t bytes = (size_t)list.pairs * sizeof(uint16_t);
        uint16_t *start = malloc(bytes), *serial = malloc(bytes), *parallel = malloc(bytes);
        for (int k = 0; k < 5; ++k) {
            int parts = parts_tried[k];
            int64_t most = 0;
            refine_result result;
            ASSERT_OK(libra_assign(&list, parts, NULL, 3, 2, start));
            memcpy(serial, start, bytes);
            ASSERT_OK(refine(&list, parts, 0, 1, serial, &result)); /* balance only */
            int64_t balanced = count_replicas(&list, parts, serial, &most);
            assert_int_equal(result.replicas, balanced);
            int64_t fair = (list.pairs + parts - 1) / parts, cap = (int64_t)(1.05 * (double)list.pairs / parts);
            assert_true(most <= (cap > fair ? cap : fair));
            memcpy(serial, start, bytes);
            memcpy(parallel, start, bytes);
            ASSERT_OK(refine(&list, parts, 8, 1, serial, &result));
            assert_int_equal(result.replicas, count_replicas(&list, parts, serial, &most));
            assert_true(result.replicas <= balanced);
            assert_true(most <= (cap > fair ? cap : fair));
            ASSERT_OK(refine(&list, parts, 8, 3, parallel, &result));
            assert_memory_equal(serial, parallel, bytes);
        }
        free(start);
        free(serial);
        free(parallel);
        pair_list_free(&list);
        test_graph_free(&g);
    }
}

/* Everything in one part: balancing alone must spread it. */
static void test_balance_from_the_worst_case(void **state)
{
    (void)state;
    test_graph g = test_graph_communities(2000, 20000, 20, 90, 4);
    pair_list list;
    ASSERT_OK(pair_list_build(&g.graph, 2, &list));
    uint16_t *pair_part = calloc((size_t)list.pairs, sizeof *pair_part);
    refine_result result;
    int64_t most = 0;
    ASSERT_OK(refine(&list, 8, 8, 2, pair_part, &result));
    assert_int_equal(result.replicas, count_replicas(&list, 8, pair_part, &most));
    assert_true((double)most <= 1.05 * (double)list.pairs / 8);
    free(pair_part);
    pair_list_free(&list);
    test_graph_free(&g);
}

/* From random parts, from Libra's and from refined ones: figures are those of a recount, replicas never rise, no part
 * gets more pairs than it may have; and where refinement has come to its end, some replicas still go. */
static void test_eviction_only_takes_replicas(void **state)
{
    (void)state;
    static const int parts_tried[] = {2, 5, 16, 64, 200};
    int64_t refined = 0, evicted = 0;
    for (int c = 4; c < TEST_GRAPHS; ++c) {
        const char *name = NULL;
        test_graph g = test_graph_case(c, &name);
        pair_list list;
        adjacency adjacent;
        ASSERT_OK(pair_list_build(&g.graph, 2, &list));
        ASSERT_OK(adjacency_build(&g.graph, &list, 2, &adjacent));
        uint16_t *pair_part = malloc((size_t)list.pairs * sizeof *pair_part);
        for (int k = 0; k < 15; ++k) {
            const int parts = parts_tried[k / 3];
            int64_t before = 0, most = 0;
            uint64_t random = 17;
            refine_result result;
            ASSERT_OK(libra_assign(&list, parts, NULL, 3, 2, pair_part));
            for (int64_t e = 0; e < list.pairs && k % 3 == 0; ++e) {
                pair_part[e] = (uint16_t)(test_random(&random) % parts);
            }
            if (k % 3 == 2) {
                ASSERT_OK(refine(&list, parts, 30, 1, pair_part, &result));
            }
            const int64_t replicas = count_replicas(&list, parts, pair_part, &before);
            ASSERT_OK(evict(&list, &adjacent, parts, 1.05, pair_part, &result));
            assert_int_equal(result.replicas, count_replicas(&list, parts, pair_part, &most));
            assert_true(result.replicas <= replicas);
            const int64_t cap = (int64_t)(1.05 * (double)list.pairs / parts);
            assert_true(most <= (before > cap ? before : cap));
            refined += k % 3 == 2 ? replicas : 0;
            evicted += k % 3 == 2 ? result.replicas : 0;
        }
        free(pair_part);
        adjacency_free(&adjacent);
        pair_list_free(&list);
        test_graph_free(&g);
    }
    print_message("refined %lld replicas, evicted %lld\n", (long long)refined, (long long)evicted);
    assert_true(evicted < refined);
}

/* Two triangles' worth of pairs that no single move frees: v has one pair with each of a and b in part 1, where a and b
 * meet as well; all three have more pairs with each other's partners in part 0. Moving one pair leaves the replicas;
 * both take v's away. */
static void test_eviction_moves_pairs_together(void **state)
{
    (void)state;
    enum { V = 0, A = 1, B = 2, C = 3, N = 4 };
    test_edges edges = {0};
    test_edge(&edges, V, A);
    test_edge(&edges, V, B);
    test_edge(&edges, V, C);
    test_edge(&edges, A, B);
    test_edge(&edges, A, C);
    test_edge(&edges, B, C);
    test_graph g = test_graph_build(N, &edges, true, false);
    pair_list list;
    adjacency adjacent;
    refine_result result;
    int64_t most = 0;
    ASSERT_OK(pair_list_build(&g.graph, 1, &list));
    ASSERT_OK(adjacency_build(&g.graph, &list, 1, &adjacent));
    uint16_t pair_part[6] = {1, 1, 0, 1, 0, 0}; /* VA VB VC AB AC BC: part 0 holds all, part 1 V, A and B */
    assert_int_equal(count_replicas(&list, 2, pair_part, &most), 7);
    const double balance = 1.67; /* five pairs a part */
    ASSERT_OK(evict(&list, &adjacent, 2, balance, pair_part, &result));
    assert_int_equal(result.replicas, 6);
    assert_int_equal(count_replicas(&list, 2, pair_part, &most), 6);
    assert_int_equal(most, 5);
    g.source[g.offset[1]] = 1; /* vertex 1 no longer names vertex 0 */
    ASSERT_STATUS(evict(&list, &adjacent, 2, balance, pair_part, &result), WEFT_ERR_DATA);
    ASSERT_MESSAGE("convert it again");
    adjacency_free(&adjacent);
    pair_list_free(&list);
    test_graph_free(&g);
}

static void test_counts_follow_moves(void **state)
{
    (void)state;
    static const int parts_tried[] = {2, 6, 64, 65, 300};
    test_graph g = test_graph_random(150, 1500, true, 12);
    pair_list list;
    ASSERT_OK(pair_list_build(&g.graph, 1, &list));
    uint16_t *pair_part = malloc((size_t)list.pairs * sizeof *pair_part);
    for (int k = 0; k < 5; ++k) {
        int parts = parts_tried[k];
        uint64_t random = 9;
        int *expected = calloc(150 * (size_t)parts, sizeof *expected);
        for (int64_t u = 0; u < 150; ++u) {
            for (int64_t e = list.offset[u]; e < list.offset[u + 1]; ++e) {
                pair_part[e] = (uint16_t)(test_random(&random) % parts);
                ++expected[u * parts + pair_part[e]];
                ++expected[list.other[e] * parts + pair_part[e]];
            }
        }
        part_counts counts;
        ASSERT_OK(counts_create(&list, pair_part, parts, 2, &counts));
        for (int move = 0; move < 3000; ++move) {
            int64_t u = test_random(&random) % 150, degree = list.offset[u + 1] - list.offset[u];
            if (degree == 0) {
                continue;
            }
            int64_t e = list.offset[u] + test_random(&random) % degree, ends[2] = {u, list.other[e]};
            int from = pair_part[e], to = (int)(test_random(&random) % parts);
            for (int i = 0; i < 2; ++i) {
                --expected[ends[i] * parts + from];
                ++expected[ends[i] * parts + to];
            }
            counts_move(&counts, u, list.other[e], from, to);
            pair_part[e] = (uint16_t)to;
        }
        int64_t replicas = 0, largest = 0;
        for (int p = 0; p < parts; ++p) {
            int64_t held = 0, ends = 0;
            for (int64_t v = 0; v < 150; ++v) {
                assert_int_equal(counts_get(&counts, v, p), expected[v * parts + p]);
                held += expected[v * parts + p] > 0 ? 1 : 0;
                ends += expected[v * parts + p];
            }
            assert_int_equal(counts.held[p], held);
            assert_int_equal(2 * counts.load[p], ends);
            replicas += held;
            largest = held > largest ? held : largest;
        }
        assert_int_equal(counts.replicas, replicas);
        assert_int_equal(counts_largest(&counts, NULL), largest);
        counts_free(&counts);
        free(expected);
    }
    free(pair_part);
    pair_list_free(&list);
    test_graph_free(&g);
}

/* ---- the stream -------------------------------------------------------------------------------------------------- */

/* Replicas of edge_part, self-loops left out; the most edges of a part. */
static int64_t count_streamed(const weft_graph *g, int parts, const uint16_t *edge_part, int64_t *most)
{
    char *held = malloc((size_t)(g->vertices * parts) + 1);
    int64_t *load = calloc((size_t)parts, sizeof *load);
    const int64_t replicas = count_held(g, parts, edge_part, held, load);
    *most = 0;
    for (int p = 0; p < parts; ++p) {
        *most = load[p] > *most ? load[p] : *most;
    }
    free(held);
    free(load);
    return replicas;
}

static weft_status stream_by(int threads, const weft_graph *graph, int parts, double balance, uint16_t *edge_part,
                             double *at_home)
{
    const row_team alone = row_team_alone(graph);
    const edge_stream_options options = {
        .parts = parts, .threads = threads, .balance = balance, .way = STREAM_BY_SCORES};
    edge_stream_result result = {.at_home = 0};
    weft_status status = edge_stream_assign(&alone, &options, edge_part, NULL, &result);
    if (at_home != NULL) {
        *at_home = result.at_home;
    }
    return status;
}

static weft_status stream_alone(const weft_graph *graph, int parts, double balance, uint16_t *edge_part,
                                double *at_home)
{
    return stream_by(1, graph, parts, balance, edge_part, at_home);
}

/* No part exceeds its share by more than one pair, repetitions included, and 64-bit sources give the same parts. */
static void test_stream_keeps_its_balance(void **state)
{
    (void)state;
    static const int parts_tried[] = {2, 3, 16, 64, 65, 1000};
    for (int c = 0; c < TEST_GRAPHS; ++c) {
        const char *name = NULL;
        test_graph g = test_graph_case(c, &name);
        const int64_t edges = g.graph.edges;
        int64_t *wide = malloc((size_t)edges * sizeof *wide + 1);
        for (int64_t e = 0; e < edges; ++e) {
            wide[e] = g.source[e];
        }
        weft_graph copy = g.graph;
        copy.source32 = NULL;
        copy.source64 = wide;
        uint16_t *part = malloc((size_t)edges * sizeof *part + 1), *again = malloc((size_t)edges * sizeof *again + 1);
        for (int k = 0; k < 6; ++k) {
            int64_t most = 0;
            ASSERT_OK(stream_alone(&g.graph, parts_tried[k], 1.05, part, NULL));
            count_streamed(&g.graph, parts_tried[k], part, &most);
            const int64_t repeated = c == TEST_GRAPHS - 1 ? 8 : 2; /* edges of a pair */
            assert_true(most <= (int64_t)(1.05 * (double)edges / parts_tried[k]) + 1 + repeated);
            ASSERT_OK(stream_alone(&copy, parts_tried[k], 1.05, again, NULL));
            assert_memory_equal(part, again, (size_t)edges * sizeof *part);
        }
        free(again);
        free(part);
        free(wide);
        test_graph_free(&g);
    }
}

/* Threads that lead second directions after the first give the same parts; of more parts there is memory for fewer of
 * them. */
static void test_stream_of_threads(void **state)
{
    (void)state;
    static const int parts_tried[] = {3, 130, 400};
    for (int symmetric = 0; symmetric < 2; ++symmetric) {
        test_graph g = test_graph_random(3000, 90000, symmetric != 0, 5);
        const size_t bytes = (size_t)g.graph.edges * sizeof(uint16_t);
        uint16_t *one = malloc(bytes), *many = malloc(bytes);
        for (int k = 0; k < 3; ++k) {
            ASSERT_OK(stream_by(1, &g.graph, parts_tried[k], 1.05, one, NULL));
            ASSERT_OK(stream_by(4, &g.graph, parts_tried[k], 1.05, many, NULL));
            assert_memory_equal(one, many, bytes);
        }
        free(one);
        free(many);
        test_graph_free(&g);
    }
}

/* Cliques whose ids are interleaved, each joined to the next by one pair: as many parts need one replica for each of
 * those pairs at most; a star's leaves are held once. */
static void test_stream_finds_what_is_there(void **state)
{
    (void)state;
    enum { CLIQUES = 8, SIZE = 20, LEAVES = 400 };
    test_edges edges = {0};
    for (int64_t c = 0; c < CLIQUES; ++c) {
        for (int64_t i = 0; i < SIZE; ++i) {
            for (int64_t j = 0; j < i; ++j) {
                test_edge(&edges, i * CLIQUES + c, j * CLIQUES + c);
            }
        }
        test_edge(&edges, c, CLIQUES + (c + 1) % CLIQUES);
    }
    test_graph g = test_graph_build((int64_t)CLIQUES * SIZE, &edges, true, false);
    uint16_t *part = malloc((size_t)g.graph.edges * sizeof *part);
    int64_t most = 0;
    ASSERT_OK(stream_alone(&g.graph, CLIQUES, 1.05, part, NULL));
    assert_true(count_streamed(&g.graph, CLIQUES, part, &most) <= CLIQUES * SIZE + CLIQUES);
    free(part);
    test_graph_free(&g);
    for (int64_t v = 1; v <= LEAVES; ++v) {
        test_edge(&edges, v, 0);
    }
    g = test_graph_build(LEAVES + 1, &edges, true, false);
    part = malloc((size_t)g.graph.edges * sizeof *part);
    ASSERT_OK(stream_alone(&g.graph, 4, 1.05, part, NULL));
    assert_int_equal(count_streamed(&g.graph, 4, part, &most), LEAVES + 4);
    free(part);
    test_graph_free(&g);
}

/* Fewer replicas than the one-pass method needs, on communities with shuffled ids; vertices even. */
static void test_stream_beside_libra(void **state)
{
    (void)state;
    test_graph g = test_graph_communities(4000, 60000, 20, 80, 13);
    pair_list list;
    int64_t most = 0;
    ASSERT_OK(pair_list_build(&g.graph, 1, &list));
    uint16_t *pair_part = malloc((size_t)list.pairs * sizeof *pair_part);
    ASSERT_OK(libra_assign(&list, 8, NULL, 1, 1, pair_part));
    const int64_t libra = count_replicas(&list, 8, pair_part, &most);
    uint16_t *part = malloc((size_t)g.graph.edges * sizeof *part);
    ASSERT_OK(stream_alone(&g.graph, 8, 1.05, part, NULL));
    const int64_t stream = count_streamed(&g.graph, 8, part, &most);
    print_message("8 parts: Libra %lld replicas, stream %lld\n", (long long)libra, (long long)stream);
    assert_true(stream < libra - libra / 5);
    free(part);
    free(pair_part);
    pair_list_free(&list);
    test_graph_free(&g);
}

static void test_stream_refuses_false_symmetry(void **state)
{
    (void)state;
    test_graph g = test_graph_random(60, 300, false, 3);
    uint16_t *part = malloc((size_t)g.graph.edges * sizeof *part);
    g.graph.symmetric = true;
    ASSERT_STATUS(stream_alone(&g.graph, 3, 1.05, part, NULL), WEFT_ERR_DATA);
    ASSERT_MESSAGE("convert it again");
    free(part);
    test_graph_free(&g);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_libra_follows_its_rule),
        cmocka_unit_test(test_libra_draws_ties),
        cmocka_unit_test(test_refinement_never_adds_replicas),
        cmocka_unit_test(test_balance_from_the_worst_case),
        cmocka_unit_test(test_eviction_only_takes_replicas),
        cmocka_unit_test(test_eviction_moves_pairs_together),
        cmocka_unit_test(test_counts_follow_moves),
        cmocka_unit_test(test_stream_keeps_its_balance),
        cmocka_unit_test(test_stream_of_threads),
        cmocka_unit_test(test_stream_finds_what_is_there),
        cmocka_unit_test(test_stream_beside_libra),
        cmocka_unit_test(test_stream_refuses_false_symmetry),
    };
    log_set_level(LOG_WARN);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
