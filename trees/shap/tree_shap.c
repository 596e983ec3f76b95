/*
 * trees/shap/tree_shap.c: see trees/shap/tree_shap.h.
 *
 * Let f = z (1 - t) + o t be the factor of a column, at each point t. The walk keeps the product P of the factors of
 * all columns on the path, and comes back from a child with S, the sum of weight v P over the leaves below it. An edge
 * of column j whose factor goes from fo to f
 *
 *     down    P <- P f / fo
 *     up      phi_j += (o - z) sum of S / f         the leaves below, with this edge's factor
 *             phi_j -= (oo - zo) sum of S / fo      if an edge above was of column j: it counts them, too
 *
 * z depends on the path alone, and o is 0 or 1, so f / fo and (o - z) / f take few values, which are tabled by edge:
 * the loop over rows compares, chooses and multiplies.
 */
#include "trees/shap/tree_shap.h"

#include <assert.h>
#include <math.h>
#include <string.h>

#include "trees/shap/quadrature.h"

enum { LANES = 16, RATIOS = 3, SHARES = 2 };

/* Numbers of an edge at each point. */
typedef struct edge_table {
    double *ratio[RATIOS]; /* f / fo for oo = o = 1; for oo = 1, o = 0; for oo = 0 */
    double *share[SHARES]; /* (o - z) / f for o = 1 and 0 */
    double *above[SHARES]; /* (oo - zo) / fo for oo = 1 and 0; zeros if no edge above is of this column */
} edge_table;

/* A tree with the tables of its edges. */
typedef struct shap_tree {
    const weft_tree *tree;
    int points, depth;
    double *point, *weight; /* [points] */
    double *numbers;        /* [nodes, 7, points] of the edge that leads to a node */
    int32_t *last;          /* [nodes] the node below the nearest edge above of the same column; -1: none */
    double *z;              /* [nodes] product of cover ratios of the column of the edge that leads here, on the path */
    double mean;            /* answer of a row of which nothing is known */
} shap_tree;

static edge_table table_of(const shap_tree *s, int32_t node)
{
    double *at = s->numbers + (int64_t)node * (RATIOS + 2 * SHARES) * s->points;
    edge_table t;
    for (int i = 0; i < RATIOS; ++i, at += s->points) {
        t.ratio[i] = at;
    }
    for (int i = 0; i < SHARES; ++i, at += s->points) {
        t.share[i] = at;
    }
    for (int i = 0; i < SHARES; ++i, at += s->points) {
        t.above[i] = at;
    }
    return t;
}

/* 0 / 0 stands where no row of the training went: such leaves weigh nothing. */
static double divide(double a, double b)
{
    return b != 0.0 ? a / b : 0.0;
}

static void fill_edge(const shap_tree *s, int32_t node)
{
    const edge_table t = table_of(s, node);
    const bool again = s->last[node] >= 0;
    const double z = s->z[node], zo = again ? s->z[s->last[node]] : 1.0;
    for (int k = 0; k < s->points; ++k) {
        const double x = s->point[k];
        const double f[2] = {z * (1.0 - x), z * (1.0 - x) + x};
        const double fo[2] = {again ? zo * (1.0 - x) : 1.0, again ? zo * (1.0 - x) + x : 1.0};
        t.ratio[0][k] = divide(f[1], fo[1]);
        t.ratio[1][k] = divide(f[0], fo[1]);
        t.ratio[2][k] = divide(f[0], fo[0]);
        t.share[0][k] = divide(1.0 - z, f[1]);
        t.share[1][k] = divide(-z, f[0]);
        t.above[0][k] = again ? divide(1.0 - zo, fo[1]) : 0.0;
        t.above[1][k] = again ? divide(-zo, fo[0]) : 0.0;
    }
}

/* ---- before the walk --------------------------------------------------------------------------------------------- */

static int32_t column_of_edge(const weft_tree *tree, int32_t node)
{
    return tree->node[tree->node[node].parent].feature;
}

/* Finds depth and the most columns on a path, and what every node's path knows. reach: [nodes] share of the rows. */
static weft_status measure(shap_tree *s, int *columns, double *reach, int32_t *depth, int32_t *different)
{
    const weft_tree *tree = s->tree;
    *columns = 1;
    reach[0] = 1.0;
    for (int32_t n = 1; n < tree->nodes; ++n) { /* parents stand before their children */
        const int32_t parent = tree->node[n].parent;
        assert(parent >= 0 && parent < n);
        const double ratio = divide(tree->node[n].hessian, tree->node[parent].hessian);
        depth[n] = depth[parent] + 1;
        WEFT_CHECK(depth[n] <= SHAP_DEPTH_MAX, WEFT_ERR_UNSUPPORTED, "a tree is deeper than %d: it is not explained",
                   SHAP_DEPTH_MAX);
        s->last[n] = -1;
        for (int32_t up = parent; up > 0 && s->last[n] < 0; up = tree->node[up].parent) {
            s->last[n] = column_of_edge(tree, up) == column_of_edge(tree, n) ? up : -1;
        }
        s->z[n] = ratio * (s->last[n] >= 0 ? s->z[s->last[n]] : 1.0);
        reach[n] = ratio * reach[parent];
        different[n] = different[parent] + (s->last[n] < 0);
        *columns = different[n] > *columns ? different[n] : *columns;
        s->depth = depth[n] > s->depth ? depth[n] : s->depth;
        s->mean += tree->node[n].left < 0 ? reach[n] * (double)tree->node[n].value : 0.0;
    }
    s->mean += tree->node[0].left < 0 ? (double)tree->node[0].value : 0.0;
    return WEFT_OK;
}

