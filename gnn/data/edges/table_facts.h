/* gnn/data/edges/table_facts.h: what can be known of a table of vertices before the vertices are counted. */
#pragma once

#include "gnn/data/edges/edge_columns.h"

/* Rows of a table: of a .npy or .npz its header tells, text is counted. -1: it does not show (several arrays, splits of
 * [k, n], empty lines, a folder), or `path` is no table at all, which whoever reads it will tell. */
weft_status table_facts_rows(const char *path, bool split, int64_t *rows);
/* Is it quick to tell? */
bool table_facts_quick(const char *path);

/* Of a text with a column of ids: *columns has it as both ends, for edge_columns_free. False: there is none.
 * WEFT_ERR_DATA: its header cannot be understood. */
weft_status table_facts_ids(const char *path, edge_columns *columns, bool *found);
