/*
 * Cutting a part, alone and beside the others, makes the part that plain loops over the definition make: every array,
 * every fact.
 *
 * trees: release asan
 */
#include <omp.h>

#include "base/alloc.h"
#include "base/log.h"
#include "partition/part.h"
#include "support/edge_weights.h"
#include "support/graphs.h"
#include "support/same_part.h"
#include "support/test.h"

/* ---- the oracle -------------------------------------------------------------------------------------------------- */

/* A partition spelled out: sources and targets [n, parts]: a part has an edge that begins, or ends, at the vertex. */
typedef struct plain {
    const weft_graph *g;
    const weft_partition *p;
    char *begins, *ends;
    int64_t *at; /* [n] vertices in the order of local ids of a group */
} plain;

static int root_of(const plain *x, int64_t v)
{
    return x->p->root == NULL ? 0 : x->p->root[v];
}

/* Of edge e into v. */
static int part_of(const plain *x, int64_t e, int64_t v)
{
    return x->p->edge_part == NULL ? root_of(x, v) : x->p->edge_part[e];
}

static plain spell_out(const weft_graph *g, const weft_partition *p, const int32_t *order)
{
    plain x = {.g = g, .p = p};
    x.begins = calloc((size_t)(g->vertices * p->parts) + 1, 1);
    x.ends = calloc((size_t)(g->vertices * p->parts) + 1, 1);
    x.at = malloc(((size_t)g->vertices + 1) * sizeof *x.at);
    for (int64_t v = 0; v < g->vertices; ++v) {
        x.at[order == NULL ? v : order[v]] = v;
        for (int64_t e = g->offset[v]; e < g->offset[v + 1]; ++e) {
            x.ends[v * p->parts + part_of(&x, e, v)] = 1;
            x.begins[graph_source(g, e) * p->parts + part_of(&x, e, v)] = 1;
        }
    }
    return x;
}

static void plain_free(plain *x)
{
    free(x->begins);
    free(x->ends);
    free(x->at);
}

static void *take(int64_t count, size_t size)
{
    void *block = NULL;
    ASSERT_OK(weft_calloc((size_t)count + 1, size, WEFT_MEM_GENERAL, &block));
    return block;
}

/* Do others hold an owned vertex? */
static bool shared(const plain *x, int64_t v, int part)
{
    for (int q = 0; q < x->p->parts; ++q) {
        if (q != part && (x->begins[v * x->p->parts + q] || x->ends[v * x->p->parts + q])) {
            return true;
        }
    }
    return false;
}

/* 0: owned and first; 1: owned, the rest; 2 + q: of the root q. -1: not held. */
static int group_of(const plain *x, int64_t v, const weft_part *part)
{
    const int64_t at = v * x->p->parts + part->part;
    if (root_of(x, v) == part->part) {
        return part->layout == PART_SHARED_FIRST && !shared(x, v, part->part) ? 1 : 0;
    }
    return x->begins[at] || x->ends[at] ? 2 + root_of(x, v) : -1;
}

static void number(const plain *x, weft_part *part, int64_t *local)
{
    const int64_t n = x->g->vertices;
    int *group_at = malloc(((size_t)n + 1) * sizeof *group_at);
    part->gid = take(n, sizeof *part->gid);
    for (int64_t i = 0; i < n; ++i) {
        group_at[i] = group_of(x, x->at[i], part);
    }
    for (int group = 0; group < 2 + part->parts; ++group) {
        for (int64_t i = 0; i < n; ++i) {
            if (group_at[i] == group) {
                local[x->at[i]] = part->n_local;
                part->gid[part->n_local++] = x->at[i];
            }
        }
        part->n_shared = group == 0 ? part->n_local : part->n_shared;
        part->n_owned = group == 1 ? part->n_local : part->n_owned;
    }
    free(group_at);
}

