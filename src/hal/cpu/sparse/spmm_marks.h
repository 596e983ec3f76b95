/*
 * hal/cpu/sparse/spmm_marks.h: LISTS of a matrix with marked rows and columns (hal_csr), so that runs along marked
 * edges alone need no matrix of their own.
 *
 *  marked rows      of a window the marked rows are listed first; a run of the others is skipped as a whole
 *  marked columns   have the first places of the packed strip, in blocks of their own, and the last places are for the
 *                   other columns: a run along marked columns ends behind the first blocks
 *
 *        packed strip  | marked columns | unused | other columns |
 *        blocks        |     0    |     1        |    2    |  3  |
 *
 * Memory: 4 bytes a column, and rows of one block of the packed strip that are not used. A sum adds its marked columns
 * first, in every run, so its last bits are not those of the same matrix without marks.
 */
#pragma once

#include "hal/cpu/sparse/spmm.h"

/* [out] spmm->marked: false if csr has no marks, or threads would have unequal shares of a large matrix's marked edges.
 * Where columns are marked, [out] spmm->source, spmm->places and the numbers of blocks. spmm: of form LISTS, with its
 * split. */
weft_status spmm_mark(hal_spmm *spmm, const hal_csr *csr);

/* Returns true if a run along marked rows leaves out the edges of this row. */
static inline bool spmm_leaves_row(const hal_spmm *spmm, const hal_csr *csr, int64_t row)
{
    return spmm->marked && csr->marked_row != NULL && csr->marked_row[row] == 0;
}

/* Returns the number of blocks of a run. */
static inline int64_t spmm_run_blocks(const hal_spmm *spmm, hal_spmm_part part)
{
    return part == HAL_SPMM_MARKED_COLS ? spmm->marked_blocks : spmm->by_block.count;
}

/* Returns the column of a place of the packed strip; -1: none. */
static inline int64_t spmm_source_of(const hal_spmm *spmm, int64_t place)
{
    return spmm->source != NULL ? spmm->source[place] : place;
}
