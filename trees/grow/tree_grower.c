/* trees/grow/tree_grower.c: see trees/grow/tree_grower.h. */
#include "trees/grow/tree_grower.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/exact/fixed_sum.h"
#include "base/grow.h"
#include "trees/grow/histograms.h"
#include "trees/grow/node_rows.h"
#include "trees/grow/row_sample.h"

/* A split gains more than rounding does. */
#define LEAST_GAIN 1e-6

/* A leaf of the tree that is growing. */
typedef struct open_leaf {
    int32_t node;
    int depth;
    int64_t begin, end; /* its rows on this rank */
    int64_t middle;     /* where those of the right child begin, once it is split */
    int64_t rows;       /* of all ranks */
    int slot;           /* its histograms; -1: it stays a leaf */
    split_node at;      /* its sums and bounds; `use` is set while its split is looked for */
    tree_split split;   /* gain 0: it stays a leaf */
} open_leaf;

struct tree_grower {
    weft_comm *comm;
    weft_hal *hal;
    const tree_columns *data;
    const tree_bins *bins;
    const tree_cuts *cuts;
    const uint8_t *counts;
    tree_growth growth;
    tree_histograms histograms;
    node_rows rows;
    weft_tensor pair; /* [rows, 1] int32 */
    uint8_t *use;     /* [columns] */
    uint8_t *take;    /* [rows] a row_take each, for the tree that grows */
    int64_t all_rows; /* rows that count, of all ranks */
    int64_t listed;   /* rows of this rank that the tree is grown on */
    open_leaf *leaf;  /* all leaves so far, that of node n at place n; those with a gain may be split */
    int leaves, leaf_capacity, node_capacity;
    int *pick; /* [picks] leaves that are split together */
    int pick_capacity;
    split_rule rule;
    double most[2]; /* of gradients and of hessians, over all ranks */
    uint64_t seed;  /* of what is drawn for the tree that grows */
};

/* ---- what a tree is grown on ------------------------------------------------------------------------------------- */

/* Is a row or column drawn? It is where its place is below its share. */
static bool is_drawn(const tree_grower *g, int64_t id, int number, uint32_t of, double share)
{
    return share >= 1.0 || tree_place(g->seed, id, number, of) < share;
}

/* [out] g->take */
static weft_status draw_rows(tree_grower *g, const float *gradient, int number)
{
    if (g->growth.top > 0.0) {
        return row_sample_by_gradient(g->comm, g->data, g->counts, gradient, g->growth.top, g->growth.other, g->seed,
                                      number, g->take);
    }
#pragma omp parallel for schedule(static) num_threads(g->hal->threads)
    for (int64_t i = 0; i < g->data->rows; ++i) {
        g->take[i] =
            g->counts[i] != 0 && is_drawn(g, g->data->id[i], number, 0, g->growth.row_share) ? ROW_TAKEN : ROW_LEFT_OUT;
    }
    return WEFT_OK;
}

/* What the gradient and hessian of a row are multiplied by. */
static double factor_of(const tree_grower *g, int64_t row)
{
    return g->take[row] == ROW_AMPLIFIED ? (1.0 - g->growth.top) / g->growth.other : 1.0;
}

static int64_t list_rows(tree_grower *g)
{
    int32_t *row = g->rows.row.data;
    int64_t count = 0;
    const bool draws = g->growth.row_share < 1.0 || g->growth.top > 0.0;
    if (!draws && g->rows.capacity == g->data->rows) { /* all of them count */
#pragma omp parallel for schedule(static) num_threads(g->hal->threads)
        for (int64_t i = 0; i < g->data->rows; ++i) {
            row[i] = (int32_t)i;
        }
        return g->data->rows;
    }
    for (int64_t i = 0; i < g->data->rows; ++i) {
        if (g->take[i] != ROW_LEFT_OUT) {
            row[count++] = (int32_t)i;
        }
    }
    return count;
}

