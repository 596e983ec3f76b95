/*
 * trees/grow/grow_order.c: which nodes are divided next, and in which order they enter the tree.
 *
 * Leaf-wise growth divides the leaf of the largest gain, until the tree has its leaves. Nodes of few rows cannot keep
 * the threads busy one by one, and on many ranks each would wait for messages of its own, so the likely next ones are
 * divided together:
 *
 *      place:  while the leaf of the largest gain is divided already, its children enter the tree
 *      pick:   leaves that gain at least what the last division of the tree before gained, and if these are few, by
 *              falling gain a sixteenth of those that are still to be made
 *
 * The order of the tree is that of the gains alone, so a tree does not depend on what is divided together. A node's
 * turn comes after its parent's, so a node counts with the least gain on its way down from the tree. Of 255 leaves some
 * 40 batches are made, and some 5 % of the divisions are wasted (200,000 rows of collisions).
 *
 * Growth by levels divides all nodes of a level that fit, those of the largest gains if there is no room for all.
 */
#include <math.h>
#include <stdlib.h>

#include "base/grow.h"
#include "trees/grow/grow_state.h"

/* The share of the leaves still to be made that is divided together in any case. */
enum { PART = 16 };

/* A node that may be divided next. */
typedef struct candidate {
    double gain; /* the least of its own and of those above it that are not in the tree yet */
    int index;
} candidate;

/* ---- places in the tree ------------------------------------------------------------------------------------------ */

static bool comes_before(const tree_grower *g, int a, int b)
{
    const grown_node *x = &g->grown[a], *y = &g->grown[b];
    return x->split.gain != y->split.gain ? x->split.gain > y->split.gain : x->node < y->node;
}

/* A leaf of the tree waits for its turn. */
static weft_status put_open(tree_grower *g, int index)
{
    WEFT_TRY(grow_array((void **)&g->open, sizeof *g->open, g->opens, &g->open_capacity, WEFT_MEM_TREES));
    int at = g->opens++;
    for (; at > 0 && comes_before(g, index, g->open[(at - 1) / 2]); at = (at - 1) / 2) {
        g->open[at] = g->open[(at - 1) / 2];
    }
    g->open[at] = index;
    return WEFT_OK;
}

static void drop_first_open(tree_grower *g)
{
    const int last = g->open[--g->opens];
    int at = 0;
    for (int child = 1; child < g->opens; child = 2 * at + 1) {
        child += child + 1 < g->opens && comes_before(g, g->open[child + 1], g->open[child]) ? 1 : 0;
        if (!comes_before(g, g->open[child], last)) {
            break;
        }
        g->open[at] = g->open[child];
        at = child;
    }
    g->open[at] = last;
}

/* A grown node becomes the last leaf of the tree. */
static weft_status add_leaf(tree_grower *g, int index, weft_tree *tree)
{
    grown_node *grown = &g->grown[index];
    const int32_t parent = grown->parent >= 0 ? g->grown[grown->parent].node : -1;
    WEFT_TRY(grow_array((void **)&tree->node, sizeof *tree->node, tree->nodes, &g->node_capacity, WEFT_MEM_TREES));
    WEFT_TRY(grow_array((void **)&g->place, sizeof *g->place, tree->nodes, &g->place_capacity, WEFT_MEM_TREES));
    g->place[tree->nodes] = index;
    grown->node = tree->nodes;
    tree->node[tree->nodes++] = (tree_node){.left = -1, .parent = parent};
    return grown->split.gain > 0.0 && g->growth.leaf_wise ? put_open(g, index) : WEFT_OK;
}

/* The categories of a node's column that go right: those of its split's bins, and with missing values on the right
 * those that no row of the training has. */
