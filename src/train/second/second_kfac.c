/*
 * train/second/second_kfac.c: both sides: P = Qa ((Qa^T g Qg) / (la lg^T + rho a b)) Qg^T, where A = Qa la Qa^T and
 * G = Qg lg Qg^T. Eigenvectors damp the product of the factors exactly; they cost 7 to 20 products of a factor with
 * itself. Eigenvalues below 0 are rounding and count as 0. A wide layer has its input side and the number b.
 */
#include "train/second/second_internal.h"

#include <math.h>

/* [out] value: eigenvalues on the host, none below 0. */
static weft_status decompose(train_second *s, second_side *side, void *value, bool *good)
{
    int32_t info = 0;
    weft_tensor a = second_view(&s->work, s->params->dtype, side->n, side->n);
    weft_tensor values = tensor_view(&s->values, 0, 1, 0, side->n);
    const hal_unpack_triangle_args unpack = {.packed = tensor_mat(&side->factor), .a = tensor_mat(&a)};
    const hal_syevd_args find = {.a = tensor_mat(&a),
                                 .vectors = tensor_mat(&side->matrix),
                                 .values = tensor_mat(&values),
                                 .info = tensor_mat(&s->info)};
    WEFT_TRY(hal_unpack_triangle(s->hal, &unpack));
    WEFT_TRY(hal_syevd(s->hal, &find));
    WEFT_TRY(tensor_download(&s->info, &info));
    WEFT_TRY(tensor_download(&values, value));
    for (int64_t i = 0; i < side->n; ++i) {
        second_put(s, value, i, fmax(second_number(s, value, i), 0.0));
    }
    *good = info == 0;
    return WEFT_OK;
}

/* What the rotated gradient is multiplied with, in its shape. */
static weft_status write_scale(train_second *s, second_layer *layer, const void *rows, const void *cols, void *scale)
{
    const second_side *side = layer->side;
    const double gamma = layer->damping * side[SECOND_IN].mean * side[SECOND_OUT].mean;
    for (int64_t i = 0; i < layer->scale.rows; ++i) {
        for (int64_t j = 0; j < layer->scale.cols; ++j) {
            const double product = second_number(s, rows, i) * second_number(s, cols, j);
            second_put(s, scale, i * layer->scale.cols + j, 1.0 / (product + gamma));
        }
    }
    return tensor_upload(&layer->scale, scale);
}

weft_status second_kfac_prepare(train_second *s, second_layer *layer)
{
    const int first = layer->map->transposed ? SECOND_OUT : SECOND_IN; /* side of the gradient's rows */
    second_side *left = &layer->side[first], *right = &layer->side[SECOND_SIDES - 1 - first];
    unsigned char *value[2] = {s->host[0],
                               (unsigned char *)s->host[0] + (size_t)left->n * weft_dtype_bytes(s->params->dtype)};
    bool good[2] = {false, false};
    if (layer->wide) {
        return second_wide_prepare(s, layer);
    }
    if (!left->held || !right->held) {
        return WEFT_OK;
    }
    second_find_damping(s, layer);
    WEFT_TRY(decompose(s, left, value[0], &good[0]));
    WEFT_TRY(decompose(s, right, value[1], &good[1]));
    layer->inverted = good[0] && good[1] && left->mean > 0.0 && right->mean > 0.0;
    s->figures.refused += layer->inverted ? 0 : 1;
    return layer->inverted ? write_scale(s, layer, value[0], value[1], s->host[1]) : WEFT_OK;
}

weft_status second_kfac_turn(train_second *s, second_layer *layer)
{
    const int first = layer->map->transposed ? SECOND_OUT : SECOND_IN;
    const weft_tensor *left = &layer->side[first].matrix, *right = &layer->side[SECOND_SIDES - 1 - first].matrix;
    const int64_t rows = layer->gradient.rows, cols = layer->gradient.cols, half = s->work.cols / 2;
    const weft_tensor second_half = tensor_view(&s->work, 0, 1, half, half);
    if (layer->wide) {
        return second_input_turn(s, layer);
    }
    weft_tensor one = second_view(&s->work, s->params->dtype, rows, cols);
    weft_tensor other = second_view(&second_half, s->params->dtype, rows, cols);
    WEFT_TRY(tensor_gemm(&(tensor_product){.a = left, .b = &layer->gradient}, &one));
    WEFT_TRY(tensor_gemm(&(tensor_product){.a = &one, .b = right, .trans_b = true}, &other));
    WEFT_TRY(tensor_head_scale(&layer->scale, false, &other, 0.0, &one)); /* heads of one column: by element */
    WEFT_TRY(tensor_gemm(&(tensor_product){.a = left, .b = &one, .trans_a = true}, &other));
    return tensor_gemm(&(tensor_product){.a = &other, .b = right}, &layer->direction);
}
