/*
 * gnn/data/build/csr_rows.h: one row of a CSR: its ids sorted, duplicates removed. In place, O(count) for any input: no
 * comparison sort that a crafted file could drive into its worst case.
 */
#pragma once

#include <stdint.h>

/* Sort a[count] of ids 0 .. vertices - 1 and move the distinct ones to the front; returns how many. */
int64_t csr_row_finish(int32_t *a, int64_t count, int64_t vertices);
