/*
 * Every method on every graph of the zoo: the partition is one, its figures equal those of a brute-force count, and the
 * extracted parts put together compute what the whole graph computes, forward and transposed.
 * trees: release asan
 */
#include <math.h>
#include <omp.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/log.h"
#include "partition/methods/method.h"
#include "partition/methods/metis_call.h"
#include "partition/part.h"
#include "partition/partition_options.def"
#include "support/edge_weights.h"
#include "support/graphs.h"
#include "support/test.h"

enum { PARTS_TRIED = 6 };
static const int parts_tried[PARTS_TRIED] = {1, 2, 3, 4, 8, 16};

static partition_options options_for(const char *method, int parts)
{
    return (partition_options){.method = method, .parts = parts, .seed = 7, .balance = 1.1, .threads = 2};
}

static int part_of(const weft_partition *p, int64_t e)
{
    return p->edge_part == NULL ? 0 : p->edge_part[e];
}

static int root_of(const weft_partition *p, int64_t v)
{
    return p->root == NULL ? 0 : p->root[v];
}

/* ---- figures ---------------------------------------------------------------------------------------------------- */

typedef struct brute {
    int64_t held, replicas, split, cut, empty, max_edges, max_held, max_roots;
} brute;

static brute brute_measure(const weft_graph *g, const weft_partition *p)
{
    brute b = {0};
    int64_t n = g->vertices;
    char *flags = calloc((size_t)(n * p->parts) + 1, 1); /* 1 source, 2 destination, 4 root */
    for (int64_t v = 0; v < n; ++v) {
        flags[v * p->parts + root_of(p, v)] |= 4;
        for (int64_t e = g->offset[v]; e < g->offset[v + 1]; ++e) {
            int64_t u = graph_source(g, e);
            flags[v * p->parts + part_of(p, e)] |= 2;
            flags[u * p->parts + part_of(p, e)] |= 1;
            b.cut += root_of(p, u) != root_of(p, v);
        }
    }
    for (int64_t v = 0; v < n; ++v) {
        int copies = 0;
        for (int q = 0; q < p->parts; ++q) {
            unsigned f = (unsigned char)flags[v * p->parts + q];
            copies += f != 0;
            b.replicas += (f & 4) == 0 ? (f & 1) + (f >> 1 & 1) : 0;
        }
        b.held += copies;
        b.split += copies > 1;
    }
    for (int q = 0; q < p->parts; ++q) {
        int64_t held = 0, roots = 0, edges = 0;
        for (int64_t v = 0; v < n; ++v) {
            held += flags[v * p->parts + q] != 0;
            roots += flags[v * p->parts + q] >> 2;
        }
        for (int64_t e = 0; e < g->edges; ++e) {
            edges += part_of(p, e) == q;
        }
        b.empty += held == 0;
        b.max_held = held > b.max_held ? held : b.max_held;
        b.max_roots = roots > b.max_roots ? roots : b.max_roots;
        b.max_edges = edges > b.max_edges ? edges : b.max_edges;
    }
    free(flags);
    return b;
}

static void check_figures(const weft_graph *g, const weft_partition *p, const partition_report *report)
{
    brute b = brute_measure(g, p);
    double n = (double)g->vertices, parts = p->parts;
    ASSERT_NEAR(report->replication_factor, n > 0 ? (double)b.held / n : 1, 1e-12);
    ASSERT_NEAR(report->edge_balance, g->edges > 0 ? (double)b.max_edges * parts / (double)g->edges : 1, 1e-12);
    ASSERT_NEAR(report->vertex_balance, b.held > 0 ? (double)b.max_held * parts / (double)b.held : 1, 1e-12);
    ASSERT_NEAR(report->root_balance, n > 0 ? (double)b.max_roots * parts / n : 1, 1e-12);
    assert_int_equal(report->rows_per_layer, b.replicas);
    assert_int_equal(report->split_vertices, b.split);
    assert_int_equal(report->cut_edges, b.cut);
    assert_int_equal(report->empty_parts, b.empty);
}

