/* trees/forest/forest_walk.c: trees as the kernels of trees/forest/forest_walk.h have them. */
#include "trees/forest/forest_walk.h"

#include <math.h>

#include "base/integer/integers.h"

static bool fits(const weft_tree *tree, int columns)
{
    bool near = columns <= WALK_COLUMNS && tree->words == 0;
    for (int32_t n = 0; n < tree->nodes && near; ++n) {
        near = tree->node[n].left < n + WALK_STEPS;
    }
    return near;
}

static walk_node node_of(const tree_node *from, int32_t at)
{
    const uint32_t missing = from->default_left ? 0 : WALK_MISSING;
    return from->left < 0 ? (walk_node){.threshold = NAN}
                          : (walk_node){.threshold = from->value,
                                        .link = (uint32_t)from->feature | missing |
                                                (uint32_t)(from->left - at) << WALK_STEP_SHIFT};
}

static void put_node(walk_tree *to, int level, int n, walk_node node)
{
    if (level < WALK_TURNS) {
        to->top[(1 << level) - 1 + n] = node;
        return;
    }
    to->threshold[(1 << level) - WALK_FIRST + n] = node.threshold;
    to->link[(1 << level) - WALK_FIRST + n] = node.link;
}

/* Where a place of a level lies in the tree; below a leaf all places are the leaf. */
static void put_top(const weft_tree *tree, walk_tree *to)
{
    to->start[0] = 0;
    for (int level = 0; level < to->levels; ++level) {
        for (int n = (1 << level) - 1; n >= 0; --n) { /* from the end, so that a place is read before it is written */
            const int32_t at = to->start[n], left = tree->node[at].left;
            put_node(to, level, n, node_of(&tree->node[at], at));
            to->start[2 * n] = left < 0 ? at : left;
            to->start[2 * n + 1] = left < 0 ? at : left + 1;
        }
    }
}

/* Splits on the way to the deepest leaf; children stand behind their parents, so one pass finds it. */
static weft_status find_depth(const weft_tree *tree, int *deepest)
{
    int *depth = NULL;
    WEFT_TRY(WEFT_NEW_ZERO(&depth, tree->nodes, WEFT_MEM_WORKSPACE));
    *deepest = 0;
    for (int32_t n = 0; n < tree->nodes; ++n) {
        const int32_t left = tree->node[n].left;
        if (left >= 0) {
            depth[left] = depth[left + 1] = depth[n] + 1;
        }
        *deepest = (int)larger(*deepest, depth[n]);
    }
    weft_free(depth);
    return WEFT_OK;
}

/* node, value: [nodes] for its own. */
static weft_status put_tree(const weft_tree *tree, int columns, walk_node *node, float *value, walk_tree *to)
{
    int depth;
    WEFT_TRY(find_depth(tree, &depth));
    *to =
        (walk_tree){.levels = (int)smaller(depth, WALK_TOP), .fits = fits(tree, columns), .node = node, .value = value};
    to->steps = depth - to->levels;
    for (int32_t n = 0; n < tree->nodes; ++n) {
        value[n] = tree->node[n].value;
        node[n] = node_of(&tree->node[n], n);
    }
    put_top(tree, to);
    return WEFT_OK;
}

weft_status walk_forest_create(const weft_forest *forest, int first, int end, walk_forest *to)
{
    int64_t nodes = 0;
    *to = (walk_forest){0};
    for (int t = first; t < end; ++t) {
        nodes += forest->tree[t].nodes;
    }
    WEFT_TRY(WEFT_NEW(&to->tree, end - first, WEFT_MEM_WORKSPACE));
    WEFT_TRY(WEFT_NEW(&to->node, nodes, WEFT_MEM_WORKSPACE));
    WEFT_TRY(WEFT_NEW(&to->value, nodes, WEFT_MEM_WORKSPACE));
    nodes = 0;
    for (int t = first; t < end; ++t) {
        WEFT_TRY(
            put_tree(&forest->tree[t], forest->columns, to->node + nodes, to->value + nodes, &to->tree[t - first]));
        nodes += forest->tree[t].nodes;
    }
    return WEFT_OK;
}

void walk_forest_destroy(walk_forest *forest)
{
    WEFT_FREE_ALL(forest->tree, forest->node, forest->value);
    *forest = (walk_forest){0};
}
