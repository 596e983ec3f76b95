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
 * the loop over rows compares and multiplies (shap_walk.h).
 */
#include "trees/shap/tree_shap.h"

#include <assert.h>
#include <math.h>
#include <string.h>

#include "base/isa.h"
#include "trees/shap/quadrature.h"
#include "trees/shap/shap_walk.h"

enum { LANES = SHAP_LANES };

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
        t.ratio[0][k] = divide(f[0], fo[0]);
        t.ratio[1][k] = divide(f[0], fo[1]) - t.ratio[0][k];
        t.ratio[2][k] = divide(f[1], fo[1]) - divide(f[0], fo[1]);
        t.share[0][k] = divide(-z, f[0]);
        t.share[1][k] = divide(1.0 - z, f[1]) - t.share[0][k];
        t.above[0][k] = again ? divide(-zo, fo[0]) : 0.0;
        t.above[1][k] = again ? divide(1.0 - zo, fo[1]) - t.above[0][k] : 0.0;
    }
}

/* ---- before the walk --------------------------------------------------------------------------------------------- */

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
    const int64_t each = (int64_t)(SHAP_RATIOS + 2 * SHAP_SHARES) * s->points;
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

static shap_visit *const visits[HAL_ISAS] = {
    [HAL_ISA_BASE] = shap_visit_base, [HAL_ISA_AVX2] = shap_visit_avx2, [HAL_ISA_AVX512] = shap_visit_avx512};

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
    double *p = shap_level(w, 0, 0);
    memset(w->phi, 0, (size_t)columns * LANES * sizeof *w->phi);
    for (int64_t i = 0; i < (int64_t)w->s->points * LANES; ++i) {
        p[i] = 1.0;
    }
    visits[hal_isa_best()](w, 0, 0);
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