/* At least one column is drawn: the one with the lowest place. */
static void list_columns(tree_grower *g, int number)
{
    int drawn = 0;
    for (int c = 0; c < g->data->columns; ++c) {
        g->use[c] = is_drawn(g, c, number, 1, g->growth.column_share);
        drawn += g->use[c];
    }
    for (int c = 0; drawn == 0 && c < g->data->columns; ++c) {
        g->use[c] = 1;
    }
}

/* [out] most: the largest gradient and hessian of this rank, and 1 where one is not finite. */
static void find_most(const tree_grower *g, const float *gradient, const float *hessian, double most[3])
{
    double gradients = 0.0, hessians = 0.0;
    int infinite = 0;
#pragma omp parallel for schedule(static) num_threads(g->hal->threads) reduction(max : gradients, hessians, infinite)
    for (int64_t i = 0; i < g->data->rows; ++i) {
        const double factor = factor_of(g, i), magnitude = fabs((double)gradient[i]) * factor;
        const double spread = (double)hessian[i] * factor;
        gradients = magnitude > gradients ? magnitude : gradients;
        hessians = spread > hessians ? spread : hessians;
        infinite = isfinite(gradient[i]) && isfinite(hessian[i]) ? infinite : 1;
    }
    most[0] = gradients;
    most[1] = hessians;
    most[2] = (double)infinite;
}

static weft_status round_pairs(tree_grower *g, const float *gradient, const float *hessian)
{
    double most[3];
    int32_t *pair = g->pair.data;
    find_most(g, gradient, hessian, most);
    WEFT_TRY(comm_allreduce(g->comm, most, 3, WEFT_DTYPE_F64, COMM_MAX));
    WEFT_CHECK(most[2] == 0.0, WEFT_ERR_DATA,
               "a gradient is not finite: take a lower rate, or look for extreme targets and weights");
    const double up[2] = {most[0] > 0.0 ? INT16_MAX / most[0] : 0.0, most[1] > 0.0 ? UINT16_MAX / most[1] : 0.0};
#pragma omp parallel for schedule(static) num_threads(g->hal->threads)
    for (int64_t i = 0; i < g->data->rows; ++i) {
        const double factor = factor_of(g, i);
        pair[i] = hal_pair_of((int16_t)lrint((double)gradient[i] * factor * up[0]),
                              (uint16_t)lrint((double)hessian[i] * factor * up[1]));
    }
    memcpy(g->most, most, sizeof g->most);
    g->rule.gradient_unit = most[0] / INT16_MAX;
    g->rule.hessian_unit = most[1] / UINT16_MAX;
    return WEFT_OK;
}

/* ---- leaves ------------------------------------------------------------------------------------------------------ */

static weft_status add_node(tree_grower *g, weft_tree *tree, int32_t parent)
{
    WEFT_TRY(grow_array((void **)&tree->node, sizeof *tree->node, tree->nodes, &g->node_capacity, WEFT_MEM_TREES));
    tree->node[tree->nodes++] = (tree_node){.left = -1, .parent = parent};
    return WEFT_OK;
}

static weft_status add_leaf(tree_grower *g, const open_leaf *leaf)
{
    WEFT_TRY(grow_array((void **)&g->leaf, sizeof *g->leaf, g->leaves, &g->leaf_capacity, WEFT_MEM_TREES));
    g->leaf[g->leaves++] = *leaf;
    return WEFT_OK;
}

static bool may_be_split(const tree_grower *g, const open_leaf *leaf)
{
    return g->growth.depth == 0 || leaf->depth < g->growth.depth;
}

static void drop_slot(tree_grower *g, open_leaf *leaf)
{
    if (leaf->slot >= 0) {
        histograms_give_back(&g->histograms, leaf->slot);
        leaf->slot = -1;
    }
}