/* Each edge goes to its place among those of the row before it; weights with it. */
static void insert(weft_part *part, int64_t begin, int64_t at, int32_t u, float weight)
{
    for (; at > begin && part->source[at - 1] > u; --at) {
        part->source[at] = part->source[at - 1];
        part->weight[at] = part->weight[at - 1];
    }
    part->source[at] = u;
    part->weight[at] = weight;
}

static void fill(const plain *x, weft_part *part, const int64_t *local)
{
    const weft_graph *g = x->g;
    part->offset = take(part->n_local + 1, sizeof *part->offset);
    part->source = take(g->edges, sizeof *part->source);
    part->weight = take(g->edges, sizeof *part->weight);
    for (int64_t id = 0; id < part->n_local; ++id) {
        const int64_t v = part->gid[id];
        for (int64_t e = g->offset[v]; e < g->offset[v + 1]; ++e) {
            if (part_of(x, e, v) == part->part) {
                insert(part, part->offset[id], part->edges++, (int32_t)local[graph_source(g, e)],
                       g->weight != NULL ? g->weight[e] : 1.0F);
            }
        }
        part->offset[id + 1] = part->edges;
    }
    if (g->weight == NULL || part->edges == 0) {
        weft_free(part->weight);
        part->weight = NULL;
    }
}

static void count_degrees(const plain *x, weft_part *part)
{
    const weft_graph *g = x->g;
    part->in_degree = take(part->n_owned, sizeof *part->in_degree);
    part->out_degree = take(part->n_owned, sizeof *part->out_degree);
    part->in_weight = g->weight != NULL ? take(part->n_owned, sizeof *part->in_weight) : NULL;
    int64_t *out = calloc((size_t)g->vertices + 1, sizeof *out);
    for (int64_t e = 0; e < g->edges; ++e) {
        ++out[graph_source(g, e)];
    }
    for (int64_t id = 0; id < part->n_owned; ++id) {
        const int64_t v = part->gid[id];
        part->in_degree[id] = g->offset[v + 1] - g->offset[v];
        part->out_degree[id] = out[v];
        for (int64_t e = g->offset[v]; g->weight != NULL && e < g->offset[v + 1]; ++e) {
            part->in_weight[id] += (double)g->weight[e];
        }
    }
    free(out);
}

/* has [n, parts]: begins or ends. */
static void list(const plain *x, const char *has, weft_part *part, part_halo *halo)
{
    const int parts = part->parts;
    halo->own_offset = take(parts + 1, sizeof *halo->own_offset);
    halo->leaf_offset = take(parts + 1, sizeof *halo->leaf_offset);
    halo->own_row = take(part->n_owned * parts, sizeof *halo->own_row);
    halo->leaf_row = take(part->n_local, sizeof *halo->leaf_row);
    int64_t own = 0, leaves = 0;
    for (int q = 0; q < parts; ++q) {
        for (int64_t id = 0; id < part->n_owned; ++id) {
            if (q != part->part && has[part->gid[id] * parts + q]) {
                halo->own_row[own++] = (int32_t)id;
            }
        }
        for (int64_t id = part->n_owned; id < part->n_local; ++id) {
            if (root_of(x, part->gid[id]) == q && has[part->gid[id] * parts + part->part]) {
                halo->leaf_row[leaves++] = (int32_t)id;
            }
        }
        halo->own_offset[q + 1] = own;
        halo->leaf_offset[q + 1] = leaves;
    }
}

/* As many edges v <- u as u <- v, for every two. */
static bool equals_transpose(const weft_part *part)
{
    test_edges ways[2] = {{0}, {0}};
    for (int64_t v = 0; v < part->n_local; ++v) {
        for (int64_t e = part->offset[v]; e < part->offset[v + 1]; ++e) {
            test_edge(&ways[0], part->source[e], v);
            test_edge(&ways[1], v, part->source[e]);
        }
    }
    for (int way = 0; way < 2 && part->edges > 0; ++way) {
        qsort(ways[way].key, (size_t)part->edges, sizeof *ways[way].key, test_compare_keys);
    }
    const bool same =
        part->edges == 0 || memcmp(ways[0].key, ways[1].key, (size_t)part->edges * sizeof *ways[0].key) == 0;
    free(ways[0].key);
    free(ways[1].key);
    return same;
}

