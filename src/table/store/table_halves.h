/*
 * table/store/table_halves.h: columns of files that stand in memory by halves, for callers that need few at a time.
 *
 * Columns that are no features, and those of words, are few or small to the caller, and stay. The others are cut in the
 * order of the file where half of their bytes are reached. Files stay open, and each half is a pass over them that
 * leaves all other columns out.
 */
#pragma once

#include "table/store/table_pass.h"
#include "table/table.h"

/* Returns true if columns wait: those of the rank with most rows, with what the caller takes beside, pass the room. */
bool halves_needed(const table_request *request, const table_schema *schema, int64_t rows, int ranks);
/* Takes the files, reads the columns that stay, and leaves the others. Free with halves_close, also after a failure.
 * Local. */
weft_status halves_open(table_files *files, weft_table *table);
/* The block that the standing half points into; NULL: none stands. */
void *halves_block(const weft_table *table);
void halves_close(weft_table *table);