/* Finds the splits of leaves first .. leaves - 1, which have histograms or stay leaves. */
static weft_status find_splits(tree_grower *g, int first, const weft_tree *tree)
{
    const int count = g->leaves - first;
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
    for (int i = first; i < g->leaves; ++i) {
        if (g->leaf[i].slot >= 0) {
            slot[nodes] = g->leaf[i].slot;
            uint8_t *own = use + (int64_t)nodes * g->data->columns;
            interactions_allow(&g->growth.interactions, tree, g->leaf[i].node, g->data->columns, g->use, own);
            node[nodes] = g->leaf[i].at;
            node[nodes].use = own;
            node[nodes].rows = g->leaf[i].rows;
            of[nodes++] = i;
        }
    }
    WEFT_TRY_GOTO(histograms_best(&g->histograms, &g->rule, slot, node, nodes, best), status, done);
    for (int n = 0; n < nodes; ++n) {
        open_leaf *leaf = &g->leaf[of[n]];
        leaf->split = best[n];
        if (!(best[n].gain > 0.0)) {
            drop_slot(g, leaf);
        }
    }
done:
    WEFT_FREE_ALL(slot, node, use, best);
    return status;
}

/* Sums of the pairs of the rows listed. */
static void sum_pairs(const tree_grower *g, int64_t rows, int64_t sum[2])
{
    const int32_t *row = g->rows.row.data, *pair = g->pair.data;
    int64_t gradient = 0, hessian = 0;
#pragma omp parallel for schedule(static) num_threads(g->hal->threads) reduction(+ : gradient, hessian)
    for (int64_t i = 0; i < rows; ++i) {
        gradient += hal_pair_gradient(pair[row[i]]);
        hessian += hal_pair_hessian(pair[row[i]]);
    }
    sum[0] = gradient;
    sum[1] = hessian;
}

static weft_status plant(tree_grower *g, int number, weft_tree *tree)
{
    open_leaf root = {.slot = -1, .end = list_rows(g), .at = {.lower = -INFINITY, .upper = INFINITY}};
    g->listed = root.end;
    int64_t sum[3] = {0, 0, root.end};
    sum_pairs(g, root.end, sum);
    WEFT_TRY(comm_allreduce(g->comm, sum, 3, WEFT_DTYPE_I64, COMM_SUM));
    root.at.sums = (tree_sums){sum[0], sum[1]};
    root.rows = sum[2];
    g->leaves = 0;
    g->node_capacity = 0;
    list_columns(g, number);
    WEFT_TRY(comm_agree(g->comm, add_node(g, tree, -1)));
    WEFT_TRY(comm_agree(g->comm, histograms_take(&g->histograms, &root.slot)));
    const histogram_node node = {.begin = root.begin, .end = root.end, .slot = root.slot, .whole = -1};
    WEFT_TRY(histograms_build(&g->histograms, &g->rows.row, &g->pair, &node, 1));
    WEFT_TRY(comm_agree(g->comm, add_leaf(g, &root)));
    return find_splits(g, 0, tree);
}

/* ---- splits ------------------------------------------------------------------------------------------------------ */

/* The leaves to split next, at most `room` of them: the best one, or all of the least depth that has any, of which the
 * best if there is no room for all. Returns how many. */
static int pick_leaves(tree_grower *g, int room)
{
    int picks = 0, depth = INT32_MAX;
    for (int i = 0; i < g->leaves; ++i) {
        if (g->leaf[i].split.gain > 0.0 && !g->growth.leaf_wise && g->leaf[i].depth < depth) {
            depth = g->leaf[i].depth;
        }
    }
    room = g->growth.leaf_wise && room > 1 ? 1 : room;
    for (int i = 0; i < g->leaves; ++i) {
        if (!(g->leaf[i].split.gain > 0.0) || g->leaf[i].depth > depth) {
            continue;
        }
        int at = picks < room ? picks : room; /* kept by falling gain */
        while (at > 0 && g->leaf[g->pick[at - 1]].split.gain < g->leaf[i].split.gain) {
            --at;
        }
        const int last = picks < room ? picks : room - 1;
        if (at <= last && room > 0) {
            memmove(g->pick + at + 1, g->pick + at, (size_t)(last - at) * sizeof *g->pick);
            g->pick[at] = i;
            picks = last + 1;
        }
    }
    for (int i = 1; !g->growth.leaf_wise && i < picks; ++i) { /* nodes of a level in their order */
        const int leaf = g->pick[i];
        int at = i;
        for (; at > 0 && g->pick[at - 1] > leaf; --at) {
            g->pick[at] = g->pick[at - 1];
        }
        g->pick[at] = leaf;
    }
    return picks;
}