static weft_part plain_part(const plain *x, int number_of, part_layout layout)
{
    weft_part part = {
        .part = number_of, .parts = x->p->parts, .layout = layout, .n_global = x->g->vertices, .e_global = x->g->edges};
    int64_t *local = calloc((size_t)x->g->vertices + 1, sizeof *local);
    number(x, &part, local);
    fill(x, &part, local);
    count_degrees(x, &part);
    list(x, x->begins, &part, &part.sources);
    list(x, x->ends, &part, &part.destinations);
    part.symmetric = x->g->symmetric && (part.parts == 1 || equals_transpose(&part));
    part.whole_rows = x->g->symmetric && part.destinations.own_offset[part.parts] == 0 &&
                      part.destinations.leaf_offset[part.parts] == 0;
    free(local);
    return part;
}

/* ---- the comparison ---------------------------------------------------------------------------------------------- */

static void compare(const weft_graph *g, const weft_partition *p, const int32_t *order, int part)
{
    plain x = spell_out(g, p, order);
    part_holders holders;
    ASSERT_OK(part_holders_find(g, p, &holders));
    for (int layout = 0; layout < 2; ++layout) {
        weft_part expected = plain_part(&x, part, (part_layout)layout), alone, beside;
        ASSERT_OK(part_extract(g, p, part, order, (part_layout)layout, &alone));
        ASSERT_OK(part_extract_held(g, p, &holders, part, order, (part_layout)layout, &beside));
        same_part(&expected, &alone);
        same_part(&expected, &beside);
        part_destroy(&beside);
        part_destroy(&alone);
        part_destroy(&expected);
    }
    part_holders_free(&holders);
    plain_free(&x);
}

/* A few parts of many, all of few; plain and with weights, by global ids and in another order. */
static void compare_all(weft_graph *g, const weft_partition *p, const int32_t *order, bool weighted)
{
    float *weight = test_weights(g);
    for (int w = 0; w < (weighted ? 2 : 1); ++w) {
        g->weight = w == 1 ? weight : NULL;
        for (int q = 0; q < p->parts; q += 1 + p->parts / 5) {
            compare(g, p, NULL, q);
            compare(g, p, order, q);
        }
    }
    g->weight = NULL;
    free(weight);
}

static int32_t *random_order(int64_t n)
{
    int32_t *order = malloc(((size_t)n + 1) * sizeof *order);
    uint64_t random = 3;
    for (int64_t i = 0; i < n; ++i) {
        const int64_t j = test_random(&random) % (i + 1);
        order[i] = order[j];
        order[j] = (int32_t)i;
    }
    return order;
}

static weft_partition divide(const weft_graph *g, const char *method, int parts)
{
    const partition_options options = {.method = method, .parts = parts, .seed = 7, .balance = 1.1, .threads = 2};
    weft_partition p;
    ASSERT_OK(partition_compute(g, &options, &p, NULL));
    return p;
}

/* Every edge with its destination, as roots alone tell. */
static void leave_out_edges(weft_partition *p)
{
    weft_free(p->edge_part);
    p->edge_part = NULL;
    p->edge_cut = true;
}

static void test_methods(void **state)
{
    (void)state;
    static const char *const methods[] = {"random", "auto", "edgecut", "stream"};
    static const int parts[] = {1, 2, 3, 7, 8, 16, 64};
    for (int c = 0; c < TEST_GRAPHS; ++c) {
        const char *name = NULL;
        test_graph g = test_graph_case(c, &name);
        int32_t *order = random_order(g.graph.vertices);
        for (size_t m = 0; m < sizeof methods / sizeof *methods; ++m) {
            for (size_t k = 0; k < sizeof parts / sizeof *parts; k += 1 + TEST_SANITIZED) {
                weft_partition p = divide(&g.graph, methods[m], parts[k]);
                compare_all(&g.graph, &p, order, c < TEST_GRAPHS - 1); /* the last one has edges twice */
                partition_destroy(&p);
            }
        }
        free(order);
        test_graph_free(&g);
    }
}