/* ---- extraction -------------------------------------------------------------------------------------------------- */

/* Exactly the owned vertices below n_shared are in a list of what other parts hold, where these were to come first. */
static void check_shared(const weft_part *part)
{
    if (part->layout == PART_IN_ORDER) {
        assert_int_equal(part->n_shared, part->n_owned);
        return;
    }
    char *listed = calloc((size_t)part->n_owned + 1, 1);
    const part_halo *const halo[] = {&part->sources, &part->destinations};
    for (int h = 0; h < 2; ++h) {
        for (int64_t i = 0; i < halo[h]->own_offset[part->parts]; ++i) {
            listed[halo[h]->own_row[i]] = 1;
        }
    }
    for (int64_t i = 0; i < part->n_owned; ++i) {
        assert_int_equal(listed[i], i < part->n_shared);
    }
    free(listed);
    for (int64_t i = part->n_shared; part->whole_rows && i < part->n_owned;
         ++i) { /* whose sums wait for nobody's rows */
        assert_true(part->offset[i] == part->offset[i + 1] || part->source[part->offset[i + 1] - 1] < part->n_owned);
    }
}

static void check_part_shape(const weft_graph *g, const weft_partition *p, const weft_part *part)
{
    check_shared(part);
    for (int64_t i = 0; i < part->n_local; ++i) {
        int root = root_of(p, part->gid[i]);
        assert_int_equal(i < part->n_owned, root == part->part);
        if (i > 0 && i != part->n_shared && i != part->n_owned) {
            int before = root_of(p, part->gid[i - 1]);
            assert_true(before < root || (before == root && part->gid[i - 1] < part->gid[i]));
        }
        for (int64_t e = part->offset[i] + 1; e < part->offset[i + 1]; ++e) {
            assert_true(part->source[e - 1] <= part->source[e]);
        }
    }
    int64_t *out = calloc((size_t)g->vertices + 1, sizeof *out);
    for (int64_t e = 0; e < g->edges; ++e) {
        ++out[graph_source(g, e)];
    }
    for (int64_t i = 0; i < part->n_owned; ++i) {
        int64_t v = part->gid[i];
        assert_int_equal(part->in_degree[i], g->offset[v + 1] - g->offset[v]);
        assert_int_equal(part->out_degree[i], out[v]);
    }
    free(out);
}

/* halo_forward of comm/halo.h over parts of one process */
static void forward(const weft_part *part, const part_halo *(*halo)(const weft_part *), int parts, double **x)
{
    for (int p = 0; p < parts; ++p) {
        for (int q = 0; q < parts; ++q) {
            const part_halo *own = halo(&part[p]), *leaf = halo(&part[q]);
            int64_t count = own->own_offset[q + 1] - own->own_offset[q];
            assert_int_equal(count, leaf->leaf_offset[p + 1] - leaf->leaf_offset[p]);
            for (int64_t i = 0; i < count; ++i) {
                int32_t from = own->own_row[own->own_offset[q] + i], to = leaf->leaf_row[leaf->leaf_offset[p] + i];
                assert_int_equal(part[p].gid[from], part[q].gid[to]);
                x[q][to] = x[p][from];
            }
        }
    }
}

static void reverse(const weft_part *part, const part_halo *(*halo)(const weft_part *), int parts, double **x)
{
    for (int p = 0; p < parts; ++p) {
        for (int q = 0; q < parts; ++q) {
            const part_halo *own = halo(&part[p]), *leaf = halo(&part[q]);
            for (int64_t i = own->own_offset[q]; i < own->own_offset[q + 1]; ++i) {
                x[p][own->own_row[i]] += x[q][leaf->leaf_row[leaf->leaf_offset[p] + i - own->own_offset[q]]];
            }
        }
    }
}

static const part_halo *sources_of(const weft_part *part)
{
    return &part->sources;
}

static const part_halo *destinations_of(const weft_part *part)
{
    return &part->destinations;
}

static double value_of(int64_t v)
{
    return (double)((v * 7919 + 13) % 1009);
}

