/* gnn/layers/local_matrix.c: see gnn/layers/local_matrix.h. */
#include "gnn/layers/local_matrix.h"

#include <assert.h>
#include <string.h>

#include "base/sort.h"

/* Additions of a slice on each thread: about a millisecond, against the microseconds of starting one. */
enum { SLICE_ADDITIONS = 8 << 20, MOST_SLICES = 256 };

/* First entry of the row that is not below `column`: entries ascend. */
static int64_t first_from(const hal_csr *csr, int64_t row, int64_t column)
{
    return sorted_first(csr->column, csr->offset[row], csr->offset[row + 1], column);
}

/* Rows [row, row + rows) and columns [column, column + cols) as a matrix of their own. */
static weft_status cut_out(const hal_csr *csr, int64_t row, int64_t column, hal_csr *out, int64_t **offsets,
                           int32_t **columns, float **values)
{
    int64_t *offset = NULL;
    WEFT_TRY(WEFT_NEW(&offset, out->rows + 1, WEFT_MEM_WORKSPACE));
    *offsets = offset;
    offset[0] = 0;
    for (int64_t r = 0; r < out->rows; ++r) {
        offset[r + 1] = offset[r] + first_from(csr, row + r, column + out->cols) - first_from(csr, row + r, column);
    }
    WEFT_TRY(WEFT_NEW(columns, offset[out->rows], WEFT_MEM_WORKSPACE));
    WEFT_TRY(csr->value != NULL ? WEFT_NEW(values, offset[out->rows], WEFT_MEM_WORKSPACE) : WEFT_OK);
    for (int64_t r = 0; r < out->rows; ++r) {
        const int64_t first = first_from(csr, row + r, column);
        const int32_t *from = csr->column + first;
        for (int64_t e = offset[r]; e < offset[r + 1]; ++e) {
            (*columns)[e] = *from++ - (int32_t)column;
            assert((*columns)[e] >= 0 && (*columns)[e] < out->cols); /* ascending, or the cut lies elsewhere */
        }
        for (int64_t e = offset[r]; csr->value != NULL && e < offset[r + 1]; ++e) {
            (*values)[e] = csr->value[first + e - offset[r]];
        }
    }
    out->offset = offset;
    out->column = *columns;
    out->value = *values;
    return WEFT_OK;
}

static int64_t first_row(const gnn_local_matrix *matrix, gnn_side side)
{
    return side == GNN_OWNED ? 0 : matrix->rows[GNN_OWNED];
}

static int64_t first_source(const gnn_local_matrix *matrix, gnn_side side)
{
    return side == GNN_OWNED ? 0 : matrix->sources[GNN_OWNED];
}

void gnn_local_matrix_forms(const gnn_local_matrix *matrix, char forms[GNN_SIDES * GNN_SIDES])
{
    for (int i = 0; i < GNN_SIDES * GNN_SIDES; ++i) {
        const hal_spmm *part = matrix->part[i / GNN_SIDES][i % GNN_SIDES];
        forms[i] =
            gnn_form_letter(part != NULL ? matrix->hal->sparse.spmm_info(matrix->hal, part).form : HAL_SPMM_AUTO);
    }
}

double gnn_local_matrix_bytes(const gnn_local_matrix *matrix)
{
    double bytes = 0.0;
    for (int i = 0; i < GNN_SIDES * GNN_SIDES; ++i) {
        const hal_spmm *part = matrix->part[i / GNN_SIDES][i % GNN_SIDES];
        bytes += part != NULL ? (double)matrix->hal->sparse.spmm_info(matrix->hal, part).bytes : 0.0;
    }
    return bytes;
}

bool gnn_local_matrix_is_marked(const gnn_local_matrix *matrix)
{
    bool marked = true;
    for (int i = 0; i < GNN_SIDES * GNN_SIDES; ++i) {
        const hal_spmm *part = matrix->part[i / GNN_SIDES][i % GNN_SIDES];
        marked = marked && (part == NULL || matrix->hal->sparse.spmm_info(matrix->hal, part).marked);
    }
    return marked;
}

static weft_status create_part(gnn_form_choice *choice, int role, weft_status status, const hal_csr *csr, gnn_side rows,
                               gnn_side sources, gnn_local_matrix *matrix)
{
    int64_t *offset = NULL;
    int32_t *column = NULL;
    float *value = NULL;
    hal_csr part = {.rows = matrix->rows[rows], .cols = matrix->sources[sources]};
    if (status == WEFT_OK) {
        part.marked_row = csr->marked_row != NULL ? csr->marked_row + first_row(matrix, rows) : NULL;
        part.marked_col = csr->marked_col != NULL ? csr->marked_col + first_source(matrix, sources) : NULL;
    }
    status = status == WEFT_OK
                 ? cut_out(csr, first_row(matrix, rows), first_source(matrix, sources), &part, &offset, &column, &value)
                 : status;
    const bool has = status == WEFT_OK;
    matrix->edges[rows][sources] = has ? part.offset[part.rows] : 0;
    status = gnn_form_create(choice, role, status, has ? &part : NULL, &matrix->part[rows][sources]);
    WEFT_FREE_ALL(offset, column, value);
    return status;
}

