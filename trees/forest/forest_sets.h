/* trees/forest/forest_sets.h: sets of categories in XGBoost's JSON: four arrays of a tree, of which one lists the codes
 * of all nodes and three say whose they are. */
#pragma once

#include "io/json.h"
#include "trees/forest/forest.h"

void forest_sets_write(json_writer *json, const weft_tree *tree);
/* Gives nodes their sets. tree: its nodes in the order of the file. name, number of the tree: for messages.
 * WEFT_ERR_DATA: nodes, lengths or codes that do not fit together. WEFT_ERR_UNSUPPORTED: a code of TREE_CODES_MAX or
 * above. */
weft_status forest_sets_read(const char *name, int number, const json_value *object, weft_tree *tree);