/* y = A x (or A^T x) over the whole graph against local products joined by the halos. NaN marks rows never sent. */
static void check_product(const weft_graph *g, const weft_part *part, int parts, bool transposed)
{
    double *expected = calloc((size_t)g->vertices + 1, sizeof(double));
    for (int64_t v = 0; v < g->vertices; ++v) {
        for (int64_t e = g->offset[v]; e < g->offset[v + 1]; ++e) {
            int64_t u = graph_source(g, e);
            const double weight = g->weight != NULL ? (double)g->weight[e] : 1.0;
            expected[transposed ? u : v] += weight * value_of(transposed ? v : u);
        }
    }
    double **x = calloc((size_t)parts, sizeof *x), **y = calloc((size_t)parts, sizeof *y);
    for (int p = 0; p < parts; ++p) {
        x[p] = malloc(((size_t)part[p].n_local + 1) * sizeof(double));
        y[p] = calloc((size_t)part[p].n_local + 1, sizeof(double));
        for (int64_t i = 0; i < part[p].n_local; ++i) {
            x[p][i] = i < part[p].n_owned ? value_of(part[p].gid[i]) : (double)NAN;
        }
    }
    forward(part, transposed ? destinations_of : sources_of, parts, x);
    for (int p = 0; p < parts; ++p) {
        int64_t *offset = part[p].offset;
        int32_t *column = part[p].source;
        float *weight = part[p].weight;
        if (transposed && !part[p].symmetric) {
            ASSERT_OK(part_transpose(&part[p], &offset, &column, &weight));
        }
        for (int64_t i = 0; i < part[p].n_local; ++i) {
            for (int64_t e = offset[i]; e < offset[i + 1]; ++e) {
                y[p][i] += (weight != NULL ? (double)weight[e] : 1.0) * x[p][column[e]];
            }
        }
        if (offset != part[p].offset) {
            weft_free(offset);
            weft_free(column);
            weft_free(weight);
        }
        assert_true(part[p].n_owned == 0 || (part[p].in_weight != NULL) == (g->weight != NULL));
        for (int64_t i = 0; g->weight != NULL && i < part[p].n_owned; ++i) {
            const int64_t v = part[p].gid[i];
            double sum = 0.0;
            for (int64_t e = g->offset[v]; e < g->offset[v + 1]; ++e) {
                sum += (double)g->weight[e];
            }
            ASSERT_NEAR(part[p].in_weight[i], sum, 0);
        }
    }
    reverse(part, transposed ? sources_of : destinations_of, parts, y);
    int64_t seen = 0;
    for (int p = 0; p < parts; ++p) {
        for (int64_t i = 0; i < part[p].n_owned; ++i, ++seen) {
            ASSERT_NEAR(y[p][i], expected[part[p].gid[i]], 0);
        }
        free(x[p]);
        free(y[p]);
    }
    assert_int_equal(seen, g->vertices);
    free(x);
    free(y);
    free(expected);
}

/* Parts with whole rows: the transposed sum is the forward gather, and leaves no partial sums. */
static void check_gather(const weft_graph *g, const weft_part *part, int parts)
{
    double *expected = calloc((size_t)g->vertices + 1, sizeof *expected);
    for (int64_t v = 0; v < g->vertices; ++v) {
        for (int64_t e = g->offset[v]; e < g->offset[v + 1]; ++e) {
            const double weight = g->weight != NULL ? (double)g->weight[e] : 1.0;
            expected[graph_source(g, e)] += weight * value_of(v);
        }
    }
    for (int p = 0; p < parts; ++p) {
        for (int64_t i = 0; i < part[p].n_local; ++i) {
            double sum = 0;
            for (int64_t e = part[p].offset[i]; e < part[p].offset[i + 1]; ++e) {
                const double weight = part[p].weight != NULL ? (double)part[p].weight[e] : 1.0;
                sum += weight * value_of(part[p].gid[part[p].source[e]]);
            }
            ASSERT_NEAR(sum, i < part[p].n_owned ? expected[part[p].gid[i]] : 0, 0);
        }
    }
    free(expected);
}

