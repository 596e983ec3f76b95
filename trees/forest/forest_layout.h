/* trees/forest/forest_layout.h: foreign trees in the order of nodes that trees of this program have. */
#pragma once

#include "trees/forest/forest.h"

/*
 * Lays the nodes out anew, parents first and siblings together, unless they lie so: the walk meets every node that the
 * root reaches, and refuses one that it meets twice, so that the result is a tree. Nodes that the root does not reach
 * are left out, as XGBoost leaves those in the file that it has cut off. right: [tree->nodes] right children; the left
 * ones are in the nodes, -1 for none. name, number: of the file and the tree, for messages. WEFT_ERR_DATA: it is no
 * tree.
 */
weft_status forest_lay_out(const char *name, int number, int columns, weft_tree *tree, const int32_t *right);
