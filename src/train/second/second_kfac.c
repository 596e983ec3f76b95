/*
 * train/second/second_kfac.c: both sides. A wide layer has its input side and the number b.
 *
 *      by eigenvectors    P = Qa ((Qa^T g Qg) / (la lg^T + rho a b)) Qg^T    A = Qa la Qa^T, G = Qg lg Qg^T
 *      by inverses        P = (A + r a I)^-1 g (G + r b I)^-1                r^2 = rho
 *
 * Eigenvectors damp the product of the factors exactly; they cost 7 to 20 products of a factor with itself. Eigenvalues
 * below 0 are rounding errors and count as 0. Inverses cost 2 to 5 products, and half as much in a step. Their damped
 * product has two more terms, r a I (x) G and A (x) r b I, which the choice of r a and r b makes equally large (the pi
 * of Martens and Grosse).
 */
#include "train/second/second_internal.h"

#include <math.h>

/* The eigenvalues of a side, behind its eigenvectors. */
static weft_tensor values_of(const second_side *side)
{
    return tensor_view(&side->result, side->n, 1, 0, side->n);
}

static weft_status decompose(train_second *s, second_side *side, bool *good)
{
    int32_t info = 0;
    weft_tensor a = second_view(&s->work[0], s->params->dtype, side->n, side->n);
    weft_tensor values = values_of(side);
    const hal_unpack_triangle_args unpack = {.packed = tensor_mat(&side->factor), .a = tensor_mat(&a)};
    const hal_syevd_args find = {.a = tensor_mat(&a),
                                 .vectors = tensor_mat(&side->matrix),
                                 .values = tensor_mat(&values),
                                 .info = tensor_mat(&s->info)};
    WEFT_TRY(hal_unpack_triangle(s->hal, &unpack));
    WEFT_TRY(hal_syevd(s->hal, &find));
    WEFT_TRY(tensor_download(&s->info, &info));
    *good = info == 0 && side->mean > 0.0;
    return WEFT_OK;
}

weft_status second_kfac_invert(train_second *s, second_layer *layer, int which, bool *good)
{
    second_side *side = &layer->side[which];
    if (layer->wide) {
        return second_wide_invert(s, layer, good);
    }
    second_find_damping(s, layer);
    return s->options.solve == SECOND_EIGEN ? decompose(s, side, good)
                                            : second_invert_side(s, side, sqrt(layer->damping), good);
}

/* What the rotated gradient is multiplied with, in its shape. */
static weft_status write_scale(train_second *s, second_layer *layer, const void *rows, const void *cols, void *scale)
{
    const second_side *side = layer->side;
    const double gamma = layer->damping * side[SECOND_IN].mean * side[SECOND_OUT].mean;
    for (int64_t i = 0; i < layer->scale.rows; ++i) {
        for (int64_t j = 0; j < layer->scale.cols; ++j) {
            const double product = fmax(second_number(s, rows, i), 0.0) * fmax(second_number(s, cols, j), 0.0);
            second_put(s, scale, i * layer->scale.cols + j, 1.0 / (product + gamma));
        }
    }
    return tensor_upload(&layer->scale, scale);
}

weft_status second_kfac_finish(train_second *s, second_layer *layer)
{
    const int first = layer->map->transposed ? SECOND_OUT : SECOND_IN; /* side of the gradient's rows */
    const second_side *left = &layer->side[first], *right = &layer->side[SECOND_SIDES - 1 - first];
    if (s->options.solve == SECOND_INVERSE) {
        return WEFT_OK;
    }
    unsigned char *rows = s->host[0], *cols = rows + (size_t)left->n * weft_dtype_bytes(s->params->dtype);
    const weft_tensor of_rows = values_of(left), of_cols = values_of(right);
    WEFT_TRY(tensor_download(&of_rows, rows));
    WEFT_TRY(tensor_download(&of_cols, cols));
    return write_scale(s, layer, rows, cols, s->host[1]);
}

weft_status second_kfac_turn(train_second *s, second_layer *layer)
{
    const int first = layer->map->transposed ? SECOND_OUT : SECOND_IN;
    const weft_tensor *left = &layer->side[first].matrix, *right = &layer->side[SECOND_SIDES - 1 - first].matrix;
    const int64_t rows = layer->gradient.rows, cols = layer->gradient.cols;
    if (layer->wide) {
        return second_input_turn(s, layer);
    }
    weft_tensor one = second_view(&s->work[0], s->params->dtype, rows, cols);
    weft_tensor other = second_view(&s->work[1], s->params->dtype, rows, cols);
    WEFT_TRY(tensor_gemm(&(tensor_product){.a = left, .b = &layer->gradient}, &one));
    if (s->options.solve == SECOND_INVERSE) {
        return tensor_gemm(&(tensor_product){.a = &one, .b = right}, &layer->direction);
    }
    WEFT_TRY(tensor_gemm(&(tensor_product){.a = &one, .b = right, .trans_b = true}, &other));
    WEFT_TRY(tensor_head_scale(&layer->scale, false, &other, 0.0, &one)); /* heads of one column: by element */
    WEFT_TRY(tensor_gemm(&(tensor_product){.a = left, .b = &one, .trans_a = true}, &other));
    return tensor_gemm(&(tensor_product){.a = &other, .b = right}, &layer->direction);
}
