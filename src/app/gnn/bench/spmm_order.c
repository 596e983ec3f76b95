/* app/gnn/bench/spmm_order.c: the measured matrix in another vertex order. */
#include "app/gnn/bench/bench_spmm.h"

weft_status bench_matrix_reorder(const hal_csr *given, int32_t *position, bench_matrix *out)
{
    const int64_t n = given->rows;
    weft_status status = WEFT_OK;
    *out = (bench_matrix){.position = position, .place = position};
    WEFT_TRY_GOTO(WEFT_NEW(&out->vertex, n, WEFT_MEM_GRAPH), status, done);
    WEFT_TRY_GOTO(WEFT_NEW(&out->offset, n + 1, WEFT_MEM_GRAPH), status, done);
    WEFT_TRY_GOTO(WEFT_NEW(&out->column, given->offset[n], WEFT_MEM_GRAPH), status, done);
    for (int64_t v = 0; v < n; v++) {
        out->vertex[position[v]] = (int32_t)v;
    }
    out->offset[0] = 0;
    for (int64_t r = 0; r < n; r++) {
        const int64_t v = out->vertex[r];
        out->offset[r + 1] = out->offset[r] + given->offset[v + 1] - given->offset[v];
    }
#pragma omp parallel for schedule(static)
    for (int64_t r = 0; r < n; r++) {
        const int32_t *from = given->column + given->offset[out->vertex[r]];
        for (int64_t e = out->offset[r]; e < out->offset[r + 1]; e++) {
            out->column[e] = position[from[e - out->offset[r]]];
        }
    }
    out->csr = (hal_csr){.rows = n, .cols = n, .offset = out->offset, .column = out->column};
done:
    if (status != WEFT_OK) {
        bench_matrix_free(out);
    }
    return status;
}

void bench_matrix_free(bench_matrix *matrix)
{
    weft_free(matrix->place);
    weft_free(matrix->vertex);
    weft_free(matrix->offset);
    weft_free(matrix->column);
    *matrix = (bench_matrix){0};
}
