/* trees/forest/forest_layout.c: see trees/forest/forest_layout.h. */
#include "trees/forest/forest_layout.h"

#include "trees/forest/forest_format.h"

/* Returns true if siblings stand together and behind their parents already. */
static bool is_laid_out(const weft_tree *tree, const int32_t *right)
{
    for (int32_t n = 0; n < tree->nodes; ++n) {
        if (tree->node[n].left >= 0 && (tree->node[n].left <= n || right[n] != tree->node[n].left + 1)) {
            return false;
        }
    }
    return true;
}

/* Every node goes back to where it stood: trees that were read and written again have the same bytes, in whatever order
 * their leaves were split. from: [to->nodes] where each stood; all of the tree's nodes were met. */
static void put_back(weft_tree *tree, const int32_t *from, weft_tree *to)
{
    for (int32_t n = 0; n < to->nodes; ++n) {
        tree_node *node = &tree->node[from[n]];
        *node = to->node[n];
        node->left = node->left < 0 ? -1 : from[node->left];
        node->parent = node->parent < 0 ? -1 : from[node->parent];
    }
    tree_node *laid = to->node;
    to->node = tree->node;
    tree->node = laid;
}

weft_status forest_lay_out(const char *name, int number, int columns, weft_tree *tree, const int32_t *right)
{
    weft_tree to = {0};
    int32_t *from = NULL;
    uint8_t *met = NULL;
    weft_status status = WEFT_NEW(&to.node, tree->nodes, WEFT_MEM_TREES);
    status = status == WEFT_OK ? WEFT_NEW(&from, tree->nodes, WEFT_MEM_TREES) : status;
    WEFT_TRY_GOTO(status == WEFT_OK ? WEFT_NEW_ZERO(&met, tree->nodes, WEFT_MEM_TREES) : status, status, done);
    to.node[to.nodes++] = (tree_node){.parent = -1};
    from[0] = 0;
    met[0] = 1;
    for (int32_t n = 0; n < to.nodes; ++n) {
        const tree_node *node = &tree->node[from[n]];
        const int32_t child[2] = {node->left, right[from[n]]}, parent = to.node[n].parent;
        const bool leaf = child[0] < 0;
        to.node[n] = *node;
        to.node[n].parent = parent;
        WEFT_CHECK_GOTO(leaf == (child[1] < 0) && child[0] < tree->nodes && (leaf || node->feature < columns), status,
                        done, WEFT_ERR_DATA,
                        "%s: tree %d, node %d: has one child, or a column or child that is not there", name, number,
                        from[n]);
        for (int i = 0; !leaf && i < 2; ++i) {
            WEFT_CHECK_GOTO(met[child[i]]++ == 0, status, done, WEFT_ERR_DATA,
                            "%s: tree %d: node %d has two parents: it is no tree", name, number, child[i]);
            from[to.nodes] = child[i];
            to.node[to.nodes++] = (tree_node){.parent = n};
        }
        to.node[n].left = leaf ? -1 : to.nodes - 2;
        to.node[n].default_left = !leaf && node->default_left;
        if (!leaf && node->set_words == 0 && node->value >= FOREST_ABOVE_ALL) {
            to.node[n].value = INFINITY;
        }
    }
    if (to.nodes == tree->nodes && is_laid_out(tree, right)) {
        put_back(tree, from, &to);
    }
    weft_free(tree->node);
    to.word = tree->word;
    to.words = tree->words;
    *tree = to;
    to.node = NULL;
done:
    WEFT_FREE_ALL(to.node, from, met);
    return status;
}
