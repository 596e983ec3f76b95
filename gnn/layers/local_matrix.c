/* gnn/layers/local_matrix.c: see gnn/layers/local_matrix.h. */
#include "gnn/layers/local_matrix.h"

#include <assert.h>
#include <string.h>

/* Additions of a slice on each thread: about a millisecond, against the microseconds of starting one. */
enum { SLICE_ADDITIONS = 8 << 20, MOST_SLICES = 256 };

/* First entry of the row that is not below `column`: entries ascend. */
static int64_t first_from(const hal_csr *csr, int64_t row, int64_t column)
{
    int64_t low = csr->offset[row];
    int64_t high = csr->offset[row + 1];
    while (low < high) {
        int64_t middle = low + (high - low) / 2;
        if (csr->column[middle] < column) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low;
}

/* Rows [row, row + rows) and columns [column, column + cols) as a matrix of their own. */
static weft_status cut_out(const hal_csr *csr, int64_t row, int64_t column, hal_csr *out, int64_t **offsets,
                           int32_t **columns)
{
    int64_t *offset = NULL;
    WEFT_TRY(WEFT_NEW(&offset, out->rows + 1, WEFT_MEM_WORKSPACE));
    *offsets = offset;
    offset[0] = 0;
    for (int64_t r = 0; r < out->rows; ++r) {
        offset[r + 1] = offset[r] + first_from(csr, row + r, column + out->cols) - first_from(csr, row + r, column);
    }
    WEFT_TRY(WEFT_NEW(columns, offset[out->rows], WEFT_MEM_WORKSPACE));
    for (int64_t r = 0; r < out->rows; ++r) {
        const int32_t *from = csr->column + first_from(csr, row + r, column);
        for (int64_t e = offset[r]; e < offset[r + 1]; ++e) {
            (*columns)[e] = *from++ - (int32_t)column;
            assert((*columns)[e] >= 0 && (*columns)[e] < out->cols); /* ascending, or the cut lies elsewhere */
        }
    }
    out->offset = offset;
    out->column = *columns;
    return WEFT_OK;
}

static int64_t first_row(const gnn_local_matrix *matrix, gnn_side side)
{
    return side == GNN_OWNED ? 0 : matrix->rows[GNN_OWNED];
}

static const char form_letter[] = {
    [HAL_SPMM_AUTO] = '-', [HAL_SPMM_ROWS] = 'r', [HAL_SPMM_BLOCKS] = 'b', [HAL_SPMM_LISTS] = 'l'};

static hal_spmm_form form_of(char letter, hal_spmm_form otherwise)
{
    for (int form = HAL_SPMM_ROWS; form <= HAL_SPMM_LISTS; ++form) {
        if (form_letter[form] == letter) {
            return (hal_spmm_form)form;
        }
    }
    return otherwise;
}

void gnn_local_matrix_forms(const gnn_local_matrix *matrix, char forms[GNN_SIDES * GNN_SIDES])
{
    for (int i = 0; i < GNN_SIDES * GNN_SIDES; ++i) {
        const hal_spmm *part = matrix->part[i / GNN_SIDES][i % GNN_SIDES];
        forms[i] = form_letter[part != NULL ? matrix->hal->sparse.spmm_info(matrix->hal, part).form : HAL_SPMM_AUTO];
    }
}

static weft_status create_part(gnn_local_matrix *matrix, const hal_csr *csr, gnn_side rows, gnn_side sources,
                               hal_spmm_form form, int64_t max_width)
{
    weft_status status = WEFT_OK;
    int64_t *offset = NULL;
    int32_t *column = NULL;
    hal_csr part = {.rows = matrix->rows[rows], .cols = matrix->rows[sources]};
    WEFT_TRY_GOTO(cut_out(csr, first_row(matrix, rows), first_row(matrix, sources), &part, &offset, &column), status,
                  done);
    matrix->edges[rows][sources] = part.offset[part.rows];
    status = matrix->hal->sparse.spmm_create(matrix->hal, &part, form, max_width, &matrix->part[rows][sources]);
done:
    weft_free(offset);
    weft_free(column);
    return status;
}

weft_status gnn_local_matrix_create(weft_hal *hal, const hal_csr *csr, int64_t cut_at, hal_spmm_form form,
                                    const char *forms, int64_t max_width, gnn_local_matrix *matrix)
{
    assert(csr->rows == csr->cols && cut_at >= 0 && cut_at <= csr->rows);
    *matrix = (gnn_local_matrix){.hal = hal, .rows = {cut_at, csr->rows - cut_at}};
    if (cut_at == csr->rows) {
        matrix->edges[GNN_OWNED][GNN_OWNED] = csr->offset[csr->rows];
        return hal->sparse.spmm_create(hal, csr, form_of(forms[0], form), max_width,
                                       &matrix->part[GNN_OWNED][GNN_OWNED]);
    }
    for (gnn_side rows = GNN_OWNED; rows < GNN_SIDES; ++rows) {
        for (gnn_side sources = GNN_OWNED; sources < GNN_SIDES; ++sources) {
            WEFT_TRY(
                create_part(matrix, csr, rows, sources, form_of(forms[rows * GNN_SIDES + sources], form), max_width));
        }
    }
    return WEFT_OK;
}

int gnn_local_matrix_slices(const gnn_local_matrix *matrix, gnn_side rows, gnn_side sources, int64_t width)
{
    const double additions = (double)matrix->edges[rows][sources] * (double)width / (double)matrix->hal->threads;
    const double slices = additions / SLICE_ADDITIONS;
    return slices < 1.0 ? 1 : slices > MOST_SLICES ? MOST_SLICES : (int)slices;
}

/* The elements of a vector that belong to a side. */
static const weft_tensor *part_of(const gnn_local_matrix *matrix, const weft_tensor *vector, gnn_side side,
                                  weft_tensor *view)
{
    if (vector == NULL) {
        return NULL;
    }
    *view = tensor_view(vector, first_row(matrix, side), matrix->rows[side], 0, 1);
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
    weft_tensor from = tensor_view(x, first_row(matrix, sources), matrix->rows[sources], 0, x->cols);
    weft_tensor to = tensor_view(out, first_row(matrix, rows), matrix->rows[rows], 0, out->cols);
    const tensor_sparse part = {
        .spmm = matrix->part[rows][sources], .rows = to.rows, .cols = from.rows, .entries = edges};
    const tensor_spmm_terms terms = {.pre = part_of(matrix, scales->pre, sources, &pre),
                                     .post = part_of(matrix, scales->post, rows, &post),
                                     .diag = inner ? part_of(matrix, scales->diag, rows, &diag) : NULL,
                                     .beta = product->beta,
                                     .slice = product->slice,
                                     .slices = product->slices};
    return tensor_spmm(&part, &from, &terms, &to);
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
