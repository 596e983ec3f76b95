/* trees/grow/grow_divide.c: divides nodes: their rows, and the histograms and splits of their children. */
#include <assert.h>
#include <limits.h>
#include <math.h>
#include <string.h>

#include "base/clock.h"
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

static weft_status grow_to(void **array, int64_t count, size_t bytes, int64_t columns)
{
    return weft_realloc(array, (size_t)(count * columns), bytes, WEFT_MEM_TREES);
}

/* Memory for so many histograms that are built, and twice as many splits. */
static weft_status reserve(grow_batch *b, int builds, int columns)
{
    const int64_t splits = builds > 0 ? 2 * (int64_t)builds : 1;
    if (builds > b->build_capacity) {
        WEFT_TRY(grow_to((void **)&b->build, builds, sizeof *b->build, 1));
        WEFT_TRY(grow_to((void **)&b->parent, builds, sizeof *b->parent, 1));
        WEFT_TRY(grow_to((void **)&b->side, builds, sizeof *b->side, 1));
        WEFT_TRY(grow_to((void **)&b->rows, builds, sizeof *b->rows, 2));
        b->build_capacity = builds;
    }
    if (splits > b->split_capacity) {
        WEFT_TRY(grow_to((void **)&b->slot, splits, sizeof *b->slot, 1));
        WEFT_TRY(grow_to((void **)&b->of, splits, sizeof *b->of, 1));
        WEFT_TRY(grow_to((void **)&b->node, splits, sizeof *b->node, 1));
        WEFT_TRY(grow_to((void **)&b->use, splits, sizeof *b->use, columns));
        WEFT_TRY(grow_to((void **)&b->best, splits, sizeof *b->best, 1));
        b->split_capacity = (int)splits;
    }
    return WEFT_OK;
}

