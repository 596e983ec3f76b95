/*
 * hal/cpu/sparse/spmm_weighted.c: aggregation over edges that have weights: the ROWS form of a matrix with values.
 *
 * One CSR, sources and weights side by side, summed by the kernels of sparse features: a fused multiplication and
 * addition an edge and vector, sources prefetched a fixed number of edges ahead, across the ends of rows. 8 bytes an
 * edge. Rows are cut into parts of equal edges, one a thread, and summed in the order of their entries, so results
 * repeat bit for bit.
 *
 * Limits: no near and far lists, no blocks. Where the sources come from memory, which is where graphs with weights are
 * slow, the weights cost a quarter of the traffic at d = 16 and less beyond.
 */
#include "hal/cpu/sparse/spmm_long_rows.h"

weft_status spmm_build_weighted(hal_spmm *spmm, const hal_csr *csr)
{
    spmm_weighted *m = &spmm->weighted;
    WEFT_TRY(spmm_new(spmm, (size_t)spmm->rows + 1, sizeof *m->offset, (void **)&m->offset));
    WEFT_TRY(spmm_new(spmm, (size_t)spmm->edges, sizeof *m->column, (void **)&m->column));
    WEFT_TRY(spmm_new(spmm, (size_t)spmm->edges, sizeof *m->value, (void **)&m->value));
    m->offset[0] = 0;
#pragma omp parallel for num_threads(spmm->parts) schedule(static, 1)
    for (int part = 0; part < spmm->parts; part++) { /* each thread writes what it will read */
        const int64_t begin = spmm->split[part], end = spmm->split[part + 1];
        const int64_t first = begin < end ? csr->offset[begin] : 0;
        const int64_t last = begin < end ? csr->offset[end] : 0;
        for (int64_t row = begin; row < end; row++) {
            m->offset[row + 1] = csr->offset[row + 1];
        }
        for (int64_t e = first; e < last; e++) {
            m->column[e] = csr->column[e];
            m->value[e] = csr->value[e];
        }
    }
    return WEFT_OK;
}

void spmm_run_weighted(const hal_spmm *spmm, const spmm_call *args)
{
    const sparse_features m = {.offset = spmm->weighted.offset,
                               .column = spmm->weighted.column,
                               .value = spmm->weighted.value,
                               .ahead = SPMM_WEIGHTED_EDGES};
#pragma omp parallel for num_threads(spmm->parts) schedule(static, 1)
    for (int part = 0; part < spmm->parts; part++) {
        int64_t at = spmm_first_row(spmm, args, part, args->slice);
        const int64_t end = spmm_first_row(spmm, args, part, args->slice + 1);
        for (spmm_span span; spmm_next_span(spmm, args, &at, end, &span);) {
            sparse_features moved = m;
            moved.offset += span.moved;
            for (int64_t column = 0; column < args->d;) {
                const int width = spmm_feature_strip(spmm->kernels, args->d - column);
                const spmm_pass pass = spmm_pass_of(&span.call, column, width);
                spmm->kernels->features(&moved, span.begin, span.end, &pass);
                column += width;
            }
        }
    }
}