static void check_parts(const weft_graph *g, const weft_partition *p, const int32_t *order)
{
    weft_part *part = calloc((size_t)p->parts, sizeof *part);
    int64_t edges = 0;
    bool whole = true;
    for (int q = 0; q < p->parts; ++q) {
        ASSERT_OK(part_extract(g, p, q, order, (part_layout)(q % 2), &part[q]));
        edges += part[q].edges;
        if (order == NULL) {
            check_part_shape(g, p, &part[q]);
        }
        if (!p->edge_cut) {
            assert_int_equal(part[q].symmetric, g->symmetric);
        } else {
            assert_int_equal(part[q].destinations.leaf_offset[p->parts], 0);
            assert_int_equal(part[q].whole_rows, g->symmetric);
        }
        whole = whole && part[q].whole_rows;
    }
    assert_int_equal(edges, g->edges);
    check_product(g, part, p->parts, false);
    check_product(g, part, p->parts, true);
    if (whole) {
        check_gather(g, part, p->parts);
    }
    for (int q = 0; q < p->parts; ++q) {
        part_destroy(&part[q]);
    }
    free(part);
}

static void check_pairs_together(const weft_graph *g, const weft_partition *p)
{
    for (int64_t v = 0; p->edge_part != NULL && v < g->vertices; ++v) {
        for (int64_t e = g->offset[v]; e < g->offset[v + 1]; ++e) {
            int64_t u = graph_source(g, e);
            for (int64_t f = g->offset[u]; f < g->offset[u + 1]; ++f) {
                assert_true(graph_source(g, f) != v || p->edge_part[e] == p->edge_part[f]);
            }
        }
    }
}

static void check_method(const partition_method *method)
{
    for (int c = 0; c < TEST_GRAPHS; ++c) {
        const char *name = NULL;
        test_graph g = test_graph_case(c, &name);
        for (int k = 0; k < PARTS_TRIED; ++k) {
            partition_options options = options_for(method->name, parts_tried[k]);
            weft_partition p;
            partition_report report;
            ASSERT_OK(partition_compute(&g.graph, &options, &p, &report));
            ASSERT_OK(partition_is_valid(&g.graph, &p));
            assert_int_equal(p.edge_part == NULL, parts_tried[k] == 1 || g.graph.edges == 0);
            check_figures(&g.graph, &p, &report);
            if (!p.edge_cut) {
                check_pairs_together(&g.graph, &p);
            }
            check_parts(&g.graph, &p, NULL);
            if (c < TEST_GRAPHS - 1) { /* the last one has edges twice, which no store with weights has */
                float *weight = test_weights(&g.graph);
                g.graph.weight = weight;
                check_parts(&g.graph, &p, NULL);
                g.graph.weight = NULL;
                free(weight);
            }
            partition_destroy(&p);
        }
        test_graph_free(&g);
    }
}

static void test_methods(void **state)
{
    (void)state;
    for (int i = 0; partition_method_at(i) != NULL; ++i) {
        check_method(partition_method_at(i));
    }
}

static partition_report report_of(const weft_graph *g, const char *method, int parts, bool *edge_cut)
{
    const partition_options options = options_for(method, parts);
    partition_report report;
    weft_partition p;
    ASSERT_OK(partition_compute(g, &options, &p, &report));
    *edge_cut = p.edge_cut;
    partition_destroy(&p);
    return report;
}

/* Replicas, or as many as would fill every part like the largest, and more where roots are uneven. */
static double cost_of(const partition_report *report)
{
    const double even = report->vertex_balance / 1.12, roots = report->root_balance / 1.12;
    return report->replication_factor * (even > 1 ? even : 1) * (roots > 1 ? roots : 1);
}

