/*
 * hal/cpu/sparse/spmm_long_rows.h: rows too long for one thread.
 *
 * The form ROWS gives each thread rows of equally many edges in all. A row with more edges than a quarter of a thread's
 * share (the centre of a star) would keep the others waiting, so it is cut into pieces, which are rows of their own
 * while the matrix is prepared and split: the swept matrix.
 *
 *      rows     0   1   2 (long)        3
 *      swept    0   1   2   3   4   5   6           pieces 0 .. 3 are the swept rows 2 .. 5
 *
 * A run sums pieces into a matrix of partial sums and adds those in order when all are there: the same bits for the
 * same number of threads. Graphs without such rows are swept as they are.
 */
#pragma once

#include "hal/cpu/sparse/spmm.h"

/* Rows that a kernel takes in one go: of the run's operands, or pieces. */
typedef struct spmm_span {
    int64_t begin, end; /* rows of `call` */
    int64_t moved;      /* row + moved is the swept row */
    spmm_call call;     /* the run's; of pieces: into their partial sums, unscaled */
} spmm_span;

/* [out] swept: csr with its long rows cut, and *offset, its own offsets, the caller's; or csr as it is, *offset NULL.
 * [out] spmm->long_rows. */
weft_status spmm_cut_rows(hal_spmm *spmm, const hal_csr *csr, hal_csr *swept, int64_t **offset);

/* The next span of the swept rows [*at, end), *at moved behind it; false: none is left. */
bool spmm_next_span(const hal_spmm *spmm, const spmm_call *call, int64_t *at, int64_t end, spmm_span *span);

/* Write the long rows, once all pieces have been summed. */
void spmm_put_long_rows(const hal_spmm *spmm, const spmm_call *call);