static weft_status set_categories(const tree_grower *g, const tree_split *split, weft_tree *tree, tree_node *node)
{
    const tree_categories *categories = &g->cuts->categories;
    const uint16_t *bin = categories->bin + categories->first[split->feature];
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

/* A leaf of the tree, which is divided, becomes an inner node, with two new leaves behind all others. */
static weft_status place_children(tree_grower *g, int index, weft_tree *tree)
{
    const grown_node *grown = &g->grown[index];
    const tree_split *split = &grown->split;
    const int32_t cut = g->cuts->first[split->feature] + split->bin;
    WEFT_TRY(add_leaf(g, grown->left, tree));
    WEFT_TRY(add_leaf(g, grown->left + 1, tree));
    tree_node *node = &tree->node[grown->node];
    node->left = tree->nodes - 2;
    node->feature = split->feature;
    node->default_left = split->default_left;
    node->gain = (float)split->gain;
    g->ends += 1;
    g->ahead -= 1;
    if (split->by_category) {
        return set_categories(g, split, tree, node);
    }
    node->value = cut < g->cuts->first[split->feature + 1] ? g->cuts->value[cut] : INFINITY;
    return WEFT_OK;
}

static bool has_room(const tree_grower *g)
{
    return g->growth.leaves == 0 || g->ends < g->growth.leaves;
}

weft_status grow_order_begin(tree_grower *g, weft_tree *tree)
{
    g->ends = 1;
    g->least = g->last;
    g->ahead = g->opens = g->node_capacity = 0;
    return add_leaf(g, 0, tree);
}

weft_status grow_order_place(tree_grower *g, weft_tree *tree)
{
    while (g->growth.leaf_wise && g->opens > 0 && has_room(g) && g->grown[g->open[0]].left >= 0) {
        const int next = g->open[0];
        drop_first_open(g);
        g->last = g->grown[next].split.gain;
        WEFT_TRY(place_children(g, next, tree));
    }
    for (int index = 0; !g->growth.leaf_wise && g->ahead > 0; ++index) { /* the level that is just divided */
        const grown_node *grown = &g->grown[index];
        if (grown->left >= 0 && tree->node[grown->node].left < 0) {
            WEFT_TRY(place_children(g, index, tree));
        }
    }
    return WEFT_OK;
}

/* ---- the next nodes ---------------------------------------------------------------------------------------------- */

static int compare_gains(const void *a, const void *b)
{
    const candidate *x = a, *y = b;
    return x->gain != y->gain ? (x->gain > y->gain ? -1 : 1) : x->index - y->index;
}

static int compare_indices(const void *a, const void *b)
{
    const int *x = a, *y = b;
    return *x - *y;
}

static bool is_candidate(const tree_grower *g, int index, int depth)
{
    const grown_node *node = &g->grown[index];
    return node->left < 0 && node->split.gain > 0.0 && (g->growth.leaf_wise || node->depth == depth);
}

/* The least depth of the nodes that may be divided. */
static int least_depth(const tree_grower *g)
{
    int depth = INT32_MAX;
    for (int i = 0; i < g->nodes; ++i) {
        const grown_node *node = &g->grown[i];
        depth = node->left < 0 && node->split.gain > 0.0 && node->depth < depth ? node->depth : depth;
    }
    return depth;
}

/* reach: [nodes] space. [out] list: [nodes]. Returns how many. */
static int list_candidates(const tree_grower *g, double *reach, candidate *list)
{
    const int depth = least_depth(g);
    int count = 0;
    for (int i = 0; i < g->nodes; ++i) {
        const grown_node *node = &g->grown[i];
        reach[i] = node->node < 0 ? fmin(node->split.gain, reach[node->parent]) : node->split.gain;
        if (is_candidate(g, i, depth)) {
            list[count++] = (candidate){reach[i], i};
        }
    }
    return count;
}

/* How many of the candidates, which come by falling gain, are divided together. */
static int batch(const tree_grower *g, const candidate *list, int candidates)
{
    const int room = g->growth.leaves == 0 ? candidates : g->growth.leaves - g->ends;
    const int most = candidates < room ? candidates : room;
    const int sure = room / PART > 1 ? room / PART : 1;
    int count = 0;
    if (!g->growth.leaf_wise || g->growth.leaves == 0) {
        return most;
    }
    while (count < most && (count < sure || (g->least > 0.0 && list[count].gain >= g->least))) {
        ++count;
    }
    return count;
}

weft_status grow_order_pick(tree_grower *g, int *picks)
{
    double *reach = NULL;
    candidate *list = NULL;
    *picks = 0;
    if (!has_room(g) || (g->growth.leaf_wise && g->opens == 0)) {
        return WEFT_OK;
    }
    weft_status status = WEFT_NEW(&reach, g->nodes, WEFT_MEM_WORKSPACE);
    status = status == WEFT_OK ? WEFT_NEW(&list, g->nodes, WEFT_MEM_WORKSPACE) : status;
    while (status == WEFT_OK && g->pick_capacity < g->nodes) {
        status = grow_array((void **)&g->pick, sizeof *g->pick, g->pick_capacity, &g->pick_capacity, WEFT_MEM_TREES);
    }
    if (status == WEFT_OK) {
        const int candidates = list_candidates(g, reach, list);
        qsort(list, (size_t)candidates, sizeof *list, compare_gains);
        *picks = batch(g, list, candidates);
        for (int i = 0; i < *picks; ++i) {
            g->pick[i] = list[i].index;
        }
        qsort(g->pick, (size_t)*picks, sizeof *g->pick, compare_indices);
    }
    WEFT_FREE_ALL(reach, list);
    return status;
}
