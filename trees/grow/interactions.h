/*
 * trees/grow/interactions.h: which columns may stand together on the way from the root to a leaf.
 *
 * Below the columns of a path those of every group that has all of them may be used, and the path's own. At the root
 * all may be; a column of no group thus stands alone on its path.
 */
#pragma once

#include <stdint.h>

typedef struct interaction_groups {
    const uint8_t *has; /* [groups, columns] not 0: the group has the column */
    int groups;         /* 0: any columns may stand together */
} interaction_groups;

/* path: [columns] 1: a node above divides by the column, else 0. [out] use: [columns] those that may divide the node,
 * of allowed[columns] and of the path. */
void interactions_allow(const interaction_groups *groups, const uint8_t *path, int columns, const uint8_t *allowed,
                        uint8_t *use);