/* auto makes the better of the vertex-cuts, or an edge-cut where that moves fewer rows; all of them are met. */
static void test_auto(void **state)
{
    (void)state;
    int made[2] = {0, 0}, grown = 0;
    for (int c = 0; c < TEST_GRAPHS; ++c) {
        const char *name = NULL;
        test_graph g = test_graph_case(c, &name);
        for (int parts = 2; g.graph.vertices >= 64 && g.graph.edges > 0 && parts <= 4; parts += 2) {
            bool as_edges, as_vertices, made_edge_cut;
            const partition_report edges = report_of(&g.graph, "edgecut", parts, &as_edges);
            const partition_report metis = report_of(&g.graph, "metis", parts, &as_vertices);
            const partition_report expand = report_of(&g.graph, "expand", parts, &as_vertices);
            const partition_report either = report_of(&g.graph, "auto", parts, &made_edge_cut);
            const partition_report *best = cost_of(&expand) < cost_of(&metis) ? &expand : &metis;
            assert_true(as_edges && !as_vertices);
            const bool better = g.graph.symmetric && edges.rows_per_layer <= best->rows_per_layer &&
                                edges.edge_balance <= options_for("auto", parts).balance;
            if (made_edge_cut) {
                assert_true(g.graph.symmetric && edges.edge_balance <= options_for("auto", parts).balance);
                assert_int_equal(either.rows_per_layer, edges.rows_per_layer);
            } else { /* roots are chosen afterwards, so costs as near as that may fall either way */
                assert_true(either.rows_per_layer == metis.rows_per_layer ||
                            either.rows_per_layer == expand.rows_per_layer);
                assert_true(cost_of(&either) <= 1.05 * cost_of(best));
            }
            assert_true(made_edge_cut == better || metis.rows_per_layer != expand.rows_per_layer);
            ++made[made_edge_cut];
            grown += !made_edge_cut && either.rows_per_layer != metis.rows_per_layer ? 1 : 0;
        }
        test_graph_free(&g);
    }
    assert_true(made[false] > grown && grown > 0);
    assert_true(made[true] > 0);
}

/* Where METIS cannot count, or lacks the memory, auto takes the stream; metis says why it cannot. */
static void test_auto_without_metis(void **state)
{
    (void)state;
    test_graph g = test_graph_communities(2000, 9000, 10, 80, 8);
    partition_options options = options_for("auto", 4);
    weft_partition p, stream;
    assert_false(partition_auto_streams(&g.graph, &options));
    options.memory_limit = clock_rss_bytes() + (8 << 20); /* METIS asks for 16 MiB at least */
    assert_true(partition_auto_streams(&g.graph, &options));
    ASSERT_OK(partition_compute(&g.graph, &options, &p, NULL));
    options.method = "metis";
    ASSERT_STATUS(partition_compute(&g.graph, &options, &stream, NULL), WEFT_ERR_RESOURCE);
    ASSERT_MESSAGE("stream");
    options.memory_limit = 0;
    options.method = "stream";
    ASSERT_OK(partition_compute(&g.graph, &options, &stream, NULL));
    assert_memory_equal(p.edge_part, stream.edge_part, (size_t)g.graph.edges * sizeof p.edge_part[0]);
    assert_memory_equal(p.root, stream.root, (size_t)g.graph.vertices * sizeof p.root[0]);
    partition_destroy(&stream);
    partition_destroy(&p);
    options.memory_limit = 1;
    options.method = "auto";
    ASSERT_STATUS(partition_compute(&g.graph, &options, &p, NULL), WEFT_ERR_RESOURCE);
    ASSERT_MESSAGE("random");
    ASSERT_STATUS(metis_check_size(1000000, INT64_C(3) << 30, 0), WEFT_ERR_UNSUPPORTED);
    ASSERT_STATUS(metis_check_size(1000000, 8000000, 320000000), WEFT_ERR_RESOURCE);
    ASSERT_OK(metis_check_size(1000000, 8000000, 400000000));
    const weft_graph huge = {.vertices = 1000000, .edges = INT64_C(3) << 30, .symmetric = true}; /* sizes alone count */
    options.memory_limit = 0;
    assert_true(partition_auto_streams(&huge, &options));
    test_graph_free(&g);
}

