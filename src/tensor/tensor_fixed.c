/* tensor/tensor_fixed.c: see tensor/tensor_fixed.h. */
#include "tensor/tensor_fixed.h"

#include "base/alloc.h"
#include "tensor/tensor_check.h"

weft_status tensor_quanta_create(weft_hal *hal, int64_t width, tensor_quanta *quanta)
{
    *quanta = (tensor_quanta){.host = NULL};
    WEFT_TRY(WEFT_NEW(&quanta->host, width, WEFT_MEM_WORKSPACE));
    return tensor_create(hal, WEFT_DTYPE_F32, 1, width, WEFT_MEM_WORKSPACE, &quanta->on);
}

void tensor_quanta_destroy(tensor_quanta *quanta)
{
    tensor_destroy(&quanta->on);
    weft_free(quanta->host);
    quanta->host = NULL;
}

static weft_tensor quanta_of(const tensor_quanta *quanta, int64_t cols)
{
    return tensor_view(&quanta->on, 0, 1, 0, cols);
}

weft_status tensor_quanta_measure(tensor_quanta *quanta, const weft_tensor *x, const weft_tensor *scale)
{
    weft_tensor largest = quanta_of(quanta, x->cols);
    WEFT_TRY(tensor_check_alike("fixed_largest", "x", x, &quanta->on));
    WEFT_TRY(tensor_check_vector("fixed_largest", "scale", scale, x->rows, 1, x));
    WEFT_TRY(hal_fixed_largest(
        x->hal,
        &(hal_fixed_largest_args){.x = tensor_mat(x), .scale = tensor_mat(scale), .out = tensor_mat(&largest)}));
    return x->hal->mem.download(x->hal, quanta->host, largest.data, (size_t)x->cols * sizeof *quanta->host);
}

weft_status tensor_quanta_set(tensor_quanta *quanta, int32_t most, int64_t cols)
{
    weft_hal *hal = quanta->on.hal;
    for (int64_t j = 0; j < cols; ++j) {
        quanta->host[j] = hal_fixed_quantum(quanta->host[j], most);
    }
    return hal->mem.upload(hal, quanta->on.data, quanta->host, (size_t)cols * sizeof *quanta->host);
}

weft_status tensor_fixed_rows(const weft_tensor *x, const weft_tensor *scale, const tensor_quanta *quanta,
                              weft_tensor *q)
{
    const weft_tensor of_columns = quanta_of(quanta, x->cols);
    WEFT_TRY(tensor_check_near("fixed_rows", "x", x, q));
    WEFT_TRY(tensor_check_shape("fixed_rows", "x", x, q->rows, q->cols));
    WEFT_TRY(tensor_check_vector("fixed_rows", "scale", scale, x->rows, 1, x));
    return hal_fixed_rows(q->hal, &(hal_fixed_rows_args){.x = tensor_mat(x),
                                                         .scale = tensor_mat(scale),
                                                         .quantum = tensor_mat(&of_columns),
                                                         .q = tensor_mat(q)});
}

weft_status tensor_fixed_run(const tensor_sparse *a, const weft_tensor *x, const tensor_quanta *quanta,
                             const tensor_spmm_terms *terms, weft_tensor *out)
{
    const weft_tensor of_columns = quanta != NULL ? quanta_of(quanta, x->cols) : (weft_tensor){0};
    WEFT_TRY(tensor_check_near("fixed_run", "x", x, out));
    WEFT_TRY(tensor_check_shape("fixed_run", "x", x, a->cols, out->cols));
    WEFT_TRY(tensor_check_shape("fixed_run", "out", out, a->rows, x->cols));
    WEFT_TRY(tensor_check_vector("fixed_run", "pre", terms->pre, a->cols, 1, out));
    WEFT_TRY(tensor_check_vector("fixed_run", "post", terms->post, a->rows, 1, out));
    WEFT_TRY(tensor_check_vector("fixed_run", "diag", terms->diag, a->rows, 1, out));
    WEFT_CHECK(x->data != out->data || out->data == NULL, WEFT_ERR_INTERNAL, "fixed_run: out must not be x");
    return hal_fixed_run(out->hal,
                         &(hal_fixed_run_args){.x = tensor_mat(x),
                                               .pre = tensor_mat(terms->pre),
                                               .quantum = quanta != NULL ? tensor_mat(&of_columns) : tensor_mat(NULL),
                                               .post = tensor_mat(terms->post),
                                               .diag = tensor_mat(terms->diag),
                                               .out = tensor_mat(out),
                                               .matrix = a->spmm,
                                               .entries = a->entries,
                                               .beta = terms->beta,
                                               .slice = terms->slice,
                                               .slices = terms->slices});
}

weft_status tensor_fixed_finish(const weft_tensor *sum, const tensor_quanta *quanta, const tensor_spmm_terms *terms,
                                const weft_tensor *x, weft_tensor *out)
{
    const weft_tensor of_columns = quanta_of(quanta, out->cols);
    WEFT_TRY(tensor_check_near("fixed_finish", "sum", sum, out));
    WEFT_TRY(tensor_check_shape("fixed_finish", "sum", sum, out->rows, out->cols));
    WEFT_TRY(tensor_check_same("fixed_finish", "x", x, out));
    WEFT_TRY(tensor_check_vector("fixed_finish", "post", terms->post, out->rows, 1, out));
    WEFT_TRY(tensor_check_vector("fixed_finish", "diag", terms->diag, out->rows, 1, out));
    return hal_fixed_finish(out->hal,
                            &(hal_fixed_finish_args){.sum = tensor_mat(sum),
                                                     .quantum = tensor_mat(&of_columns),
                                                     .post = tensor_mat(terms->post),
                                                     .diag = tensor_mat(terms->diag),
                                                     .x = terms->diag != NULL ? tensor_mat(x) : tensor_mat(NULL),
                                                     .out = tensor_mat(out),
                                                     .beta = terms->beta});
}