/* Divides the rows of a picked leaf. */
static void divide_rows(tree_grower *g, open_leaf *leaf, int threads)
{
    leaf->middle = leaf->begin + node_rows_split(&g->rows, leaf->begin, leaf->end, g->bins, &leaf->split, threads);
}

static bool is_small(const tree_grower *g, const open_leaf *leaf, int picks)
{
    return picks > 1 && leaf->end - leaf->begin <= g->rows.capacity / (2 * g->hal->threads);
}

/* Leaves of few rows side by side, a thread each; the others one by one by all threads. */
static void divide_picked(tree_grower *g, int picks)
{
#pragma omp parallel for schedule(dynamic) num_threads(g->hal->threads) if (picks > 1)
    for (int i = 0; i < picks; ++i) {
        open_leaf *leaf = &g->leaf[g->pick[i]];
        if (is_small(g, leaf, picks)) {
            divide_rows(g, leaf, 1);
        }
    }
    for (int i = 0; i < picks; ++i) {
        open_leaf *leaf = &g->leaf[g->pick[i]];
        if (!is_small(g, leaf, picks)) {
            divide_rows(g, leaf, g->hal->threads);
        }
    }
}

/* The categories of a node's column that go right: those of its split's bins, and with missing values on the right
 * those that no row of the training has. */
static weft_status set_categories(const tree_grower *g, const tree_split *split, weft_tree *tree, tree_node *node)
{
    const tree_categories *categories = &g->cuts->categories;
    const uint8_t *bin = categories->bin + categories->first[split->feature];
    const int missing = g->bins->cells[split->feature] - 1;
    const int32_t codes = (int32_t)(categories->first[split->feature + 1] - categories->first[split->feature]);
    WEFT_TRY(tree_add_set(tree, codes, node));
    for (int32_t code = 0; code < codes; ++code) {
        const int at = bin[code] < categories->bins[split->feature] ? bin[code] : missing;
        if (!split_goes_left(split, missing, at)) {
            tree_set_insert(tree, node, code);
        }
    }
    return WEFT_OK;
}

/* The node of a leaf, whose rows are divided, becomes an inner one, with two new leaves behind all others. */
static weft_status divide(tree_grower *g, int which, weft_tree *tree)
{
    const open_leaf leaf = g->leaf[which];
    const tree_split *split = &leaf.split;
    const int32_t cut = g->cuts->first[split->feature] + split->bin;
    const int64_t middle = leaf.middle;
    WEFT_TRY(add_node(g, tree, leaf.node));
    WEFT_TRY(add_node(g, tree, leaf.node));
    tree_node *node = &tree->node[leaf.node];
    node->left = tree->nodes - 2;
    node->feature = split->feature;
    node->bin = split->bin;
    node->default_left = split->default_left;
    node->gain = (float)split->gain;
    if (split->by_category) {
        WEFT_TRY(set_categories(g, split, tree, node));
    } else {
        node->value = cut < g->cuts->first[split->feature + 1] ? g->cuts->value[cut] : INFINITY;
    }
    open_leaf left = {.node = node->left, .depth = leaf.depth + 1, .begin = leaf.begin, .end = middle, .slot = -1};
    open_leaf right = {.node = node->left + 1, .depth = leaf.depth + 1, .begin = middle, .end = leaf.end, .slot = -1};
    split_bounds(&g->rule, &leaf.at, split, &left.at, &right.at);
    left.at.sums = split->left;
    right.at.sums.gradient = leaf.at.sums.gradient - split->left.gradient;
    right.at.sums.hessian = leaf.at.sums.hessian - split->left.hessian;
    WEFT_TRY(add_leaf(g, &left));
    return add_leaf(g, &right);
}