/* Local ids follow an order when one is given, on both sides of every halo. */
static void test_extract_follows_an_order(void **state)
{
    (void)state;
    const char *name = NULL;
    for (int c = 6; c < TEST_GRAPHS; ++c) {
        test_graph g = test_graph_case(c, &name);
        int64_t n = g.graph.vertices;
        int32_t *order = malloc((size_t)n * sizeof order[0]);
        uint64_t random = 3;
        for (int64_t i = 0; i < n; ++i) {
            order[i] = (int32_t)i;
        }
        for (int64_t i = n - 1; i > 0; --i) {
            int64_t j = test_random(&random) % (i + 1);
            int32_t other = order[j];
            order[j] = order[i];
            order[i] = other;
        }
        for (int k = 0; k < PARTS_TRIED; ++k) {
            partition_options options = options_for("libra", parts_tried[k]);
            weft_partition p;
            ASSERT_OK(partition_compute(&g.graph, &options, &p, NULL));
            weft_part part;
            ASSERT_OK(part_extract(&g.graph, &p, 0, order, PART_SHARED_FIRST, &part));
            for (int64_t i = 1; i < part.n_owned; ++i) {
                assert_true(i == part.n_shared || order[part.gid[i - 1]] < order[part.gid[i]]);
            }
            part_destroy(&part);
            check_parts(&g.graph, &p, order);
            if (c < TEST_GRAPHS - 1) {
                float *weight = test_weights(&g.graph);
                g.graph.weight = weight;
                check_parts(&g.graph, &p, order);
                g.graph.weight = NULL;
                free(weight);
            }
            partition_destroy(&p);
        }
        order[0] = order[1];
        partition_options options = options_for("random", 2);
        weft_partition p;
        weft_part part;
        ASSERT_OK(partition_compute(&g.graph, &options, &p, NULL));
        ASSERT_STATUS(part_extract(&g.graph, &p, 0, order, PART_SHARED_FIRST, &part), WEFT_ERR_INTERNAL);
        partition_destroy(&p);
        free(order);
        test_graph_free(&g);
    }
}

/* The two directions of a pair apart: local edge sets are no longer their transpose, and extraction must notice. */
static void test_extract_sees_lost_symmetry(void **state)
{
    (void)state;
    test_graph g = test_graph_random(200, 1500, true, 9);
    float *weight = test_weights(&g.graph);
    g.graph.weight = weight;
    partition_options options = options_for("random", 3);
    weft_partition p;
    ASSERT_OK(partition_compute(&g.graph, &options, &p, NULL));
    uint64_t random = 11;
    for (int64_t e = 0; e < g.graph.edges; ++e) {
        p.edge_part[e] = (uint16_t)(test_random(&random) % 3);
    }
    weft_part part[3];
    for (int q = 0; q < 3; ++q) {
        ASSERT_OK(part_extract(&g.graph, &p, q, NULL, PART_IN_ORDER, &part[q]));
        assert_false(part[q].symmetric);
    }
    check_product(&g.graph, part, 3, false);
    check_product(&g.graph, part, 3, true);
    for (int q = 0; q < 3; ++q) {
        part_release_edges(&part[q]);
        int64_t *offset = NULL;
        int32_t *column = NULL;
        ASSERT_STATUS(part_transpose(&part[q], &offset, &column, NULL), WEFT_ERR_INTERNAL);
        part_destroy(&part[q]);
    }
    partition_destroy(&p);
    free(weight);
    test_graph_free(&g);
}

/* ---- determinism, options, failures ----------------------------------------------------------------------------- */

enum { SHARED_VERTICES = TEST_SANITIZED ? 5000 : 20000, SHARED_EDGES = TEST_SANITIZED ? 40000 : 150000 };

