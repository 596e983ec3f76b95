/*
 * hal/cpu/sparse/share_file.h: what rows of a matrix have in common, in a file for the next job on the same matrix.
 *
 *      FOLDER/shared-HASH.bin:  head | level | plus_start | minus_start | plus | minus
 *
 * HASH is that of the matrix's rows and columns, and of whether anything may be subtracted. A file that is damaged, of
 * another matrix or of another layout is none. Finding takes seconds, reading milliseconds. Files may be removed at any
 * time.
 */
#pragma once

#include "hal/cpu/sparse/share_rows.h"

/* [out] found: false: there is none to use, and *rows is zeros. rows: for hal_shared_rows_free. WEFT_ERR_RESOURCE. */
weft_status share_file_read(const char *folder, const hal_csr *csr, bool signs, hal_shared_rows *rows, bool *found);
/* Whole or not at all; a folder that takes no files is told in the log, and is no failure. */
void share_file_write(const char *folder, const hal_csr *csr, bool signs, const hal_shared_rows *rows);