/* Rows of all ranks in leaves first .. leaves - 1. */
static weft_status count_rows(tree_grower *g, int first)
{
    int64_t *rows = NULL;
    const int count = g->leaves - first;
    WEFT_TRY(comm_agree(g->comm, WEFT_NEW(&rows, count, WEFT_MEM_WORKSPACE)));
    for (int i = 0; i < count; ++i) {
        rows[i] = g->leaf[first + i].end - g->leaf[first + i].begin;
    }
    const weft_status status = comm_allreduce(g->comm, rows, count, WEFT_DTYPE_I64, COMM_SUM);
    for (int i = 0; status == WEFT_OK && i < count; ++i) {
        g->leaf[first + i].rows = rows[i];
    }
    weft_free(rows);
    return status;
}

/* Histograms of two children: the smaller is to be built, the larger has what is left of their parent's. */
static weft_status plan_children(tree_grower *g, int parent, int left, histogram_node *node, int *nodes)
{
    open_leaf *from = &g->leaf[parent], *child = &g->leaf[left];
    open_leaf *less = child[0].rows <= child[1].rows ? child : child + 1, *more = less == child ? child + 1 : child;
    if (!may_be_split(g, child)) {
        drop_slot(g, from);
        return WEFT_OK;
    }
    WEFT_TRY(histograms_take(&g->histograms, &less->slot));
    node[(*nodes)++] =
        (histogram_node){.begin = less->begin, .end = less->end, .slot = less->slot, .whole = from->slot};
    more->slot = from->slot;
    from->slot = -1;
    return WEFT_OK;
}

/* Builds the histograms of the children of all picked leaves, which stand from `first` on. */
static weft_status build_children(tree_grower *g, int picks, int first)
{
    histogram_node *node = NULL;
    int nodes = 0;
    weft_status status;
    weft_status local = WEFT_NEW(&node, picks, WEFT_MEM_WORKSPACE);
    for (int i = 0; i < picks && local == WEFT_OK; ++i) {
        local = plan_children(g, g->pick[i], first + 2 * i, node, &nodes);
    }
    COMM_AGREED_GOTO(comm_agree(g->comm, local), local, status, done);
    status = histograms_build(&g->histograms, &g->rows.row, &g->pair, node, nodes);
done:
    weft_free(node);
    return status;
}

/* Splits picked leaves. Split leaves have no gain any more, and their node is an inner one. */
static weft_status split_picked(tree_grower *g, int picks, weft_tree *tree)
{
    const int first = g->leaves;
    weft_status status = WEFT_OK;
    divide_picked(g, picks);
    for (int i = 0; status == WEFT_OK && i < picks; ++i) {
        status = divide(g, g->pick[i], tree);
    }
    WEFT_TRY(comm_agree(g->comm, status));
    WEFT_TRY(count_rows(g, first));
    for (int i = 0; i < picks; ++i) {
        g->leaf[g->pick[i]].split.gain = 0.0;
    }
    WEFT_TRY(build_children(g, picks, first));
    return find_splits(g, first, tree);
}

static weft_status grow_leaves(tree_grower *g, weft_tree *tree)
{
    int ends = 1; /* leaves of the tree so far */
    for (;;) {
        const int most = g->growth.leaves > 0 ? g->growth.leaves - ends : INT32_MAX;
        while (g->pick_capacity < g->leaves + 1) {
            WEFT_TRY(
                grow_array((void **)&g->pick, sizeof *g->pick, g->pick_capacity, &g->pick_capacity, WEFT_MEM_TREES));
        }
        const int picks = pick_leaves(g, most);
        if (picks == 0) {
            return WEFT_OK;
        }
        WEFT_TRY(split_picked(g, picks, tree));
        ends += picks;
    }
}

/* ---- the finished tree ------------------------------------------------------------------------------------------- */