static void test_same_bits_for_any_threads(void **state)
{
    (void)state;
    test_graph g = test_graph_communities(SHARED_VERTICES, SHARED_EDGES, 40, 80, 21);
    for (int i = 0; partition_method_at(i) != NULL; ++i) {
        weft_partition first = {0};
        for (int threads = 1; threads <= 4; threads += 1 + TEST_SANITIZED) {
            partition_options options = options_for(partition_method_at(i)->name, 6);
            options.threads = threads;
            weft_partition p;
            ASSERT_OK(partition_compute(&g.graph, &options, &p, NULL));
            if (threads == 1) {
                first = p;
                continue;
            }
            assert_memory_equal(p.edge_part, first.edge_part, (size_t)p.edges * sizeof p.edge_part[0]);
            assert_memory_equal(p.root, first.root, (size_t)p.vertices * sizeof p.root[0]);
            partition_destroy(&p);
        }
        partition_destroy(&first);
    }
    test_graph_free(&g);
}

static void test_extract_is_the_same_for_any_threads(void **state)
{
    (void)state;
    test_graph g = test_graph_communities(SHARED_VERTICES, SHARED_EDGES, 40, 80, 22);
    partition_options options = options_for("libra", 4);
    weft_partition p;
    ASSERT_OK(partition_compute(&g.graph, &options, &p, NULL));
    weft_part first = {0};
    int saved = omp_get_max_threads();
    for (int threads = 1; threads <= 3; ++threads) {
        omp_set_num_threads(threads);
        weft_part part;
        ASSERT_OK(part_extract(&g.graph, &p, 2, NULL, PART_SHARED_FIRST, &part));
        if (threads == 1) {
            first = part;
            continue;
        }
        assert_int_equal(part.edges, first.edges);
        assert_memory_equal(part.offset, first.offset, (size_t)(part.n_local + 1) * sizeof part.offset[0]);
        assert_memory_equal(part.source, first.source, (size_t)part.edges * sizeof part.source[0]);
        assert_memory_equal(part.gid, first.gid, (size_t)part.n_local * sizeof part.gid[0]);
        part_destroy(&part);
    }
    omp_set_num_threads(saved);
    part_destroy(&first);
    partition_destroy(&p);
    test_graph_free(&g);
}

static void test_roots_are_balanced(void **state)
{
    (void)state;
    test_graph g = test_graph_communities(8000, 60000, 40, 80, 23);
    for (int i = 0; partition_method_at(i) != NULL; ++i) {
        partition_options options = options_for(partition_method_at(i)->name, 8);
        weft_partition p;
        partition_report report;
        ASSERT_OK(partition_compute(&g.graph, &options, &p, &report));
        assert_true(report.root_balance <= 1.2);
        partition_destroy(&p);
    }
    test_graph_free(&g);
}

static void test_bad_requests_are_refused(void **state)
{
    (void)state;
    test_graph g = test_graph_random(50, 100, true, 1);
    weft_partition p;
    partition_options options = options_for("metise", 2);
    ASSERT_STATUS(partition_compute(&g.graph, &options, &p, NULL), WEFT_ERR_USAGE);
    ASSERT_MESSAGE("metise");
    options = options_for("random", 0);
    ASSERT_STATUS(partition_compute(&g.graph, &options, &p, NULL), WEFT_ERR_USAGE);
    options = options_for("random", PARTITION_MAX_PARTS + 1);
    ASSERT_STATUS(partition_compute(&g.graph, &options, &p, NULL), WEFT_ERR_USAGE);
    options = options_for("random", PARTITION_MAX_PARTS);
    ASSERT_OK(partition_compute(&g.graph, &options, &p, NULL));
    ASSERT_OK(partition_is_valid(&g.graph, &p));
    p.edge_part[3] = PARTITION_MAX_PARTS;
    ASSERT_STATUS(partition_is_valid(&g.graph, &p), WEFT_ERR_DATA);
    ASSERT_MESSAGE("edge 3");
    p.edge_part[3] = 0;
    p.root[7] = PARTITION_MAX_PARTS;
    ASSERT_STATUS(partition_is_valid(&g.graph, &p), WEFT_ERR_DATA);
    ASSERT_MESSAGE("vertex 7");
    weft_part part;
    ASSERT_STATUS(part_extract(&g.graph, &p, PARTITION_MAX_PARTS, NULL, PART_IN_ORDER, &part), WEFT_ERR_INTERNAL);
    p.edges -= 1;
    ASSERT_STATUS(partition_is_valid(&g.graph, &p), WEFT_ERR_DATA);
    ASSERT_STATUS(part_extract(&g.graph, &p, 0, NULL, PART_IN_ORDER, &part), WEFT_ERR_DATA);
    partition_destroy(&p);
    test_graph_free(&g);
}

