/*
 * hal/cpu/sparse/share_order.h: an order of the rows and columns of shared sums in which rows that read alike stand
 * near each other, so that what they read comes out of nearer caches.
 *
 *      a number at random for each column; then ROUNDS times
 *          a row's number is the mean of those of its columns, a column's the mean of those of its rows
 *
 * after which vertices of one community have nearly one number, and those of another one another. Columns, rows and, of
 * a level, partial sums are sorted by it. Means are taken along the partial sums themselves, so that a round costs two
 * passes over the reads that are left: with 108 million edges and 8.3 million reads 0.04 s.
 */
#pragma once

#include "hal/cpu/sparse/spmm.h"

/* Renumbers *m: column i of the lists is source[i] of the matrix, and row m->sums + i is its row target[i]. The result
 * depends on *m alone. WEFT_ERR_RESOURCE: *m is as it was. */
weft_status share_rows_order(hal_shared_rows *m, int32_t *source, int32_t *target);