/* Is it a leaf of the finished tree? Its rows on this rank stand together. */
static bool is_last(const weft_tree *tree, const open_leaf *leaf)
{
    return tree->node[leaf->node].left < 0;
}

/* Rows that the tree was not grown on find their leaf from the root. */
static void walk_rows(const tree_grower *g, const weft_tree *tree, int32_t *leaf)
{
    const uint8_t *bin = g->bins->bin.data;
#pragma omp parallel for schedule(static) num_threads(g->hal->threads)
    for (int64_t i = 0; i < g->data->rows; ++i) {
        int32_t at = leaf[i] < 0 ? 0 : leaf[i];
        while (tree->node[at].left >= 0) {
            const bool left = row_goes_left(&g->leaf[at].split, g->bins, bin + i * g->bins->bin.ld);
            at = tree->node[at].left + (left ? 0 : 1);
        }
        leaf[i] = at;
    }
}

/* [out] leaf: where each row of this rank goes. */
static void assign_rows(const tree_grower *g, const weft_tree *tree, int32_t *leaf)
{
    const int32_t *row = g->rows.row.data;
    const bool others = g->listed < g->data->rows;
    if (others) {
        memset(leaf, 0xff, (size_t)g->data->rows * sizeof *leaf);
    }
#pragma omp parallel for schedule(dynamic) num_threads(g->hal->threads)
    for (int l = 0; l < g->leaves; ++l) {
        for (int64_t i = g->leaf[l].begin; is_last(tree, &g->leaf[l]) && i < g->leaf[l].end; ++i) {
            leaf[row[i]] = g->leaf[l].node;
        }
    }
    if (others) {
        walk_rows(g, tree, leaf);
    }
}

/* Sums of the unrounded numbers of the listed rows, from the leaves up to the root; and what leaves add. */
static weft_status set_leaves(const tree_grower *g, const float *gradient, const float *hessian, weft_tree *tree)
{
    const fixed_sum of[2] = {fixed_sum_of(g->most[0], g->all_rows), fixed_sum_of(g->most[1], g->all_rows)};
    const int32_t *row = g->rows.row.data;
    int64_t *sum = NULL;
    WEFT_TRY(comm_agree(g->comm, WEFT_NEW_ZERO(&sum, 2 * tree->nodes, WEFT_MEM_WORKSPACE)));
#pragma omp parallel for schedule(dynamic) num_threads(g->hal->threads)
    for (int l = 0; l < g->leaves; ++l) {
        int64_t leaf[2] = {0, 0};
        for (int64_t i = g->leaf[l].begin; is_last(tree, &g->leaf[l]) && i < g->leaf[l].end; ++i) {
            leaf[0] += fixed_of(&of[0], (double)gradient[row[i]] * factor_of(g, row[i]));
            leaf[1] += fixed_of(&of[1], (double)hessian[row[i]] * factor_of(g, row[i]));
        }
        memcpy(sum + 2 * g->leaf[l].node, leaf, sizeof leaf);
    }
    const weft_status status = comm_allreduce(g->comm, sum, 2 * (int64_t)tree->nodes, WEFT_DTYPE_I64, COMM_SUM);
    for (int32_t n = tree->nodes - 1; status == WEFT_OK && n >= 0; --n) {
        tree_node *node = &tree->node[n];
        const double g_sum = fixed_value(&of[0], sum[2 * n]);
        node->hessian = fixed_value(&of[1], sum[2 * n + 1]);
        node->weight = (float)(g->growth.rate * split_bounded_leaf(&g->rule, &g->leaf[n].at, g_sum, node->hessian));
        node->value = node->left < 0 ? node->weight : node->value;
        for (int i = 0; node->parent >= 0 && i < 2; ++i) {
            sum[2 * node->parent + i] += sum[2 * n + i];
        }
    }
    weft_free(sum);
    return status;
}

