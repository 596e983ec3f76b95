/* trees/grow/grow_finish.c: what the leaves of a grown tree add, and the leaf of each row. */
#include <math.h>
#include <string.h>

#include "base/exact/fixed_sum.h"
#include "trees/grow/grow_state.h"

static const grown_node *grown_of(const tree_grower *g, int32_t node)
{
    return &g->grown[g->place[node]];
}

/* Adds the unrounded numbers of a leaf's rows, which stand together on this rank. */
static void sum_leaf(const tree_grower *g, const grown_node *leaf, const fixed_sum of[2], const float *gradient,
                     const float *hessian, int64_t sum[2])
{
    const int32_t *row = g->rows.row.data;
    for (int64_t i = leaf->begin; i < leaf->end; ++i) {
        sum[0] += fixed_of(&of[0], (double)gradient[row[i]] * grow_factor(g, row[i]));
        sum[1] += fixed_of(&of[1], (double)hessian[row[i]] * grow_factor(g, row[i]));
    }
}

weft_status grow_finish_values(const tree_grower *g, const float *gradient, const float *hessian, weft_tree *tree)
{
    const fixed_sum of[2] = {fixed_sum_of(g->most[0], g->all_rows), fixed_sum_of(g->most[1], g->all_rows)};
    int64_t *sum = NULL; /* [nodes, 2] of the leaves, then from the leaves up to the root */
    WEFT_TRY(comm_agree(g->comm, WEFT_NEW_ZERO(&sum, 2 * tree->nodes, WEFT_MEM_WORKSPACE)));
#pragma omp parallel for schedule(dynamic) num_threads(g->hal->threads)
    for (int32_t n = 0; n < tree->nodes; ++n) {
        if (tree->node[n].left < 0) {
            sum_leaf(g, grown_of(g, n), of, gradient, hessian, sum + 2 * n);
        }
    }
    const weft_status status = comm_allreduce(g->comm, sum, 2 * (int64_t)tree->nodes, WEFT_DTYPE_I64, COMM_SUM);
    for (int32_t n = tree->nodes - 1; status == WEFT_OK && n >= 0; --n) {
        tree_node *node = &tree->node[n];
        const double g_sum = fixed_value(&of[0], sum[2 * n]);
        node->hessian = fixed_value(&of[1], sum[2 * n + 1]);
        node->weight =
            (float)(g->growth.rate * split_bounded_leaf(&g->rule, &grown_of(g, n)->at, g_sum, node->hessian));
        node->value = node->left < 0 ? node->weight : node->value;
        for (int i = 0; node->parent >= 0 && i < 2; ++i) {
            sum[2 * node->parent + i] += sum[2 * n + i];
        }
    }
    weft_free(sum);
    return status;
}

/* Rows that the tree was not grown on find their leaf from the root. */
static void walk_rows(const tree_grower *g, const weft_tree *tree, int32_t *leaf)
{
    const uint8_t *bin = g->bins->bin.data;
#pragma omp parallel for schedule(static) num_threads(g->hal->threads)
    for (int64_t i = 0; i < g->data->rows; ++i) {
        int32_t at = leaf[i] < 0 ? 0 : leaf[i];
        while (tree->node[at].left >= 0) {
            const bool left = row_goes_left(&grown_of(g, at)->split, g->bins, bin + i * g->bins->bin.ld);
            at = tree->node[at].left + (left ? 0 : 1);
        }
        leaf[i] = at;
    }
}

void grow_finish_rows(const tree_grower *g, const weft_tree *tree, int32_t *leaf)
{
    const int32_t *row = g->rows.row.data;
    const bool others = g->listed < g->data->rows;
    if (others) {
        memset(leaf, 0xff, (size_t)g->data->rows * sizeof *leaf);
    }
#pragma omp parallel for schedule(dynamic) num_threads(g->hal->threads)
    for (int32_t n = 0; n < tree->nodes; ++n) {
        const grown_node *grown = grown_of(g, n);
        for (int64_t i = grown->begin; tree->node[n].left < 0 && i < grown->end; ++i) {
            leaf[row[i]] = n;
        }
    }
    if (others) {
        walk_rows(g, tree, leaf);
    }
}