/* Rows as long as are dealt to groups, by parts whose numbers reach into a second word of marks too. */
static void test_dense_rows(void **state)
{
    (void)state;
    static const int parts[] = {2, 3, 8, 70};
    for (int symmetric = 0; symmetric < 2; ++symmetric) {
        test_graph g = test_graph_random(300, 24000, symmetric, 5);
        int32_t *order = random_order(g.graph.vertices);
        for (size_t k = 0; k < sizeof parts / sizeof *parts; ++k) {
            weft_partition p = divide(&g.graph, "random", parts[k]);
            compare_all(&g.graph, &p, order, true);
            for (int64_t e = 0; e < g.graph.edges; ++e) { /* the directions of a pair apart */
                p.edge_part[e] = (uint16_t)(e * 7919 % p.parts);
            }
            compare_all(&g.graph, &p, order, true);
            leave_out_edges(&p);
            compare_all(&g.graph, &p, order, true);
            partition_destroy(&p);
        }
        free(order);
        test_graph_free(&g);
    }
}

/* The entry of row v that names u. */
static int64_t entry_of(const weft_graph *g, int64_t v, int64_t u)
{
    int64_t e = g->offset[v];
    while (graph_source(g, e) != u) {
        ++e;
        assert_true(e < g->offset[v + 1]);
    }
    return e;
}

static void move_and_compare(const weft_graph *g, weft_partition *p, int64_t e, int64_t other)
{
    p->edge_part[e] ^= 1;
    p->edge_part[other] ^= other != e ? 1 : 0;
    compare(g, p, NULL, 0);
    compare(g, p, NULL, 1);
    p->edge_part[e] ^= 1;
    p->edge_part[other] ^= other != e ? 1 : 0;
}

/* One direction of a pair elsewhere, and of two pairs of a vertex the one to it and the other from it, so that it has
 * as many of each: every vertex is a source and a destination still, and no part equals its transpose. */
static void test_one_way(void **state)
{
    (void)state;
    test_graph g = test_graph_random(40, 500, true, 8);
    weft_partition p = divide(&g.graph, "random", 2);
    int crossed = 0;
    for (int64_t u = 0; u < g.graph.vertices; ++u) {
        const int64_t last = g.graph.offset[u + 1] - 1;
        move_and_compare(&g.graph, &p, last, last);
        if (p.edge_part[last] == p.edge_part[last - 1]) {
            move_and_compare(&g.graph, &p, last, entry_of(&g.graph, g.source[last - 1], u));
            ++crossed;
        }
    }
    assert_true(crossed > 5);
    partition_destroy(&p);
    test_graph_free(&g);
}

/* A row longer than any that is dealt, and rows next to it. */
static void test_hub(void **state)
{
    (void)state;
    enum { LEAVES = 36000 }; /* half of them pass what rows.c deals */
    for (int symmetric = 0; symmetric < 2; ++symmetric) {
        test_edges edges = {0};
        for (int64_t v = 1; v <= LEAVES; ++v) {
            test_edge(&edges, v, 0);
            test_edge(&edges, v, 1 + v * 37 % LEAVES);
        }
        test_graph g = test_graph_build(LEAVES + 1, &edges, symmetric, false);
        int32_t *order = random_order(g.graph.vertices);
        weft_partition p = divide(&g.graph, "random", 2);
        float *weight = test_weights(&g.graph);
        g.graph.weight = weight;
        compare(&g.graph, &p, NULL, 0);
        compare(&g.graph, &p, order, 1);
        leave_out_edges(&p);
        g.graph.weight = NULL;
        compare(&g.graph, &p, NULL, p.root[0]);
        partition_destroy(&p);
        free(weight);
        free(order);
        test_graph_free(&g);
    }
}

