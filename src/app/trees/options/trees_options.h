/* app/trees/options/trees_options.h: the ids of the options of jobs on tables, as app/options/app_options.h has those
 * of all jobs. */
#pragma once

#include "app/options/app_options.h"
#include "trees/tree_choices.h"

enum { TREES_TABLE = 3 };

#define OPTION_TABLE_FILE "app/trees/options/trees_table.def"
#define OPTION_TABLE_FROM OPTION_TABLE_FIRST(TREES_TABLE)
#define OPTION_TABLE_MARK OPT_BEFORE_TREES
#include "option/table_ids_body.h"

extern const option_table trees_option_table;
extern const option_foreign trees_foreigns[]; /* the last row's words are NULL */
