/* trees/shap/shap_tree.c: the tables of a tree's edges (trees/shap/shap_walk.h). */
#include <assert.h>

#include "trees/shap/quadrature.h"
#include "trees/shap/shap_walk.h"
#include "trees/shap/tree_shap.h"

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

weft_status shap_depth(const weft_tree *tree, int *depth)
{
    *depth = 0;
    for (int32_t n = 0; n < tree->nodes; ++n) {
        int here = 0;
        for (int32_t at = n; tree->node[at].parent >= 0 && here <= SHAP_DEPTH_MAX; at = tree->node[at].parent) {
            ++here;
        }
        WEFT_CHECK(here <= SHAP_DEPTH_MAX, WEFT_ERR_UNSUPPORTED, "a tree is deeper than %d: it is not explained",
                   SHAP_DEPTH_MAX);
        *depth = here > *depth ? here : *depth;
    }
    return WEFT_OK;
}

/* Finds the most columns on a path, and what every node's path knows. reach: [nodes] share of the rows. */
static void measure(shap_tree *s, int *columns, double *reach, int32_t *different)
{
    const weft_tree *tree = s->tree;
    *columns = 1;
    reach[0] = 1.0;
    for (int32_t n = 1; n < tree->nodes; ++n) { /* parents stand before their children */
        const int32_t parent = tree->node[n].parent;
        assert(parent >= 0 && parent < n);
        const double ratio = divide(tree->node[n].hessian, tree->node[parent].hessian);
        s->last[n] = -1;
        for (int32_t up = parent; up > 0 && s->last[n] < 0; up = tree->node[up].parent) {
            s->last[n] = column_of_edge(tree, up) == column_of_edge(tree, n) ? up : -1;
        }
        s->z[n] = ratio * (s->last[n] >= 0 ? s->z[s->last[n]] : 1.0);
        reach[n] = ratio * reach[parent];
        different[n] = different[parent] + (s->last[n] < 0);
        *columns = different[n] > *columns ? different[n] : *columns;
        s->mean += tree->node[n].left < 0 ? reach[n] * (double)tree->node[n].value : 0.0;
    }
    s->mean += tree->node[0].left < 0 ? (double)tree->node[0].value : 0.0;
}

void shap_tree_destroy(shap_tree *s)
{
    WEFT_FREE_ALL(s->point, s->numbers, s->last, s->z);
    *s = (shap_tree){0};
}

weft_status shap_tree_create(const weft_tree *tree, shap_tree *s)
{
    double *reach = NULL;
    int32_t *different = NULL;
    int columns = 1;
    *s = (shap_tree){.tree = tree};
    WEFT_TRY(shap_depth(tree, &s->depth));
    weft_status status = WEFT_NEW(&s->last, tree->nodes, WEFT_MEM_TREES);
    status = status == WEFT_OK ? WEFT_NEW(&s->z, tree->nodes, WEFT_MEM_TREES) : status;
    status = status == WEFT_OK ? WEFT_NEW(&reach, tree->nodes, WEFT_MEM_WORKSPACE) : status;
    status = status == WEFT_OK ? WEFT_NEW_ZERO(&different, tree->nodes, WEFT_MEM_WORKSPACE) : status;
    if (status == WEFT_OK) {
        measure(s, &columns, reach, different);
    }
    WEFT_FREE_ALL(reach, different);
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