/* Ids of 64 bits, and rows that do not ascend: no store has them, and graphs in memory may. */
static void test_other_rows(void **state)
{
    (void)state;
    test_graph g = test_graph_random(200, 9000, true, 6);
    int64_t *wide = malloc((size_t)g.graph.edges * sizeof *wide);
    weft_partition p = divide(&g.graph, "random", 3);
    int32_t *order = random_order(g.graph.vertices);
    for (int64_t v = 0; v < g.graph.vertices; ++v) {
        for (int64_t e = g.graph.offset[v]; e < g.graph.offset[v + 1]; ++e) {
            wide[e] = g.source[e];
        }
    }
    g.graph.source64 = wide;
    g.graph.source32 = NULL;
    compare_all(&g.graph, &p, order, true);
    for (int64_t v = 0; v < g.graph.vertices; ++v) {
        for (int64_t e = g.graph.offset[v]; e < g.graph.offset[v + 1]; ++e) {
            wide[e] = g.source[g.graph.offset[v] + g.graph.offset[v + 1] - 1 - e];
        }
    }
    compare_all(&g.graph, &p, order, true);
    leave_out_edges(&p);
    for (int64_t v = 0; v < g.graph.vertices; ++v) {
        p.root[v] %= 2; /* of the two parts that the rows of one hold */
    }
    compare_all(&g.graph, &p, order, false);
    free(order);
    partition_destroy(&p);
    free(wide);
    test_graph_free(&g);
}

static void test_threads(void **state)
{
    (void)state;
    test_graph g = test_graph_communities(6000, 90000, 40, 80, 22);
    weft_partition p = divide(&g.graph, "libra", 4);
    const int saved = omp_get_max_threads();
    for (int threads = 1; threads <= 5; threads += 2) {
        omp_set_num_threads(threads);
        compare(&g.graph, &p, NULL, 2);
    }
    omp_set_num_threads(saved);
    partition_destroy(&p);
    test_graph_free(&g);
}

static void test_foreign_partition(void **state)
{
    (void)state;
    test_graph g = test_graph_random(50, 100, true, 1);
    weft_partition p = divide(&g.graph, "random", 2);
    part_holders holders;
    weft_part part;
    p.edges -= 1;
    ASSERT_STATUS(part_holders_find(&g.graph, &p, &holders), WEFT_ERR_DATA);
    ASSERT_STATUS(part_extract(&g.graph, &p, 0, NULL, PART_IN_ORDER, &part), WEFT_ERR_DATA);
    partition_destroy(&p);
    test_graph_free(&g);
}

/* Every allocation fails once; the address sanitizer watches that nothing leaks. */
static void test_short_memory(void **state)
{
    (void)state;
    for (int symmetric = 0; symmetric < 2; ++symmetric) {
        test_graph g = test_graph_random(100, 2400, symmetric, 31);
        float *weight = test_weights(&g.graph);
        g.graph.weight = weight;
        weft_partition p = divide(&g.graph, "random", 3);
        bool failed = true;
        for (uint64_t nth = 1; failed; ++nth) {
            part_holders holders = {0};
            weft_part part = {0};
            weft_alloc_fail_after(nth);
            weft_status status = part_holders_find(&g.graph, &p, &holders);
            if (status == WEFT_OK) {
                status = part_extract_held(&g.graph, &p, &holders, 1, NULL, PART_IN_ORDER, &part);
            }
            weft_alloc_fail_after(0);
            failed = status != WEFT_OK;
            assert_true(!failed || status == WEFT_ERR_RESOURCE);
            part_destroy(&part);
            part_holders_free(&holders);
        }
        partition_destroy(&p);
        free(weight);
        test_graph_free(&g);
    }
}

int main(void)
{
    log_set_level(LOG_WARN);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_methods),           cmocka_unit_test(test_dense_rows),
        cmocka_unit_test(test_one_way),           cmocka_unit_test(test_hub),
        cmocka_unit_test(test_other_rows),        cmocka_unit_test(test_threads),
        cmocka_unit_test(test_foreign_partition), cmocka_unit_test(test_short_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