/* Finds the splits of the nodes of the batch, which have histograms or stay leaves. */
static weft_status find_splits(tree_grower *g)
{
    grow_batch *b = &g->batch;
    int nodes = 0;
    for (int i = b->first; i < g->nodes; ++i) {
        if (g->grown[i].slot >= 0) {
            uint8_t *own = b->use + (int64_t)nodes * g->data->columns;
            allow_columns(g, i, own);
            b->slot[nodes] = g->grown[i].slot;
            b->node[nodes] = g->grown[i].at;
            b->node[nodes].use = own;
            b->node[nodes].rows = g->grown[i].rows;
            b->of[nodes++] = i;
        }
    }
    WEFT_TRY(histograms_best(&g->histograms, &g->rule, b->slot, b->node, nodes, b->best));
    for (int n = 0; n < nodes; ++n) {
        grown_node *grown = &g->grown[b->of[n]];
        grown->split = b->best[n];
        if (!(b->best[n].gain > 0.0)) {
            drop_slot(g, grown);
        }
    }
    return WEFT_OK;
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
    WEFT_TRY(reserve(&g->batch, 1, g->data->columns));
    WEFT_TRY(histograms_take(&g->histograms, root.rows, &root.slot));
    g->batch.first = 0;
    g->batch.builds = 1;
    g->batch.parent[0] = g->batch.side[0] = -1;
    g->batch.build[0] = (histogram_node){
        .begin = root.begin, .end = root.end, .rows = root.rows, .slot = root.slot, .whole = -1, .rest = -1};
    return add_grown(g, &root);
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
static void divide_all_rows(tree_grower *g, const int *pick, int picks)
{
#pragma omp parallel for schedule(dynamic) num_threads(g->hal->threads) if (picks > 1)
    for (int i = 0; i < picks; ++i) {
        grown_node *node = &g->grown[pick[i]];
        if (is_small(g, node, picks)) {
            divide_rows(g, node, 1);
        }
    }
    for (int i = 0; i < picks; ++i) {
        grown_node *node = &g->grown[pick[i]];
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

int grow_divide_fit(tree_grower *g, int picks)
{
    const int most = g->room / 4 > 1 ? g->room / 4 : 1; /* each takes a slot beside its parent's, or two */
    int held = 0;
    if (g->room == INT_MAX) {
        return picks;
    }
    for (int i = 0; i < g->nodes; ++i) {
        held += g->grown[i].slot >= 0;
        if (held > g->room / 2) {
            drop_slot(g, &g->grown[i]);
        }
    }
    return picks < most ? picks : most;
}

/* Both children are built, as their parent's histograms are gone. */
static weft_status plan_alone(tree_grower *g, int index, const int64_t rows[2])
{
    grow_batch *b = &g->batch;
    for (int side = 0; side < 2; ++side) {
        histogram_node node = {.whole = -1, .rest = -1};
        WEFT_TRY(histograms_take(&g->histograms, rows[side], &node.slot));
        b->rows[2 * b->builds] = rows[0];
        b->rows[2 * b->builds + 1] = rows[1];
        b->parent[b->builds] = index;
        b->side[b->builds] = side;
        b->build[b->builds++] = node;
    }
    return WEFT_OK;
}

/* Slots of two children: one for what is built of the child of fewer rows, one for what is left of their parent's. Of
 * several ranks it is not known yet which child is which. */
static weft_status plan_children(tree_grower *g, int index)
{
    grow_batch *b = &g->batch;
    grown_node *from = &g->grown[index];
    const grown_node *child = &g->grown[from->left];
    const int64_t rows[2] = {child[0].end - child[0].begin, child[1].end - child[1].begin};
    histogram_node node = {.whole = from->slot};
    if (g->growth.depth > 0 && child->depth >= g->growth.depth) {
        drop_slot(g, from);
        return WEFT_OK;
    }
    if (from->slot < 0) {
        return plan_alone(g, index, rows);
    }
    WEFT_TRY(histograms_take(&g->histograms, rows[0] < rows[1] ? rows[0] : rows[1], &node.slot));
    WEFT_TRY(histograms_take_rest(&g->histograms, from->slot, rows[0] < rows[1] ? rows[1] : rows[0], &node.rest));
    from->slot = node.rest == from->slot ? -1 : from->slot;
    b->rows[2 * b->builds] = rows[0];
    b->rows[2 * b->builds + 1] = rows[1];
    b->parent[b->builds] = index;
    b->side[b->builds] = -1;
    b->build[b->builds++] = node;
    return WEFT_OK;
}

weft_status grow_divide_rows(tree_grower *g, const int *pick, int picks)
{
    weft_status status = reserve(&g->batch, g->room == INT_MAX ? picks : 2 * picks, g->data->columns);
    if (status == WEFT_OK) {
        const double begun = clock_seconds();
        divide_all_rows(g, pick, picks);
        g->exchange.seconds.division += clock_seconds() - begun;
    }
    g->batch.first = g->nodes;
    g->batch.builds = 0;
    for (int i = 0; status == WEFT_OK && i < picks; ++i) {
        const grown_node *node = &g->grown[pick[i]];
        g->exchange.work.divided += node->end - node->begin;
        status = add_children(g, pick[i]);
        status = status == WEFT_OK ? plan_children(g, pick[i]) : status;
    }
    return status;
}

/* The child of fewer rows is built, the other one is what is left; without the parent each is built. */
static void choose_children(tree_grower *g)
{
    grow_batch *b = &g->batch;
    for (int i = 0; i < b->builds; ++i) {
        grown_node *child = &g->grown[g->grown[b->parent[i]].left];
        child[0].rows = b->rows[2 * i];
        child[1].rows = b->rows[2 * i + 1];
        const int side = b->side[i] >= 0 ? b->side[i] : child[0].rows <= child[1].rows ? 0 : 1;
        grown_node *less = &child[side];
        less->slot = b->build[i].slot;
        child[1 - side].slot = b->side[i] >= 0 ? child[1 - side].slot : b->build[i].rest;
        b->build[i].begin = less->begin;
        b->build[i].end = less->end;
        b->build[i].rows = less->rows;
    }
}

weft_status grow_divide_splits(tree_grower *g)
{
    grow_batch *b = &g->batch;
    if (b->first > 0 && b->builds > 0) {
        WEFT_TRY(exchange_sum(&g->exchange, b->rows, 2 * (int64_t)b->builds));
        choose_children(g);
    }
    if (b->builds == 0) {
        return WEFT_OK;
    }
    WEFT_TRY(histograms_build(&g->histograms, &g->rows.row, &g->bins->pair, b->build, b->builds));
    for (int i = 0; i < b->builds && b->first > 0; ++i) {
        drop_slot(g, &g->grown[b->parent[i]]); /* of a parent whose children both have narrower ones */
    }
    return find_splits(g);
}

void grow_divide_free(tree_grower *g)
{
    grow_batch *b = &g->batch;
    WEFT_FREE_ALL(b->build, b->parent, b->side, b->rows, b->slot, b->of, b->node, b->use, b->best);
}

void grow_divide_end(tree_grower *g)
{
    for (int i = 0; i < g->nodes; ++i) {
        drop_slot(g, &g->grown[i]);
    }
}