/* A store may be written by anybody: ids and offsets are checked before anything is indexed by them. */
static void test_bad_graphs_are_refused(void **state)
{
    (void)state;
    test_graph g = test_graph_random(50, 100, true, 1);
    weft_partition p;
    partition_options options = options_for("libra", 2);
    int32_t source = g.source[9];
    g.source[9] = 50;
    ASSERT_STATUS(partition_compute(&g.graph, &options, &p, NULL), WEFT_ERR_DATA);
    ASSERT_MESSAGE("edge 9 is 50");
    g.source[9] = -1;
    ASSERT_STATUS(partition_compute(&g.graph, &options, &p, NULL), WEFT_ERR_DATA);
    g.source[9] = source;
    int64_t offset = g.offset[20];
    g.offset[20] = g.offset[21] + 1;
    ASSERT_STATUS(partition_compute(&g.graph, &options, &p, NULL), WEFT_ERR_DATA);
    ASSERT_MESSAGE("offset of row 20");
    g.offset[20] = offset;
    g.offset[50] += 1;
    ASSERT_STATUS(partition_compute(&g.graph, &options, &p, NULL), WEFT_ERR_DATA);
    g.offset[50] -= 1;
    ASSERT_OK(partition_compute(&g.graph, &options, &p, NULL));
    partition_destroy(&p);
    test_graph_free(&g);
}

/* The command line offers the methods of the table, all of them and no others. */
static void test_options_name_the_methods(void **state)
{
    (void)state;
    char names[256] = "";
    for (int i = 0; partition_method_at(i) != NULL; ++i) {
        const char *name = partition_method_at(i)->name;
        snprintf(names + strlen(names), sizeof names - strlen(names), "%s%s", i > 0 ? "|" : "", name);
        assert_true(strlen(partition_method_at(i)->description) > 10);
    }
    assert_string_equal(names, PARTITION_METHODS);
}

/* Every allocation of computing and extracting fails once: the error comes up and nothing leaks (ASan watches). */
static void test_short_memory_is_survived(void **state)
{
    (void)state;
    test_graph g = test_graph_random(100, 400, false, 31);
    for (int i = 0; partition_method_at(i) != NULL; ++i) {
        bool failed = true;
        for (uint64_t nth = 1; failed; nth += 1 + (TEST_SANITIZED ? nth / 24 : 0)) {
            partition_options options = options_for(partition_method_at(i)->name, 3);
            weft_partition p = {0};
            weft_part part = {0};
            partition_report report;
            weft_alloc_fail_after(nth);
            weft_status status = partition_compute(&g.graph, &options, &p, &report);
            if (status == WEFT_OK) {
                status = part_extract(&g.graph, &p, 1, NULL, PART_SHARED_FIRST, &part);
            }
            weft_alloc_fail_after(0);
            failed = status != WEFT_OK;
            assert_true(!failed || status == WEFT_ERR_RESOURCE);
            part_destroy(&part);
            partition_destroy(&p);
        }
    }
    test_graph_free(&g);
}

int main(void)
{
    log_set_level(LOG_WARN);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_methods),
        cmocka_unit_test(test_auto),
        cmocka_unit_test(test_auto_without_metis),
        cmocka_unit_test(test_extract_follows_an_order),
        cmocka_unit_test(test_extract_sees_lost_symmetry),
        cmocka_unit_test(test_same_bits_for_any_threads),
        cmocka_unit_test(test_extract_is_the_same_for_any_threads),
        cmocka_unit_test(test_roots_are_balanced),
        cmocka_unit_test(test_bad_requests_are_refused),
        cmocka_unit_test(test_bad_graphs_are_refused),
        cmocka_unit_test(test_options_name_the_methods),
        cmocka_unit_test(test_short_memory_is_survived),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
