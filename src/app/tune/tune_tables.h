/* app/tune/tune_tables.h: the files that --table names. */
#pragma once

#include "base/status.h"

typedef struct tune_tables {
    char **path; /* [count] */
    int count, room;
} tune_tables;

/* text: files separated by commas, or a folder: the tables of its spaces.json, in the order in which they stand
 * there. WEFT_ERR_USAGE, WEFT_ERR_DATA. tune_tables_free in any case. */
weft_status tune_tables_find(const char *text, tune_tables *tables);
void tune_tables_free(tune_tables *tables);
