/* trees/grow/grow_divide.c: divides nodes: their rows, and the histograms and splits of their children. */
#include <assert.h>
#include <math.h>
#include <string.h>

#include "base/grow.h"
#include "trees/grow/grow_state.h"

static weft_status add_grown(tree_grower *g, const grown_node *node)
{
    WEFT_TRY(grow_array((void **)&g->grown, sizeof *g->grown, g->nodes, &g->grown_capacity, WEFT_MEM_TREES));
    g->grown[g->nodes++] = *node;
    return WEFT_OK;
}

static void drop_slot(tree_grower *g, grown_node *node)
{
    if (node->slot >= 0) {
        histograms_give_back(&g->histograms, node->slot);
        node->slot = -1;
    }
}

/* [out] use: [columns] those that may divide a node. */
static void allow_columns(tree_grower *g, int index, uint8_t *use)
{
    memset(g->path, 0, (size_t)g->data->columns);
    for (int up = g->grown[index].parent; up >= 0; up = g->grown[up].parent) {
        g->path[g->grown[up].split.feature] = 1;
    }
    interactions_allow(&g->growth.interactions, g->path, g->data->columns, g->use, use);
}

/* Finds the splits of nodes first .. nodes - 1, which have histograms or stay leaves. */
static weft_status find_splits(tree_grower *g, int first)
{
    const int count = g->nodes - first;
    int *slot = NULL, *of = NULL, nodes = 0;
    split_node *node = NULL;
    uint8_t *use = NULL; /* [count, columns] */
    tree_split *best = NULL;
    weft_status status;
    weft_status local = WEFT_NEW(&slot, 2 * count, WEFT_MEM_WORKSPACE);
    local = local == WEFT_OK ? WEFT_NEW(&node, count, WEFT_MEM_WORKSPACE) : local;
    local = local == WEFT_OK ? WEFT_NEW(&use, (int64_t)count * g->data->columns, WEFT_MEM_WORKSPACE) : local;
    local = local == WEFT_OK ? WEFT_NEW(&best, count, WEFT_MEM_WORKSPACE) : local;
    COMM_AGREED_GOTO(comm_agree(g->comm, local), local, status, done);
    of = slot + count;
    for (int i = first; i < g->nodes; ++i) {
        if (g->grown[i].slot >= 0) {
            uint8_t *own = use + (int64_t)nodes * g->data->columns;
            allow_columns(g, i, own);
            slot[nodes] = g->grown[i].slot;
            node[nodes] = g->grown[i].at;
            node[nodes].use = own;
            node[nodes].rows = g->grown[i].rows;
            of[nodes++] = i;
        }
    }
    WEFT_TRY_GOTO(histograms_best(&g->histograms, &g->rule, slot, node, nodes, best), status, done);
    for (int n = 0; n < nodes; ++n) {
        grown_node *grown = &g->grown[of[n]];
        grown->split = best[n];
        if (!(best[n].gain > 0.0)) {
            drop_slot(g, grown);
        }
    }
done:
    WEFT_FREE_ALL(slot, node, use, best);
    return status;
}

weft_status grow_divide_root(tree_grower *g, const int64_t sum[3])
{
    const double most = g->growth.max_step > 0.0 ? g->growth.max_step : INFINITY;
    grown_node root = {.node = -1,
                       .parent = -1,
                       .left = -1,
                       .slot = -1,
                       .end = g->listed,
                       .rows = sum[2],
                       .at = {.sums = {sum[0], sum[1]}, .lower = -most, .upper = most}};
    g->nodes = 0;
    WEFT_TRY(comm_agree(g->comm, histograms_take(&g->histograms, root.rows, &root.slot)));
    histogram_node node = {.begin = root.begin, .end = root.end, .slot = root.slot, .whole = -1, .rest = -1};
    WEFT_TRY(comm_agree(g->comm, add_grown(g, &root)));
    WEFT_TRY(histograms_build(&g->histograms, &g->rows.row, &g->pair, &node, 1));
    return find_splits(g, 0);
}

/* ---- rows -------------------------------------------------------------------------------------------------------- */

static void divide_rows(tree_grower *g, grown_node *node, int threads)
{
    node->middle = node->begin + node_rows_split(&g->rows, node->begin, node->end, g->bins, &node->split, threads);
}

static bool is_small(const tree_grower *g, const grown_node *node, int picks)
{
    return picks > 1 && node->end - node->begin <= g->rows.capacity / (2 * g->hal->threads);
}

