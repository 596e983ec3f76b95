/*
 * trees/grow/interactions.h: which columns may stand together on the way from the root to a leaf.
 *
 * Below the columns of a path those of every group that has all of them may be used, and the path's own. At the root
 * all may be; a column of no group thus stands alone on its path.
 */
#pragma once

#include "trees/forest/forest.h"

typedef struct interaction_groups {
    const uint8_t *has; /* [groups, columns] not 0: the group has the column */
    int groups;         /* 0: any columns may stand together */
} interaction_groups;

/* [out] use: [columns] from allowed[columns], those that may be used at a node of a tree that grows. */
void interactions_allow(const interaction_groups *groups, const weft_tree *tree, int32_t node, int columns,
                        const uint8_t *allowed, uint8_t *use);
