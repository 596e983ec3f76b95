/* app/gnn/options/gnn_words.h: lists of the table of graph options; each ends with a row whose last pointer is NULL. */
#pragma once

#include "app/gnn/options/gnn_options.h"

extern const option_recipe_setting gnn_recipes[];
extern const option_foreign gnn_foreigns[];
extern const option_foreign_value gnn_foreign_values[];
extern const option_synonym gnn_synonyms[];
