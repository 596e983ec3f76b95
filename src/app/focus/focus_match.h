/* app/focus/focus_match.h: which row of the data an item of an index is. */
#pragma once

#include "app/workload/workload.h"
#include "focus/index/focus_index.h"

/* A row of data by the name of its file. */
typedef struct focus_named_row {
    const char *name;
    int64_t row;
} focus_named_row;

/* [out] by_name: [work->held.total] sorted by name, for weft_free; NULL where rows have no names. WEFT_ERR_DATA: two
 * rows have one name. Rank 0. */
weft_status focus_rows_by_name(const workload *work, focus_named_row **by_name);
/* Returns the row of this name, or -1. */
int64_t focus_row_of(const focus_named_row *by_name, int64_t rows, const char *name);
/* WEFT_ERR_DATA: the data are others than those of the index, which has no names, or a file that both have has other
 * contents, or what moves in them is no longer the same. path: of the index. Rank 0. */
weft_status focus_match_check(const focus_index *index, const char *path, const workload *work,
                              const focus_named_row *by_name);