weft_status gnn_local_matrix_create(gnn_form_choice *choice, int first_role, weft_status status, const hal_csr *csr,
                                    int64_t cut_at, gnn_local_matrix *matrix)
{
    const bool cut = csr != NULL && cut_at < csr->cols;
    assert(csr == NULL || (csr->rows <= csr->cols && cut_at >= 0 && (!cut || cut_at <= csr->rows)));
    *matrix = (gnn_local_matrix){.hal = NULL};
    if (csr != NULL) {
        const int64_t rows = cut ? cut_at : csr->rows;
        *matrix = (gnn_local_matrix){
            .hal = choice->hal, .rows = {rows, csr->rows - rows}, .sources = {cut_at, csr->cols - cut_at}};
    }
    for (int i = 0; i < GNN_SIDES * GNN_SIDES; ++i) {
        const gnn_side rows = (gnn_side)(i / GNN_SIDES), sources = (gnn_side)(i % GNN_SIDES);
        if (cut) {
            WEFT_TRY(create_part(choice, first_role + i, status, csr, rows, sources, matrix));
            continue;
        }
        const bool whole = csr != NULL && i == 0;
        if (whole) {
            matrix->edges[rows][sources] = csr->offset[csr->rows];
        }
        WEFT_TRY(gnn_form_create(choice, first_role + i, status, whole ? csr : NULL, &matrix->part[rows][sources]));
    }
    return WEFT_OK;
}

int gnn_local_matrix_slices(const gnn_local_matrix *matrix, gnn_side rows, gnn_side sources, int64_t width)
{
    const double additions = (double)matrix->edges[rows][sources] * (double)width / (double)matrix->hal->threads;
    const double slices = additions / SLICE_ADDITIONS;
    return slices < 1.0 ? 1 : slices > MOST_SLICES ? MOST_SLICES : (int)slices;
}

static const weft_tensor *part_of(const weft_tensor *vector, int64_t first, int64_t count, weft_tensor *view)
{
    if (vector == NULL) {
        return NULL;
    }
    *view = tensor_view(vector, first, count, 0, 1);
    return view;
}

weft_status gnn_local_matrix_run(const gnn_local_matrix *matrix, const gnn_local_product *product, const weft_tensor *x,
                                 weft_tensor *out)
{
    const gnn_side rows = product->rows, sources = product->sources;
    const gnn_scales *scales = &product->scales;
    const bool inner = rows == GNN_OWNED && sources == GNN_OWNED;
    const int64_t edges = matrix->edges[rows][sources];
    assert(x->cols == out->cols && product->slice >= 0 && product->slice < (product->slices > 1 ? product->slices : 1));
    weft_tensor pre, post, diag;
    if (matrix->rows[rows] == 0 || (edges == 0 && product->beta == 1.0 && !inner)) {
        return WEFT_OK;
    }
    const int64_t first = first_row(matrix, rows), source = first_source(matrix, sources);
    weft_tensor from = tensor_view(x, source, matrix->sources[sources], 0, x->cols);
    weft_tensor to = tensor_view(out, first, matrix->rows[rows], 0, out->cols);
    const tensor_sparse part = {
        .spmm = matrix->part[rows][sources], .rows = to.rows, .cols = from.rows, .entries = edges};
    const tensor_spmm_terms terms = {.pre = part_of(scales->pre, source, from.rows, &pre),
                                     .post = part_of(scales->post, first, to.rows, &post),
                                     .diag = inner ? part_of(scales->diag, first, to.rows, &diag) : NULL,
                                     .beta = product->beta,
                                     .part = product->part,
                                     .slice = product->slice,
                                     .slices = product->slices};
    return product->fixed ? tensor_fixed_run(&part, &from, product->quanta, &terms, &to)
                          : tensor_spmm(&part, &from, &terms, &to);
}

void gnn_local_matrix_destroy(gnn_local_matrix *matrix)
{
    if (matrix->hal == NULL) {
        return;
    }
    for (int i = 0; i < GNN_SIDES * GNN_SIDES; ++i) {
        matrix->hal->sparse.spmm_destroy(matrix->hal, matrix->part[i / GNN_SIDES][i % GNN_SIDES]);
    }
    memset(matrix, 0, sizeof *matrix);
}