/* Nodes of few rows side by side, a thread each; the others one by one by all threads. */
static void divide_all_rows(tree_grower *g, int picks)
{
#pragma omp parallel for schedule(dynamic) num_threads(g->hal->threads) if (picks > 1)
    for (int i = 0; i < picks; ++i) {
        grown_node *node = &g->grown[g->pick[i]];
        if (is_small(g, node, picks)) {
            divide_rows(g, node, 1);
        }
    }
    for (int i = 0; i < picks; ++i) {
        grown_node *node = &g->grown[g->pick[i]];
        if (!is_small(g, node, picks)) {
            divide_rows(g, node, g->hal->threads);
        }
    }
}

/* ---- children ---------------------------------------------------------------------------------------------------- */

/* Two new nodes behind all others, of a node whose rows are divided. */
static weft_status add_children(tree_grower *g, int index)
{
    const grown_node node = g->grown[index];
    const tree_split *split = &node.split;
    grown_node left = {.node = -1, .parent = index, .left = -1, .depth = node.depth + 1, .slot = -1};
    grown_node right = left;
    left.begin = node.begin;
    left.end = right.begin = node.middle;
    right.end = node.end;
    split_bounds(&g->rule, &node.at, split, &left.at, &right.at);
    left.at.sums = split->left;
    right.at.sums.gradient = node.at.sums.gradient - split->left.gradient;
    right.at.sums.hessian = node.at.sums.hessian - split->left.hessian;
    WEFT_TRY(add_grown(g, &left));
    WEFT_TRY(add_grown(g, &right));
    g->grown[index].left = g->nodes - 2;
    g->ahead += 1;
    return WEFT_OK;
}

/* Rows of all ranks in nodes first .. nodes - 1. */
static weft_status count_rows(tree_grower *g, int first)
{
    int64_t *rows = NULL;
    const int count = g->nodes - first;
    WEFT_TRY(comm_agree(g->comm, WEFT_NEW(&rows, count, WEFT_MEM_WORKSPACE)));
    for (int i = 0; i < count; ++i) {
        rows[i] = g->grown[first + i].end - g->grown[first + i].begin;
    }
    const weft_status status = comm_allreduce(g->comm, rows, count, WEFT_DTYPE_I64, COMM_SUM);
    for (int i = 0; status == WEFT_OK && i < count; ++i) {
        g->grown[first + i].rows = rows[i];
    }
    weft_free(rows);
    return status;
}

/* Histograms of two children: the smaller is to be built, the larger has what is left of their parent's. */
static weft_status plan_children(tree_grower *g, int index, histogram_node *node, int *nodes)
{
    grown_node *from = &g->grown[index], *child = &g->grown[from->left];
    grown_node *less = child[0].rows <= child[1].rows ? child : child + 1, *more = less == child ? child + 1 : child;
    if (g->growth.depth > 0 && child->depth >= g->growth.depth) {
        drop_slot(g, from);
        return WEFT_OK;
    }
    int rest = -1;
    WEFT_TRY(histograms_take(&g->histograms, less->rows, &less->slot));
    WEFT_TRY(histograms_take_rest(&g->histograms, from->slot, more->rows, &rest));
    node[(*nodes)++] =
        (histogram_node){.begin = less->begin, .end = less->end, .slot = less->slot, .whole = from->slot, .rest = rest};
    more->slot = rest;
    from->slot = rest == from->slot ? -1 : from->slot;
    return WEFT_OK;
}

static weft_status build_children(tree_grower *g, int picks)
{
    histogram_node *node = NULL;
    int nodes = 0;
    weft_status status;
    weft_status local = WEFT_NEW(&node, picks, WEFT_MEM_WORKSPACE);
    for (int i = 0; i < picks && local == WEFT_OK; ++i) {
        local = plan_children(g, g->pick[i], node, &nodes);
    }
    COMM_AGREED_GOTO(comm_agree(g->comm, local), local, status, done);
    status = histograms_build(&g->histograms, &g->rows.row, &g->pair, node, nodes);
    for (int i = 0; i < picks; ++i) {
        drop_slot(g, &g->grown[g->pick[i]]); /* of a parent whose children both have narrower ones */
    }
done:
    weft_free(node);
    return status;
}

weft_status grow_divide_picked(tree_grower *g, int picks)
{
    const int first = g->nodes;
    weft_status status = WEFT_OK;
    divide_all_rows(g, picks);
    for (int i = 0; status == WEFT_OK && i < picks; ++i) {
        status = add_children(g, g->pick[i]);
    }
    WEFT_TRY(comm_agree(g->comm, status));
    WEFT_TRY(count_rows(g, first));
    WEFT_TRY(build_children(g, picks));
    return find_splits(g, first);
}

void grow_divide_end(tree_grower *g)
{
    for (int i = 0; i < g->nodes; ++i) {
        drop_slot(g, &g->grown[i]);
    }
}
