/* trees/grow/interactions.c: see trees/grow/interactions.h. */
#include "trees/grow/interactions.h"

#include <string.h>

/* Has a group all columns of the path to a node? */
static bool has_path(const uint8_t *has, const weft_tree *tree, int32_t node)
{
    for (int32_t up = tree->node[node].parent; up >= 0; up = tree->node[up].parent) {
        if (has[tree->node[up].feature] == 0) {
            return false;
        }
    }
    return true;
}

void interactions_allow(const interaction_groups *groups, const weft_tree *tree, int32_t node, int columns,
                        const uint8_t *allowed, uint8_t *use)
{
    if (groups->groups == 0 || tree->node[node].parent < 0) {
        memcpy(use, allowed, (size_t)columns);
        return;
    }
    memset(use, 0, (size_t)columns);
    for (int i = 0; i < groups->groups; ++i) {
        const uint8_t *has = groups->has + (int64_t)i * columns;
        const bool open = has_path(has, tree, node);
        for (int c = 0; open && c < columns; ++c) {
            use[c] |= has[c] != 0 && allowed[c] != 0;
        }
    }
    for (int32_t up = tree->node[node].parent; up >= 0; up = tree->node[up].parent) {
        use[tree->node[up].feature] = 1;
    }
}
