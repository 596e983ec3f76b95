/* hal/cpu/sparse/spmm_marks.c: see hal/cpu/sparse/spmm_marks.h. */
#include "hal/cpu/sparse/spmm_marks.h"

#include <string.h>

enum { SMALL = 1 << 18 };           /* edges, below which unequal shares cost nothing that is seen */
static const double unequal = 1.05; /* the largest share of a thread over the mean */

static int64_t marked_edges(const hal_csr *csr, int64_t row, bool columns)
{
    const int64_t begin = csr->offset[row], end = csr->offset[row + 1];
    if (!columns) {
        return csr->marked_row[row] != 0 ? end - begin : 0;
    }
    int64_t count = 0;
    for (int64_t e = begin; e < end; e++) {
        count += csr->marked_col[csr->column[e]] != 0;
    }
    return count;
}

/* Threads have about the same number of marked edges each. */
static bool is_even(const hal_spmm *spmm, const hal_csr *csr, bool columns)
{
    int64_t most = 0, all = 0;
#pragma omp parallel for num_threads(spmm->parts) schedule(static, 1) reduction(max : most) reduction(+ : all)
    for (int p = 0; p < spmm->parts; p++) {
        int64_t own = 0;
        for (int64_t row = spmm->split[p]; row < spmm->split[p + 1]; row++) {
            own += marked_edges(csr, row, columns);
        }
        most = own > most ? own : most;
        all += own;
    }
    return (double)most * (double)spmm->parts <= unequal * (double)all;
}

static weft_status place_columns(hal_spmm *spmm, const hal_csr *csr)
{
    const int shift = spmm_block_shift(spmm->form, spmm->usual_d);
    int64_t marked = 0;
    for (int64_t c = 0; c < csr->cols; c++) {
        marked += csr->marked_col[c] != 0;
    }
    const int64_t others = csr->cols - marked;
    spmm->marked_blocks = spmm_block_count(marked, shift);
    spmm->places = others > 0 ? (spmm->marked_blocks << shift) + others : marked;
    spmm->blocks = spmm->marked_blocks + (others > 0 ? spmm_block_count(others, shift) : 0);
    WEFT_TRY(spmm_new(spmm, (size_t)spmm->places, sizeof *spmm->source, (void **)&spmm->source));
    memset(spmm->source, 0xFF, (size_t)spmm->places * sizeof *spmm->source);
    int64_t next[2] = {spmm->marked_blocks << shift, 0};
    for (int64_t c = 0; c < csr->cols; c++) {
        spmm->source[next[csr->marked_col[c] != 0]++] = (int32_t)c;
    }
    return WEFT_OK;
}

weft_status spmm_new_places(const hal_spmm *spmm, int32_t **place)
{
    *place = NULL;
    if (spmm->source == NULL) {
        return WEFT_OK;
    }
    WEFT_TRY(WEFT_NEW(place, spmm->cols, WEFT_MEM_WORKSPACE));
    for (int64_t i = 0; i < spmm->places; i++) {
        if (spmm->source[i] >= 0) {
            (*place)[spmm->source[i]] = (int32_t)i;
        }
    }
    return WEFT_OK;
}

/* Of each part the marked rows, then the others. */
static weft_status order_rows(hal_spmm *spmm, const hal_csr *csr)
{
    WEFT_TRY(spmm_new(spmm, (size_t)spmm->rows, sizeof *spmm->order, (void **)&spmm->order));
    WEFT_TRY(spmm_new(spmm, (size_t)spmm->parts, sizeof *spmm->marked_end, (void **)&spmm->marked_end));
    for (int p = 0; p < spmm->parts; p++) {
        int64_t at = spmm->split[p];
        for (int unmarked = 0; unmarked < 2; unmarked++) {
            for (int64_t row = spmm->split[p]; row < spmm->split[p + 1]; row++) {
                if ((csr->marked_row[row] == 0) == (unmarked != 0)) {
                    spmm->order[at++] = (int32_t)row;
                }
            }
            spmm->marked_end[p] = unmarked != 0 ? spmm->marked_end[p] : at;
        }
    }
    return WEFT_OK;
}

weft_status spmm_mark(hal_spmm *spmm, const hal_csr *csr)
{
    spmm->places = spmm->cols;
    spmm->marked_blocks = spmm->blocks;
    if (spmm->rows == 0 || (csr->marked_row == NULL && csr->marked_col == NULL)) {
        spmm->marked = csr->marked_row != NULL || csr->marked_col != NULL;
        return WEFT_OK;
    }
    const bool small = spmm->edges < SMALL;
    spmm->marked = small || ((csr->marked_row == NULL || is_even(spmm, csr, false)) &&
                             (csr->marked_col == NULL || is_even(spmm, csr, true)));
    WEFT_TRY(spmm->marked && csr->marked_col != NULL ? place_columns(spmm, csr) : WEFT_OK);
    const bool ordered = spmm->marked && csr->marked_row != NULL && spmm->form == HAL_SPMM_BLOCKS;
    return ordered ? order_rows(spmm, csr) : WEFT_OK;
}
