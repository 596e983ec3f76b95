/* hal/cuda/cuda_shared.c: prepares matrices whose rows share partial sums, on the host; see kernels/cuda_matrix.h. */
#include "hal/cuda/cuda_prepared.h"
#include "hal/cuda/kernels/cuda_matrix.h"
#include "hal/share.h"

/* A matrix with factors, in the host's memory. */
typedef struct signed_rows {
    int64_t *offset;
    int32_t *column;
    float *value;
} signed_rows;

/* Rows [begin, end): what they subtract behind what they add. */
static weft_status make_rows(const hal_shared_rows *m, int64_t begin, int64_t end, signed_rows *made)
{
    const int64_t entries = m->plus_start[end] - m->plus_start[begin] + m->minus_start[end] - m->minus_start[begin];
    WEFT_TRY(WEFT_NEW(&made->offset, end - begin + 1, WEFT_MEM_WORKSPACE));
    WEFT_TRY(WEFT_NEW(&made->column, entries + 1, WEFT_MEM_WORKSPACE));
    WEFT_TRY(WEFT_NEW(&made->value, entries + 1, WEFT_MEM_WORKSPACE));
    int64_t next = 0;
    for (int64_t row = begin; row < end; ++row) {
        made->offset[row - begin] = next;
        for (int64_t e = m->plus_start[row]; e < m->plus_start[row + 1]; ++e) {
            made->column[next] = m->plus[e];
            made->value[next++] = 1.0F;
        }
        for (int64_t e = m->minus_start[row]; e < m->minus_start[row + 1]; ++e) {
            made->column[next] = m->minus[e];
            made->value[next++] = -1.0F;
        }
    }
    made->offset[end - begin] = next;
    return WEFT_OK;
}

/* Rows [begin, end) of the lists, which read the first `cols` columns. */
static weft_status prepare_rows(weft_hal *hal, const hal_shared_rows *m, int64_t begin, int64_t end, int64_t cols,
                                int64_t max_d, hal_spmm **out)
{
    signed_rows made = {.offset = NULL};
    weft_status status = make_rows(m, begin, end, &made);
    const bool subtracts = m->minus_start[begin] < m->minus_start[end];
    const hal_csr csr = {.rows = end - begin,
                         .cols = cols,
                         .offset = made.offset,
                         .column = made.column,
                         .value = subtracts ? made.value : NULL};
    status = status == WEFT_OK ? cuda_spmm_rows(hal, &csr, max_d, out) : status;
    WEFT_FREE_ALL(made.offset, made.column, made.value);
    return status;
}

static weft_status prepare_levels(weft_hal *hal, const hal_shared_rows *m, int64_t max_d, hal_spmm *spmm)
{
    WEFT_TRY(weft_calloc((size_t)m->levels + 1, sizeof(void *), WEFT_MEM_MATRIX, (void **)&spmm->level));
    spmm->levels = m->levels;
    spmm->sums = m->sums;
    spmm->reads = m->plus_start[m->sums + m->targets] + m->minus_start[m->sums + m->targets];
    for (int l = 0; l <= m->levels; ++l) {
        const int64_t end = l < m->levels ? m->level[l + 1] : m->sums + m->targets;
        WEFT_TRY(prepare_rows(hal, m, m->level[l], end, m->sources + m->level[l], max_d, &spmm->level[l]));
        spmm->bytes += spmm->level[l]->bytes;
    }
    const size_t strip = (size_t)(m->sources + m->sums + m->targets) * CUDA_SHARED_COLUMNS * sizeof(float);
    spmm->bytes += strip;
    return hal->mem.alloc(hal, strip, WEFT_MEM_MATRIX, &spmm->strip);
}

weft_status cuda_spmm_shared(weft_hal *hal, const hal_csr *csr, int64_t max_d, hal_spmm **out)
{
    hal_shared_rows m;
    hal_spmm *spmm = NULL;
    weft_status status = WEFT_OK;
    *out = NULL;
    WEFT_TRY(hal_share_find(csr, true, hal->threads, hal->keep_folder, &m));
    WEFT_TRY_GOTO(WEFT_NEW_ZERO(&spmm, 1, WEFT_MEM_MATRIX), status, done);
    spmm->rows = csr->rows;
    spmm->cols = csr->cols;
    spmm->entries = csr->offset[csr->rows];
    spmm->max_d = max_d;
    WEFT_TRY_GOTO(prepare_levels(hal, &m, max_d, spmm), status, done);
    *out = spmm;
    spmm = NULL;
done:
    cuda_spmm_destroy(hal, spmm);
    hal_shared_rows_free(&m);
    return status;
}
