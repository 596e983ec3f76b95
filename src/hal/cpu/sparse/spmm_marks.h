/*
 * hal/cpu/sparse/spmm_marks.h: LISTS of a matrix whose rows and columns are marked in part (hal_csr), so that runs along
 * marked edges alone need no matrix of their own.
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

/* Columns of a matrix without marked ones stay in their places. Else [out] spmm->source, spmm->places and the blocks.
 * csr->marked_row and marked_col count as NULL from here on where threads would have unequal shares of marked edges:
 * see spmm->marked. spmm: of form LISTS, with its split. */
weft_status spmm_mark(hal_spmm *spmm, const hal_csr *csr);

/* Is row r of the matrix one whose edges a run along marked rows leaves out? */
static inline bool spmm_leaves_row(const hal_spmm *spmm, const hal_csr *csr, int64_t row)
{
    return spmm->marked && csr->marked_row != NULL && csr->marked_row[row] == 0;
}

/* Blocks of a run, and the source that a place of the packed strip is for; -1: none. */
static inline int64_t spmm_run_blocks(const hal_spmm *spmm, hal_spmm_part part)
{
    return part == HAL_SPMM_MARKED_COLS ? spmm->marked_blocks : spmm->by_block.count;
}

static inline int64_t spmm_source_of(const hal_spmm *spmm, int64_t place)
{
    return spmm->source != NULL ? spmm->source[place] : place;
}
