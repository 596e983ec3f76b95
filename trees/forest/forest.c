/* trees/forest/forest.c: see trees/forest/forest.h. */
#include "trees/forest/forest.h"

#include <assert.h>
#include <string.h>

#include "base/grow.h"

weft_status forest_create(int columns, int outputs, weft_forest *forest)
{
    assert(outputs >= 1 && outputs <= FOREST_OUTPUTS_MAX);
    *forest = (weft_forest){.columns = columns, .outputs = outputs};
    return WEFT_NEW_ZERO(&forest->base, outputs, WEFT_MEM_TREES);
}

void tree_destroy(weft_tree *tree)
{
    WEFT_FREE_ALL(tree->node, tree->word);
    *tree = (weft_tree){0};
}

/* Words that a tree with this many has room for: a power of two, so that sets are added in linear time. */
static size_t room_for(int32_t words)
{
    size_t room = words > 0 ? 8 : 0;
    while (room < (size_t)words) {
        room *= 2;
    }
    return room;
}

weft_status tree_add_set(weft_tree *tree, int32_t codes, tree_node *node)
{
    const int32_t words = codes / 32 + (codes % 32 != 0 || codes == 0);
    WEFT_CHECK(tree->words <= INT32_MAX - words, WEFT_ERR_UNSUPPORTED,
               "a tree's sets of categories take more than %d words", INT32_MAX);
    const size_t room = room_for(tree->words + words);
    WEFT_TRY(room == room_for(tree->words)
                 ? WEFT_OK
                 : weft_realloc((void **)&tree->word, room, sizeof *tree->word, WEFT_MEM_TREES));
    memset(tree->word + tree->words, 0, (size_t)words * sizeof *tree->word);
    node->set = tree->words;
    node->set_words = words;
    tree->words += words;
    return WEFT_OK;
}

static weft_status copy_tree(const weft_tree *from, weft_tree *to)
{
    *to = (weft_tree){.nodes = from->nodes, .words = from->words};
    WEFT_TRY(WEFT_NEW(&to->node, to->nodes, WEFT_MEM_TREES));
    memcpy(to->node, from->node, (size_t)to->nodes * sizeof *to->node);
    if (from->words > 0) {
        WEFT_TRY(WEFT_NEW(&to->word, room_for(to->words), WEFT_MEM_TREES));
        memcpy(to->word, from->word, (size_t)to->words * sizeof *to->word);
    }
    return WEFT_OK;
}

void forest_cut(weft_forest *forest, int trees)
{
    while (forest->trees > trees) {
        tree_destroy(&forest->tree[--forest->trees]);
    }
}

void forest_destroy(weft_forest *forest)
{
    forest_cut(forest, 0);
    WEFT_FREE_ALL(forest->base, forest->tree);
    *forest = (weft_forest){0};
}

weft_status forest_add(weft_forest *forest, weft_tree *tree)
{
    WEFT_TRY(
        grow_array((void **)&forest->tree, sizeof *forest->tree, forest->trees, &forest->capacity, WEFT_MEM_TREES));
    forest->tree[forest->trees++] = *tree;
    *tree = (weft_tree){0};
    return WEFT_OK;
}

weft_status forest_copy(const weft_forest *from, int trees, weft_forest *to)
{
    assert(trees <= from->trees);
    WEFT_TRY(forest_create(from->columns, from->outputs, to));
    memcpy(to->base, from->base, (size_t)from->outputs * sizeof *to->base);
    for (int t = 0; t < trees; ++t) {
        weft_tree tree = {0};
        weft_status status = copy_tree(&from->tree[t], &tree);
        status = status == WEFT_OK ? forest_add(to, &tree) : status;
        tree_destroy(&tree);
        WEFT_TRY(status);
    }
    return WEFT_OK;
}

int32_t tree_leaf(const weft_tree *tree, const float *value)
{
    int32_t at = 0;
    while (tree->node[at].left >= 0) {
        const tree_node *node = &tree->node[at];
        at = node->left + (tree_goes_left(tree, node, value[node->feature]) ? 0 : 1);
    }
    return at;
}
