/* app/gnn/bench/spmm_input.c: what `weft bench spmm` measures: the list of graphs, and a matrix in another vertex
 * order. */
#include <assert.h>
#include <string.h>

#include "app/gnn/bench/bench_spmm.h"
#include "gnn/data/generate/generator.h"

weft_status bench_data_parse(const char *text, char data[BENCH_DATA_MAX][BENCH_DATA_BYTES], int *count)
{
    *count = 0;
    while (*text != '\0') {
        const size_t length = strcspn(text, ",");
        WEFT_CHECK(length > 0, WEFT_ERR_USAGE, "--data: an empty name between two commas");
        const bool more = *count > 0 && memchr(text, '=', length) != NULL && generator_named(data[*count - 1]);
        WEFT_CHECK(more || *count < BENCH_DATA_MAX, WEFT_ERR_USAGE, "--data: more than %d graphs", BENCH_DATA_MAX);
        char *name = more ? data[*count - 1] : data[(*count)++];
        const size_t used = more ? strlen(name) : 0;
        WEFT_CHECK(used + more + length < BENCH_DATA_BYTES, WEFT_ERR_USAGE, "--data: a name of over %d characters",
                   BENCH_DATA_BYTES - 1);
        snprintf(name + used, BENCH_DATA_BYTES - used, "%s%.*s", more ? "," : "", (int)length, text);
        text += length;
        text += *text == ',';
    }
    WEFT_CHECK(*count > 0, WEFT_ERR_USAGE,
               "--data is empty: a graph store, or synth:SPEC such as synth:reddit,scale=0.1");
    return WEFT_OK;
}

weft_status bench_matrix_reorder(const hal_csr *given, int32_t *position, bench_matrix *out)
{
    const int64_t n = given->rows;
    weft_status status = WEFT_OK;
    assert(given->rows == given->cols);
    *out = (bench_matrix){.position = position};
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
    weft_free(matrix->position);
    weft_free(matrix->vertex);
    weft_free(matrix->offset);
    weft_free(matrix->column);
    *matrix = (bench_matrix){0};
}