weft_status grower_grow(tree_grower *g, const float *gradient, const float *hessian, uint64_t seed, int number,
                        weft_tree *tree, int32_t *leaf)
{
    *tree = (weft_tree){0};
    g->seed = seed;
    weft_status status = draw_rows(g, gradient, number);
    status = status == WEFT_OK ? round_pairs(g, gradient, hessian) : status;
    status = status == WEFT_OK ? plant(g, number, tree) : status;
    status = status == WEFT_OK ? grow_leaves(g, tree) : status;
    for (int l = 0; l < g->leaves; ++l) {
        drop_slot(g, &g->leaf[l]);
    }
    status = status == WEFT_OK ? set_leaves(g, gradient, hessian, tree) : status;
    if (status != WEFT_OK) {
        tree_destroy(tree);
        return status;
    }
    assign_rows(g, tree, leaf);
    return WEFT_OK;
}

/* ---- life -------------------------------------------------------------------------------------------------------- */

static weft_status allocate(tree_grower *g)
{
    int64_t count = 0;
    for (int64_t i = 0; i < g->data->rows; ++i) {
        count += g->counts[i] != 0;
    }
    g->all_rows = count;
    WEFT_CHECK(g->data->rows <= INT32_MAX, WEFT_ERR_UNSUPPORTED,
               "%lld rows on one rank: trees take up to %d, so take more ranks", (long long)g->data->rows, INT32_MAX);
    WEFT_TRY(node_rows_create(g->hal, count, &g->rows));
    WEFT_TRY(tensor_create(g->hal, WEFT_DTYPE_I32, g->data->rows, 1, WEFT_MEM_TREES, &g->pair));
    WEFT_TRY(WEFT_NEW(&g->take, g->data->rows, WEFT_MEM_TREES));
    return WEFT_NEW(&g->use, g->data->columns, WEFT_MEM_TREES);
}

weft_status grower_create(weft_comm *comm, const tree_columns *data, const tree_bins *bins, const tree_cuts *cuts,
                          const uint8_t *counts, const tree_growth *growth, tree_grower **grower)
{
    tree_grower *g = NULL;
    *grower = NULL;
    assert(growth->depth > 0 || growth->leaves > 0);
    WEFT_TRY(comm_agree(comm, WEFT_NEW_ZERO(&g, 1, WEFT_MEM_TREES)));
    *g = (tree_grower){.comm = comm,
                       .hal = bins->bin.hal,
                       .data = data,
                       .bins = bins,
                       .cuts = cuts,
                       .counts = counts,
                       .growth = *growth,
                       .rule = {.lambda = growth->lambda,
                                .alpha = growth->alpha,
                                .min_hessian = growth->min_hessian,
                                .direction = growth->direction,
                                .categories = cuts->categories.bins,
                                .one_hot = growth->one_hot,
                                .smooth = growth->smooth,
                                .category_l2 = growth->category_l2,
                                .min_gain = fmax(growth->min_gain, LEAST_GAIN)}};
    weft_status status = comm_agree(comm, allocate(g));
    status = status == WEFT_OK ? comm_allreduce(comm, &g->all_rows, 1, WEFT_DTYPE_I64, COMM_SUM) : status;
    status = status == WEFT_OK ? histograms_create(comm, bins, &g->histograms) : status;
    if (status != WEFT_OK) {
        grower_destroy(g);
        return status;
    }
    *grower = g;
    return WEFT_OK;
}

void grower_destroy(tree_grower *g)
{
    if (g != NULL) {
        histograms_destroy(&g->histograms);
        node_rows_destroy(&g->rows);
        tensor_destroy(&g->pair);
        WEFT_FREE_ALL(g->use, g->take, g->leaf, g->pick, g);
    }
}

uint64_t grower_bytes(const tree_grower *g)
{
    return histograms_bytes(&g->histograms) + (uint64_t)g->rows.capacity * 2 * sizeof(int32_t) +
           (uint64_t)g->pair.rows * sizeof(int32_t) + (uint64_t)g->leaf_capacity * sizeof *g->leaf;
}
