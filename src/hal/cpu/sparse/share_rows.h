/*
 * hal/cpu/sparse/share_rows.h: partial sums that rows of a matrix have in common, found once for many products.
 *
 *      pass      rows with the same least hash of their columns form a group of at most 64
 *                a group takes its best partial sums (share_group.h)
 *                partial sums become rows and columns of the next pass
 *      at last   partial sums are put in levels: one of level l reads columns of the matrix and sums of lower levels
 *
 * The result depends on the matrix alone: neither on threads nor on their order. Memory while it looks: 12 to 16
 * bytes for each entry that is left after the first pass, 4 for each of the matrix.
 */
#pragma once

#include "hal/cpu/sparse/share_group.h"

/* [out] rows: for hal_shared_rows_free; zeros on failure. WEFT_ERR_RESOURCE. */
weft_status share_rows_find(const hal_csr *csr, const share_search *search, hal_shared_rows *rows);
/* [out] share: of the matrix's reads, the part that the first pass saves, by a sample of its groups. It takes a read
 * of all columns and milliseconds. */
weft_status share_rows_sample(const hal_csr *csr, const share_search *search, double *share);
