/*
 * io/text/text_table.h: a whole file of numbers (.csv, .txt, also .gz and .xz) into one array.
 *
 * Columns are separated by commas, semicolons, blanks or tabs. Empty lines and lines that begin with # or % are
 * skipped; a first line that does not begin with a number is a header and skipped. Numbers are read in the C locale
 * whatever the program's. Parallel; the array grows by doubling when the row count is not known.
 */
#ifndef WEFT_IO_TEXT_TEXT_TABLE_H
#define WEFT_IO_TEXT_TEXT_TABLE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/alloc.h"
#include "base/status.h"

/*
 * [in/out] rows, columns   -1 = any, becomes the file's; else it must match (WEFT_ERR_DATA tells file and both)
 * [out] values             [rows, columns] row-major; weft_free. NULL when there are no rows
 * Errors name file, line and the field as it stands there. Floats: finite numbers, or "nan" when nan_allowed (empty
 * fields are then NaN too).
 */
weft_status text_table_ints(const char *path, weft_mem_tag *tag, int64_t *rows, int64_t *columns, int64_t **values);
weft_status text_table_floats(const char *path, weft_mem_tag *tag, bool nan_allowed, int64_t *rows, int64_t *columns,
                              float **values);

#endif
