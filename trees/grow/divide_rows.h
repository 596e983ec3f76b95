/* trees/grow/divide_rows.h: the rows of a node go left or right, by their bins in one column. */
#pragma once

#include <stdint.h>

#include "base/isa.h"

enum { DIVIDE_BINS = 256 };

/*
 * row: [count] ascending. bin: of the column, by row; up to three bytes behind those of the rows are read. goes_left:
 * [DIVIDE_BINS] 1 or 0. [out] left, right: [count] those that go there, in their order, the rest undefined; left may be
 * `row`. Returns how many went left.
 */
typedef int64_t divide_kernel(const int32_t *row, int64_t count, const uint8_t *bin, const uint8_t *goes_left,
                              int32_t *left, int32_t *right);
divide_kernel divide_rows_base, divide_rows_avx512;
