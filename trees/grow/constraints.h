/* trees/grow/constraints.h: what users demand of columns, by their names: directions and groups. */
#pragma once

#include "trees/data/tree_columns.h"
#include "trees/grow/interactions.h"

/*
 * text: "NAME:+1,NAME:-1", or a number for each column in their order, "(1,0,-1)" or "1,0,-1". flag: the option, for
 * messages. [out] direction: [data->columns] for weft_free; NULL where the text is empty. WEFT_ERR_USAGE: a name that
 * no column has or that stands twice, a number that is none of -1, 0 and 1, a column of categories. Local.
 */
weft_status constraints_directions(const char *flag, const char *text, const tree_columns *data, char *const *name,
                                   int8_t **direction);
/* text: "a,b;c,d". [out] has: for weft_free, what groups->has points to. WEFT_ERR_USAGE: a name that no column has, or
 * an empty group. Local. */
weft_status constraints_groups(const char *flag, const char *text, int columns, char *const *name, uint8_t **has,
                               interaction_groups *groups);