static void shap_tree_destroy(shap_tree *s)
{
    WEFT_FREE_ALL(s->point, s->numbers, s->last, s->z);
    *s = (shap_tree){0};
}

static weft_status shap_tree_create(const weft_tree *tree, shap_tree *s)
{
    double *reach = NULL;
    int32_t *depth = NULL;
    int columns = 1;
    *s = (shap_tree){.tree = tree};
    weft_status status = WEFT_NEW(&s->last, tree->nodes, WEFT_MEM_TREES);
    status = status == WEFT_OK ? WEFT_NEW(&s->z, tree->nodes, WEFT_MEM_TREES) : status;
    status = status == WEFT_OK ? WEFT_NEW(&reach, tree->nodes, WEFT_MEM_WORKSPACE) : status;
    status = status == WEFT_OK ? WEFT_NEW_ZERO(&depth, 2 * tree->nodes, WEFT_MEM_WORKSPACE) : status;
    status = status == WEFT_OK ? measure(s, &columns, reach, depth, depth + tree->nodes) : status;
    WEFT_FREE_ALL(reach, depth);
    s->points = (columns + 1) / 2;
    status = status == WEFT_OK ? WEFT_NEW(&s->point, 2 * s->points, WEFT_MEM_TREES) : status;
    const int64_t each = (int64_t)(RATIOS + 2 * SHARES) * s->points;
    status = status == WEFT_OK ? WEFT_NEW(&s->numbers, tree->nodes * each, WEFT_MEM_TREES) : status;
    WEFT_TRY(status);
    s->weight = s->point + s->points;
    quadrature_find(s->points, s->point, s->weight);
    for (int32_t n = 1; n < tree->nodes; ++n) {
        fill_edge(s, n);
    }
    return WEFT_OK;
}

/* ---- the walk ---------------------------------------------------------------------------------------------------- */

/* Of LANES rows, by one thread. */
typedef struct shap_walk {
    const shap_tree *s;
    const float *value; /* [columns, LANES] */
    double *phi;        /* [columns, LANES] */
    double *stack;      /* [depth + 1, 2, points, LANES]: P and S of each level */
    uint8_t *met;       /* [nodes, LANES] does the row meet all conditions of the edge's column so far? */
} shap_walk;

static double *level_of(const shap_walk *w, int level, int which)
{
    return w->stack + ((int64_t)level * 2 + which) * w->s->points * LANES;
}

/* met of the edge to a child, and of the nearest edge above of its column. */
static void meet(const shap_walk *w, int32_t child, bool left, uint8_t *above)
{
    const tree_node *node = &w->s->tree->node[w->s->tree->node[child].parent];
    const float *value = w->value + (int64_t)node->feature * LANES;
    const int32_t last = w->s->last[child];
    uint8_t *met = w->met + (int64_t)child * LANES;
    for (int l = 0; l < LANES; ++l) {
        const bool goes = tree_goes_left(w->s->tree, node, value[l]);
        above[l] = last >= 0 ? w->met[(int64_t)last * LANES + l] : 1;
        met[l] = above[l] & (goes == left);
    }
}

static void go_down(const shap_walk *w, int32_t child, const uint8_t *above, const double *from, double *to)
{
    const edge_table t = table_of(w->s, child);
    const uint8_t *met = w->met + (int64_t)child * LANES;
    for (int k = 0; k < w->s->points; ++k) {
        const double both = t.ratio[0][k], now = t.ratio[1][k], none = t.ratio[2][k];
        for (int l = 0; l < LANES; ++l) {
            to[k * LANES + l] = from[k * LANES + l] * (met[l] ? both : above[l] ? now : none);
        }
    }
}

static void come_up(const shap_walk *w, int32_t child, const uint8_t *above, const double *s, double *sum)
{
    const edge_table t = table_of(w->s, child);
    const uint8_t *met = w->met + (int64_t)child * LANES;
    double *phi = w->phi + (int64_t)column_of_edge(w->s->tree, child) * LANES;
    for (int k = 0; k < w->s->points; ++k) {
        for (int l = 0; l < LANES; ++l) {
            const double share = (met[l] ? t.share[0][k] : t.share[1][k]) - (above[l] ? t.above[0][k] : t.above[1][k]);
            phi[l] += share * s[k * LANES + l];
            sum[k * LANES + l] += s[k * LANES + l];
        }
    }
}

