/* trees/grow/grow_finish.c: what the leaves of a grown tree add, and the leaf of each row. */
#include <math.h>
#include <string.h>

#include "base/exact/fixed_sum.h"
#include "trees/grow/grow_state.h"

static const grown_node *grown_of(const tree_grower *g, int32_t node)
{
    return &g->grown[g->place[node]];
}

/* Adds the unrounded numbers of rows [begin, end) to the sums of their leaves, in the order of the rows, which memory
 * gives faster than that of the leaves. */
static void sum_rows(const tree_grower *g, hal_span own, const fixed_sum of[2], const float *gradient,
                     const float *hessian, const int32_t *leaf, int64_t *sum)
{
    for (int64_t i = own.begin; i < own.end; ++i) {
        if (leaf[i] >= 0) {
            const double factor = grow_factor(g, i);
            sum[2 * leaf[i]] += fixed_of(&of[0], (double)gradient[i] * factor);
            sum[2 * leaf[i] + 1] += fixed_of(&of[1], (double)hessian[i] * factor);
        }
    }
}

/* [in, out] sum: [nodes, 2] of which the leaves become those of all ranks. */
static weft_status sum_leaves(tree_grower *g, const weft_tree *tree, int64_t *sum)
{
    int64_t leaves = 0;
    for (int32_t n = 0; n < tree->nodes; ++n) { /* a leaf's place among the leaves is not behind that among the nodes */
        if (tree->node[n].left < 0) {
            memmove(sum + 2 * leaves++, sum + 2 * (int64_t)n, 2 * sizeof *sum);
        }
    }
    WEFT_TRY(exchange_sum(&g->exchange, sum, 2 * leaves));
    for (int32_t n = tree->nodes - 1; n >= 0; --n) {
        const bool is_leaf = tree->node[n].left < 0;
        leaves -= is_leaf;
        sum[2 * (int64_t)n] = is_leaf ? sum[2 * leaves] : 0;
        sum[2 * (int64_t)n + 1] = is_leaf ? sum[2 * leaves + 1] : 0;
    }
    return WEFT_OK;
}

weft_status grow_finish_values(tree_grower *g, const float *gradient, const float *hessian, const int32_t *leaf,
                               weft_tree *tree)
{
    const fixed_sum of[2] = {fixed_sum_of(g->most[0], g->all_rows), fixed_sum_of(g->most[1], g->all_rows)};
    const int64_t stride = 2 * (int64_t)tree->nodes;
    const int threads = g->hal->threads;
    int64_t *sum = NULL; /* [threads][nodes, 2]; the first of the leaves, then from the leaves up to the root */
    WEFT_TRY(exchange_agree(&g->exchange, WEFT_NEW_ZERO(&sum, threads * stride, WEFT_MEM_WORKSPACE)));
#pragma omp parallel for schedule(static, 1) num_threads(threads)
    for (int part = 0; part < threads; ++part) {
        sum_rows(g, hal_split_rows(g->data->rows, threads, part), of, gradient, hessian, leaf, sum + part * stride);
    }
    for (int64_t i = stride; i < threads * stride; ++i) {
        sum[i % stride] += sum[i];
    }
    const weft_status status = sum_leaves(g, tree, sum);
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

void grow_finish_listed(const tree_grower *g, const weft_tree *tree, int32_t *leaf)
{
    const int32_t *row = g->rows.row.data;
    if (g->listed < g->data->rows) {
        memset(leaf, 0xff, (size_t)g->data->rows * sizeof *leaf);
    }
#pragma omp parallel for schedule(dynamic) num_threads(g->hal->threads)
    for (int32_t n = 0; n < tree->nodes; ++n) {
        const grown_node *grown = grown_of(g, n);
        for (int64_t i = grown->begin; tree->node[n].left < 0 && i < grown->end; ++i) {
            leaf[row[i]] = n;
        }
    }
}

void grow_finish_others(const tree_grower *g, const weft_tree *tree, int32_t *leaf)
{
    if (g->listed == g->data->rows) {
        return;
    }
#pragma omp parallel for schedule(static) num_threads(g->hal->threads)
    for (int64_t i = 0; i < g->data->rows; ++i) {
        int32_t at = leaf[i] < 0 ? 0 : leaf[i];
        while (tree->node[at].left >= 0) {
            const bool left = row_goes_left(&grown_of(g, at)->split, g->bins, i);
            at = tree->node[at].left + (left ? 0 : 1);
        }
        leaf[i] = at;
    }
}
