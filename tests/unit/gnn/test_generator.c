/*
 * Generated graphs: shape, counts, independence of threads, and specs that are refused.
 */
#include <math.h>

#include "base/alloc.h"
#include "base/file.h"
#include "gnn/data/generate/generator.h"
#include "gnn/data/generate/generator_parts.h"
#include "support/test.h"

static generated_graph make(const char *text, int threads)
{
    generator_spec spec;
    generated_graph graph;
    ASSERT_OK(generator_spec_parse(text, &spec));
    ASSERT_OK(generator_make(&spec, threads, &graph));
    return graph;
}

static int64_t degree(const generated_graph *graph, int64_t v)
{
    return graph->offset[v + 1] - graph->offset[v];
}

static bool has_edge(const generated_graph *graph, int64_t v, int32_t u)
{
    int64_t low = graph->offset[v];
    int64_t high = graph->offset[v + 1];
    while (low < high) {
        int64_t middle = (low + high) / 2;
        if (graph->source[middle] < u) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low < graph->offset[v + 1] && graph->source[low] == u;
}

/* Rows strictly ascending (so sorted, without repeats), in range, no self-loops, and every edge has its reverse. */
static void assert_simple_symmetric(const generated_graph *graph)
{
    assert_int_equal(graph->offset[0], 0);
    for (int64_t v = 0; v < graph->vertices; ++v) {
        for (int64_t e = graph->offset[v]; e < graph->offset[v + 1]; ++e) {
            int32_t u = graph->source[e];
            if (u < 0 || u >= graph->vertices || u == v || (e > graph->offset[v] && graph->source[e - 1] >= u)) {
                fail_msg("row %ld entry %ld: source %d", (long)v, (long)e, (int)u);
            }
            if (!has_edge(graph, u, (int32_t)v)) {
                fail_msg("edge %d -> %ld has no reverse", (int)u, (long)v);
            }
        }
    }
    assert_int_equal(graph->offset[graph->vertices], graph->edges);
}

static double share_inside(const generated_graph *graph)
{
    int64_t inside = 0;
    for (int64_t v = 0; v < graph->vertices; ++v) {
        for (int64_t e = graph->offset[v]; e < graph->offset[v + 1]; ++e) {
            inside += graph->group[v] == graph->group[graph->source[e]];
        }
    }
    return (double)inside / (double)graph->edges;
}

static int64_t max_degree(const generated_graph *graph)
{
    int64_t most = 0;
    for (int64_t v = 0; v < graph->vertices; ++v) {
        most = degree(graph, v) > most ? degree(graph, v) : most;
    }
    return most;
}

static void assert_same(const generated_graph *a, const generated_graph *b)
{
    size_t n = (size_t)a->vertices;
    assert_int_equal(a->edges, b->edges);
    assert_memory_equal(a->offset, b->offset, (n + 1) * sizeof *a->offset);
    assert_memory_equal(a->source, b->source, (size_t)a->edges * sizeof *a->source);
    assert_memory_equal(a->label, b->label, n * sizeof *a->label);
    assert_memory_equal(a->split, b->split, n);
    size_t f = (size_t)a->spec.features;
    float *x = test_malloc(n * f * sizeof *x);
    float *y = test_malloc(n * f * sizeof *y);
    generator_features_fill(a->features, 0, a->vertices, x);
    int64_t half = b->vertices / 2; /* and in other pieces */
    generator_features_fill(b->features, 0, half, y);
    generator_features_fill(b->features, half, b->vertices - half, y + (size_t)half * f);
    assert_memory_equal(x, y, n * f * sizeof *x);
    test_free(x);
    test_free(y);
}

static void test_same_bits_for_any_threads(void **state)
{
    (void)state;
    const char *specs[] = {"community,n=3001,e=60000,classes=5,communities=11,f=13,label-noise=0.1",
                           "rmat,scale=11,f=9", "community,n=2000,e=9000,f=3,exponent=2.5,sorted=1"};
    for (size_t i = 0; i < sizeof specs / sizeof specs[0]; ++i) {
        generated_graph one = make(specs[i], 1);
        for (int threads = 2; threads <= 3; ++threads) {
            generated_graph other = make(specs[i], threads);
            assert_same(&one, &other);
            generated_graph_free(&other);
        }
        generated_graph_free(&one);
    }
}

static void test_seed_changes_everything(void **state)
{
    (void)state;
    generated_graph a = make("community,n=1000,e=20000,f=0,seed=1", 1);
    generated_graph b = make("community,n=1000,e=20000,f=0,seed=2", 1);
    assert_memory_not_equal(a.source, b.source, 1000 * sizeof *a.source);
    assert_memory_not_equal(a.label, b.label, 1000 * sizeof *a.label);
    assert_memory_not_equal(a.split, b.split, 1000);
    generated_graph_free(&a);
    generated_graph_free(&b);
}

/* Counts within 1 % and shares within 2 % for sparse, dense and power-law graphs, and for the presets scaled down. */
static void test_counts_and_shares(void **state)
{
    (void)state;
    const struct {
        const char *spec;
        double vertices, edges, inside;
    } cases[] = {
        {"community,n=20000,e=400000,f=0", 20000, 400000, 0.7},
        {"community,n=4000,e=800000,classes=8,p-in=0.5,f=0", 4000, 800000, 0.5},
        {"community,n=30000,e=300000,classes=7,communities=300,p_in=0.85,exponent=2.8,max-degree=3000,f=0", 30000,
         300000, 0.85},
        {"community,n=5000,e=100000,classes=1,communities=1,f=0", 5000, 100000, 1},
        {"community,n=5000,e=100000,p-in=0,f=0", 5000, 100000, 0},
        {"arxiv,scale=0.2,f=0", 33869, 466497, 0.7},
        {"products,scale=0.004,f=0", 9796, 494873, 0.85},
        {"reddit,scale=0.1,e=2000000,f=0", 23297, 2000000, 0.7},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; ++i) {
        generated_graph graph = make(cases[i].spec, 2);
        assert_int_equal(graph.vertices, (int64_t)cases[i].vertices);
        ASSERT_NEAR(graph.edges / cases[i].edges, 1, 0.01);
        ASSERT_NEAR(share_inside(&graph), cases[i].inside, 0.02);
        assert_simple_symmetric(&graph);
        generated_graph_free(&graph);
    }
}

/* Saturated hubs keep their degree: the largest one lies near what was asked, and the shape is skewed. */
static void test_degree_shape(void **state)
{
    (void)state;
    generated_graph graph = make("community,n=20000,e=1000000,exponent=2.2,max-degree=2000,f=0", 2);
    ASSERT_NEAR(max_degree(&graph), 2000, 300);
    int64_t below_mean = 0;
    for (int64_t v = 0; v < graph.vertices; ++v) {
        below_mean += degree(&graph, v) < 50;
    }
    assert_in_range(below_mean, graph.vertices * 6 / 10, graph.vertices * 9 / 10);
    generated_graph_free(&graph);

    /* Log-normal: the logarithm of the degree has the wanted deviation and median. */
    graph = make("community,n=20000,e=2000000,sigma=0.8,f=0", 2);
    double sum = 0;
    double squares = 0;
    for (int64_t v = 0; v < graph.vertices; ++v) {
        double x = log((double)(degree(&graph, v) + 1));
        sum += x;
        squares += x * x;
    }
    double mean = sum / 20000;
    ASSERT_NEAR(mean, log(100) - 0.8 * 0.8 / 2, 0.05);
    ASSERT_NEAR(sqrt(squares / 20000 - mean * mean), 0.8, 0.05);
    generated_graph_free(&graph);
}

static void test_presets_resolve(void **state)
{
    (void)state;
    generator_spec spec;
    ASSERT_OK(generator_spec_parse("reddit", &spec));
    assert_int_equal((int64_t)spec.vertices, 232965);
    assert_int_equal((int64_t)spec.edges, 114615892);
    ASSERT_OK(generator_spec_parse("products,scale=0.1", &spec));
    assert_int_equal((int64_t)spec.vertices, 244903);
    assert_int_equal((int64_t)spec.communities, 300);
    ASSERT_NEAR(spec.edges, 12371828, 2);
    ASSERT_OK(generator_spec_parse("reddit,scale=0.1", &spec));
    ASSERT_NEAR(spec.edges, 11461590, 2);
    ASSERT_OK(generator_spec_parse("reddit,scale=0.01", &spec)); /* degrees shrink instead of being refused */
    assert_true(spec.edges < 1146158);
    ASSERT_OK(generator_spec_parse("quickstart", &spec));
    ASSERT_OK(generator_spec_parse("arxiv,f=17,scale=0.5", &spec));
    assert_int_equal((int64_t)spec.features, 17);
}

static void test_splits_have_exact_counts(void **state)
{
    (void)state;
    generator_spec spec;
    ASSERT_OK(generator_spec_parse("reddit", &spec));
    uint8_t *split = test_malloc(232965);
    generator_splits(&spec, 2, split);
    int64_t count[3] = {0};
    for (int64_t v = 0; v < 232965; ++v) {
        assert_in_range(split[v], 0, 2);
        ++count[split[v]];
    }
    assert_int_equal(count[0], 153431);
    assert_int_equal(count[1], 23831);
    assert_int_equal(count[2], 55703);
    test_free(split);

    generated_graph graph = make("community,n=1000,e=5000,train=0.1,valid=0.2,test=0.3,f=0", 1);
    int64_t none = 0;
    for (int64_t v = 0; v < 1000; ++v) {
        none += graph.split[v] == 255;
    }
    assert_int_equal(none, 400);
    generated_graph_free(&graph);
}

/* Features: the mean over a class gives its direction back, the noise has unit variance, one vertex alone says little.
 */
static void test_class_means_are_recoverable(void **state)
{
    (void)state;
    enum { N = 8000, F = 32, C = 4 };
    generated_graph graph = make("community,n=8000,e=16000,classes=4,f=32,signal=0.2", 2);
    float *x = test_malloc(N * F * sizeof *x);
    generator_features_fill(graph.features, 0, N, x);
    double mean[C][F] = {{0}};
    int64_t members[C] = {0};
    for (int v = 0; v < N; ++v) {
        int c = graph.class_of[v];
        ++members[c];
        for (int j = 0; j < F; ++j) {
            mean[c][j] += x[v * F + j];
        }
    }
    double spread = 0;
    for (int c = 0; c < C; ++c) {
        assert_int_equal(members[c], N / C);
        for (int j = 0; j < F; ++j) {
            mean[c][j] /= (double)members[c];
            spread += mean[c][j] * mean[c][j] / (C * F);
        }
    }
    ASSERT_NEAR(sqrt(spread), 0.2, 0.05);
    double variance = 0;
    int64_t right = 0;
    for (int v = 0; v < N; ++v) {
        double best = -1e30;
        int chosen = 0;
        for (int c = 0; c < C; ++c) {
            double score = 0;
            for (int j = 0; j < F; ++j) {
                score += x[v * F + j] * mean[c][j] - 0.5 * mean[c][j] * mean[c][j];
            }
            chosen = score > best ? c : chosen;
            best = score > best ? score : best;
        }
        right += chosen == graph.class_of[v];
        for (int j = 0; j < F; ++j) {
            double noise = x[v * F + j] - mean[graph.class_of[v]][j];
            variance += noise * noise / ((double)N * F);
        }
    }
    ASSERT_NEAR(variance, 1, 0.02);
    assert_in_range(right, N * 4 / 10, N * 8 / 10);
    test_free(x);
    generated_graph_free(&graph);
}

static void test_label_noise(void **state)
{
    (void)state;
    generated_graph graph = make("community,n=20000,e=20000,classes=10,label-noise=0.3,f=0", 1);
    int64_t wrong = 0;
    for (int64_t v = 0; v < graph.vertices; ++v) {
        assert_in_range(graph.label[v], 0, 9);
        wrong += graph.label[v] != graph.class_of[v];
    }
    ASSERT_NEAR(wrong / 20000.0, 0.3 * 0.9, 0.02);
    generated_graph_free(&graph);
}

static void test_sorted_ids_follow_communities(void **state)
{
    (void)state;
    generated_graph graph = make("community,n=1003,e=8000,classes=10,sorted=1,f=0", 1);
    for (int64_t v = 1; v < graph.vertices; ++v) {
        assert_true(graph.group[v] >= graph.group[v - 1]);
    }
    generated_graph_free(&graph);
}

/* R-MAT against its definition: without shuffling, the top-left quadrant gets about a of the distinct draws. */
static void test_rmat(void **state)
{
    (void)state;
    generated_graph graph = make("rmat,scale=12,edge-factor=4,f=0,sorted=1", 2);
    assert_int_equal(graph.vertices, 4096);
    assert_simple_symmetric(&graph);
    assert_in_range(graph.edges, 4096 * 8 * 6 / 10, 4096 * 8);
    assert_true(max_degree(&graph) > 100);
    generated_graph_free(&graph);

    generator_spec spec;
    rmat_model model;
    edge_pair pairs[GENERATOR_BATCH];
    ASSERT_OK(generator_spec_parse("rmat,scale=20,edge-factor=1,sorted=1", &spec));
    rmat_model_init(&spec, &model);
    edge_stream stream = rmat_model_stream(&model);
    double quadrant[4] = {0};
    for (int64_t first = 0; first < 200 * GENERATOR_BATCH; first += GENERATOR_BATCH) {
        int made = stream.draw(stream.self, first, GENERATOR_BATCH, pairs);
        for (int i = 0; i < made; ++i) {
            quadrant[2 * (pairs[i].u >> 19) + (pairs[i].v >> 19)] += 1.0 / (200 * GENERATOR_BATCH);
        }
    }
    ASSERT_NEAR(quadrant[0], 0.57, 0.005);
    ASSERT_NEAR(quadrant[1], 0.19, 0.005);
    ASSERT_NEAR(quadrant[2], 0.19, 0.005);
    ASSERT_NEAR(quadrant[3], 0.05, 0.005);
}

static void test_graph_without_edges(void **state)
{
    (void)state;
    generated_graph graph = make("community,n=10,e=0,classes=2", 2);
    assert_int_equal(graph.edges, 0);
    for (int v = 0; v <= 10; ++v) {
        assert_int_equal(graph.offset[v], 0);
    }
    generated_graph_free(&graph);
}

/* The probabilities that a table encodes, summed slot by slot, equal the weights. */
static void test_alias_table_encodes_the_weights(void **state)
{
    (void)state;
    enum { COUNT = 1000 };
    double weight[COUNT];
    double got[COUNT] = {0};
    double sum = 0;
    alias_slot table[COUNT];
    for (int i = 0; i < COUNT; ++i) {
        weight[i] = i % 7 == 0 ? 0 : pow(1.01, i);
        sum += weight[i];
    }
    ASSERT_OK(generator_alias_build(weight, COUNT, table));
    for (int i = 0; i < COUNT; ++i) {
        got[i] += table[i].keep * 0x1p-32 / COUNT;
        got[table[i].other] += (1 - table[i].keep * 0x1p-32) / COUNT;
    }
    for (int i = 0; i < COUNT; ++i) {
        ASSERT_NEAR(got[i], weight[i] / sum, 1e-9);
    }
    assert_int_equal(generator_alias_draw(table, COUNT, UINT32_MAX, 0), COUNT - 1);
}

static void test_bad_specs_are_refused(void **state)
{
    (void)state;
    const struct {
        const char *spec, *message;
    } cases[] = {
        {"", "NAME"},
        {"comunity", "community"},
        {"community,clases=3", "did you mean \"classes\""},
        {"community,edge-factor=3", "unknown key \"edge-factor\""},
        {"community,scale=2", "unknown key \"scale\""},
        {"community,zzzzzzzz=3", "known: n, e"},
        {"community,n", "n=VALUE"},
        {"community,n=", "expected"},
        {"community,n=12x", "n=12x: not a number"},
        {"community,n=1e3.5", "not a number"},
        {"community,n=nan", "not a number"},
        {"community,n=10.5", "whole number"},
        {"community,n=1", "between 2 and"},
        {"community,p-in=1.1", "between 0 and 1"},
        {"community,n=100,n=100", "given twice"},
        {"community,", "ends with a comma"},
        {"community,n=100,", "ends with a comma"},
        {"community,n=1000,e=20000,max-degree=1000", "max-degree"},
        {"community,n=1000,e=20000,max-degree=20", "mean degree"},
        {"community,n=1000,e=200000,classes=10", "lower e, p-in or communities"},
        {"community,n=1000,e=900000,p-in=0.01,max-degree=999,classes=2", "mean degree"},
        {"community,n=1000,e=600000,p-in=0.01,max-degree=999,classes=2", "raise p-in"},
        {"community,n=1000,e=4000,classes=10,communities=5", "fewer than 10 classes"},
        {"community,n=100,e=400,communities=60", "at least 120"},
        {"community,exponent=0.5", "above 1"},
        {"community,train=0.7,valid=0.4", "at most 1"},
        {"community,n=1000,e=4000,train=1001", "at most 1"},
        {"rmat,a=0.6,b=0.3,c=0.3", "a + b + c"},
        {"rmat,scale=31", "between 1 and 30"},
        {"rmat,communities=3", "unknown key"},
        {"reddit,scale=0", "between 1e-06 and 1000"},
        {"products,scale=1000", "n = "},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; ++i) {
        generator_spec spec;
        ASSERT_STATUS(generator_spec_parse(cases[i].spec, &spec), WEFT_ERR_USAGE);
        ASSERT_MESSAGE(cases[i].message);
    }
}

static void test_help_lists_every_key(void **state)
{
    (void)state;
    const char *help = generator_help();
    const char *words[] = {"reddit", "arxiv", "products", "quickstart", "rmat", "p-in", "max-degree", "edge-factor"};
    for (size_t i = 0; i < sizeof words / sizeof words[0]; ++i) {
        assert_non_null(strstr(help, words[i]));
    }
}

/* Any failed allocation is reported, and nothing is lost (the sanitizer watches). */
static void test_failed_allocations(void **state)
{
    (void)state;
    generator_spec spec;
    ASSERT_OK(generator_spec_parse("community,n=500,e=4000,classes=4,f=4", &spec));
    int failures = 0;
    for (uint64_t i = 1; i < 100; ++i) {
        generated_graph graph;
        weft_alloc_fail_after(i);
        weft_status status = generator_make(&spec, 2, &graph);
        generated_graph_free(&graph);
        weft_alloc_fail_after(0);
        if (status == WEFT_OK) {
            break;
        }
        assert_int_equal(status, WEFT_ERR_RESOURCE);
        ++failures;
    }
    assert_in_range(failures, 15, 90);
}

static void test_store_holds_the_graph(void **state)
{
    (void)state;
    char path[] = "/tmp/weft-test-generator-XXXXXX";
    char store[64];
    assert_non_null(mkdtemp(path));
    snprintf(store, sizeof store, "%s/store", path);
    const char *text = "community,n=3000,e=50000,classes=6,f=21,label-noise=0.05";
    ASSERT_OK(generator_write_store(text, store, 2, false));
    generated_graph made = make(text, 1);
    weft_graph read;
    ASSERT_OK(graph_open(store, 0, true, &read));
    ASSERT_OK(graph_validate(&read));
    assert_int_equal(read.vertices, 3000);
    assert_int_equal(read.edges, made.edges);
    assert_int_equal(read.features, 21);
    assert_int_equal(read.classes, 6);
    assert_true(read.symmetric);
    assert_memory_equal(read.offset, made.offset, 3001 * sizeof *made.offset);
    assert_memory_equal(read.source32, made.source, (size_t)made.edges * sizeof *made.source);
    assert_memory_equal(read.label, made.label, 3000 * sizeof *made.label);
    assert_memory_equal(read.split, made.split, 3000);
    float *x = test_malloc(3000 * 21 * sizeof *x);
    generator_features_fill(made.features, 0, 3000, x);
    assert_memory_equal(read.feature, x, 3000 * 21 * sizeof *x);
    test_free(x);
    graph_close(&read);
    generated_graph_free(&made);
    ASSERT_OK(folder_remove(path));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_same_bits_for_any_threads),
        cmocka_unit_test(test_seed_changes_everything),
        cmocka_unit_test(test_counts_and_shares),
        cmocka_unit_test(test_degree_shape),
        cmocka_unit_test(test_presets_resolve),
        cmocka_unit_test(test_splits_have_exact_counts),
        cmocka_unit_test(test_class_means_are_recoverable),
        cmocka_unit_test(test_label_noise),
        cmocka_unit_test(test_sorted_ids_follow_communities),
        cmocka_unit_test(test_rmat),
        cmocka_unit_test(test_graph_without_edges),
        cmocka_unit_test(test_alias_table_encodes_the_weights),
        cmocka_unit_test(test_bad_specs_are_refused),
        cmocka_unit_test(test_help_lists_every_key),
        cmocka_unit_test(test_failed_allocations),
        cmocka_unit_test(test_store_holds_the_graph),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
