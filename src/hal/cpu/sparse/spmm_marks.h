/*
 * hal/cpu/sparse/spmm_marks.h: LISTS and BLOCKS of a matrix with marked rows and columns (hal_csr), so that runs along
 * marked edges alone need no matrix of their own.
 *
 *  marked rows      LISTS: of a window the marked rows are listed first; a run of the others is skipped as a whole.
 *                   BLOCKS: the marked rows of a part come first, in its offsets and in its partial sums, and a sweep
 *                   ends behind them
 *  marked columns   have the first places of the packed strip, in blocks of their own, and the last places are for the
 *                   other columns: a run along marked columns ends behind the first blocks
 *
 *        packed strip  | marked columns | unused | other columns |
 *        blocks        |     0    |     1        |    2    |  3  |
 *
 * Memory: 4 bytes a column, in BLOCKS 4 a row, and rows of one block of the packed strip that are not used. A sum adds
 * its marked columns first, in every run, so its last bits are not those of the same matrix without marks.
 */
#pragma once

#include "hal/cpu/sparse/spmm.h"

static inline bool spmm_takes_marks(hal_spmm_form form)
{
    return form == HAL_SPMM_LISTS || form == HAL_SPMM_BLOCKS;
}

/* [out] spmm->marked: false if csr has no marks, or threads would have unequal shares of a large matrix's marked edges.
 * Where columns are marked, [out] spmm->source, spmm->places and the numbers of blocks; where rows of BLOCKS are,
 * spmm->order and spmm->marked_end. spmm: of a form that takes marks, with its split. WEFT_ERR_RESOURCE. */
weft_status spmm_mark(hal_spmm *spmm, const hal_csr *csr);
/* [out] place: [cols] of each column in the packed strip, which the caller frees; NULL: columns are in their places.
 * WEFT_ERR_RESOURCE. */
weft_status spmm_new_places(const hal_spmm *spmm, int32_t **place);

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

/* Returns where the rows of a part end that a sweep of BLOCKS has, all of them or the marked ones. */
static inline int64_t spmm_swept_end(const hal_spmm *spmm, int part, bool marked_rows)
{
    return marked_rows && spmm->marked_end != NULL ? spmm->marked_end[part] : spmm->split[part + 1];
}

/* Returns the row of the matrix whose offsets and sums are the i-th. */
static inline int64_t spmm_row_of(const hal_spmm *spmm, int64_t i)
{
    return spmm->order != NULL ? spmm->order[i] : i;
}

/* Returns the column of a place of the packed strip; -1: none. */
static inline int64_t spmm_source_of(const hal_spmm *spmm, int64_t place)
{
    return spmm->source != NULL ? spmm->source[place] : place;
}