/* S of a node's level, from P of it. */
static void visit(const shap_walk *w, int32_t at, int level)
{
    const tree_node *node = &w->s->tree->node[at];
    const double *p = level_of(w, level, 0);
    double *sum = level_of(w, level, 1);
    const int64_t count = (int64_t)w->s->points * LANES;
    if (node->left < 0) {
        for (int64_t i = 0; i < count; ++i) {
            sum[i] = w->s->weight[i / LANES] * (double)node->value * p[i];
        }
        return;
    }
    memset(sum, 0, (size_t)count * sizeof *sum);
    for (int side = 0; side < 2; ++side) {
        uint8_t above[LANES];
        meet(w, node->left + side, side == 0, above);
        go_down(w, node->left + side, above, p, level_of(w, level + 1, 0));
        visit(w, node->left + side, level + 1);
        come_up(w, node->left + side, above, level_of(w, level + 1, 1), sum);
    }
}

static weft_status walk_create(const shap_tree *s, int columns, shap_walk *w)
{
    *w = (shap_walk){.s = s};
    WEFT_TRY(WEFT_NEW(&w->stack, (int64_t)(s->depth + 1) * 2 * s->points * LANES, WEFT_MEM_WORKSPACE));
    WEFT_TRY(WEFT_NEW(&w->phi, (int64_t)columns * LANES, WEFT_MEM_WORKSPACE));
    return WEFT_NEW(&w->met, (int64_t)s->tree->nodes * LANES, WEFT_MEM_WORKSPACE);
}

/* value: [blocks, columns, LANES]. phi: [rows, outputs, columns + 1], of one output. */
static void add_block(const shap_walk *w, int columns, int64_t rows, int64_t stride, double *phi)
{
    double *p = level_of(w, 0, 0);
    memset(w->phi, 0, (size_t)columns * LANES * sizeof *w->phi);
    for (int64_t i = 0; i < (int64_t)w->s->points * LANES; ++i) {
        p[i] = 1.0;
    }
    visit(w, 0, 0);
    for (int64_t l = 0; l < rows; ++l) {
        for (int c = 0; c < columns; ++c) {
            phi[l * stride + c] += w->phi[(int64_t)c * LANES + l];
        }
        phi[l * stride + columns] += w->s->mean;
    }
}

/* ---- all trees --------------------------------------------------------------------------------------------------- */

static void read_blocks(const tree_columns *data, int64_t first, int64_t rows, float *value)
{
    for (int64_t block = 0; block * LANES < rows; ++block) {
        const int64_t count = rows - block * LANES < LANES ? rows - block * LANES : LANES;
        float *to = value + block * data->columns * LANES;
        memset(to, 0, (size_t)data->columns * LANES * sizeof *to);
        for (int c = 0; c < data->columns; ++c) {
            tree_column_read(&data->column[c], first + block * LANES, count, to + (int64_t)c * LANES);
        }
    }
}

static weft_status add_tree(const weft_forest *forest, int t, const float *value, int64_t rows, int threads,
                            double *phi)
{
    shap_tree s;
    const int64_t stride = (int64_t)forest->outputs * (forest->columns + 1), blocks = (rows + LANES - 1) / LANES;
    double *of_output = phi + (int64_t)(t % forest->outputs) * (forest->columns + 1);
    weft_status status = shap_tree_create(&forest->tree[t], &s);
#pragma omp parallel for schedule(static, 1) num_threads(threads) if (status == WEFT_OK)
    for (int part = 0; part < threads; ++part) {
        shap_walk w = {0};
        const weft_status own = status == WEFT_OK ? walk_create(&s, forest->columns, &w) : status;
        for (int64_t b = blocks * part / threads; own == WEFT_OK && b < blocks * (part + 1) / threads; ++b) {
            const int64_t count = rows - b * LANES < LANES ? rows - b * LANES : LANES;
            w.value = value + b * forest->columns * LANES;
            add_block(&w, forest->columns, count, stride, of_output + b * LANES * stride);
        }
        WEFT_FREE_ALL(w.stack, w.phi, w.met);
        if (own != WEFT_OK) {
#pragma omp critical(weft_shap)
            status = own;
        }
    }
    shap_tree_destroy(&s);
    return status;
}

weft_status tree_shap(const weft_forest *forest, const tree_columns *data, int64_t first, int64_t rows, int threads,
                      double *phi)
{
    float *value = NULL;
    const int columns = forest->columns, outputs = forest->outputs;
    const int64_t blocks = (rows + LANES - 1) / LANES;
    assert(data->columns == columns && first >= 0 && first + rows <= data->rows);
    memset(phi, 0, (size_t)(rows * outputs * (columns + 1)) * sizeof *phi);
    WEFT_TRY(WEFT_NEW(&value, blocks * columns * LANES, WEFT_MEM_WORKSPACE));
    read_blocks(data, first, rows, value);
    weft_status status = WEFT_OK;
    for (int t = 0; t < forest->trees && status == WEFT_OK; ++t) {
        status = add_tree(forest, t, value, rows, threads, phi);
    }
    for (int64_t i = 0; i < rows * outputs; ++i) {
        phi[i * (columns + 1) + columns] += (double)forest->base[i % outputs];
    }
    weft_free(value);
    return status;
}
