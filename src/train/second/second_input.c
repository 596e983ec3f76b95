/*
 * train/second/second_input.c: the input side as a matrix, the output side as one number: P = (A + rho a I)^-1 g / b.
 *
 * The explicit inverse is kept, because a product with it runs at twice the speed of two triangular solves. A factor
 * that rounding left without a Cholesky factor gets more damping, ten times as much each time: with MOST times its mean
 * eigenvalue every finite matrix has one. A factor of zeros (inputs that are all zero) has no inverse, and needs none:
 * the gradient is zero too.
 */
#include "train/second/second_internal.h"

#include <math.h>

#define LEAST 1e-6 /* damping of a second try */
#define MOST  1e3  /* damping of the last try */

weft_status second_invert(train_second *s, const weft_tensor *packed, double shift, double relative,
                          weft_tensor *matrix, bool *good)
{
    int32_t info = 0;
    const hal_unpack_triangle_args unpack = {
        .packed = tensor_mat(packed), .a = tensor_mat(matrix), .shift = shift, .relative = relative};
    const hal_potrf_args factorise = {.a = tensor_mat(matrix), .info = tensor_mat(&s->info)};
    WEFT_TRY(hal_unpack_triangle(s->hal, &unpack));
    WEFT_TRY(hal_potrf(s->hal, &factorise));
    WEFT_TRY(tensor_download(&s->info, &info));
    *good = info == 0;
    return *good ? hal_potri(s->hal, &(hal_potri_args){.a = tensor_mat(matrix)}) : WEFT_OK;
}

weft_status second_invert_side(train_second *s, second_side *side, double relative, bool *good)
{
    const double most = fmax(relative, MOST);
    *good = false;
    for (; side->mean > 0.0 && !*good && relative <= most; relative = fmax(10.0 * relative, LEAST)) {
        WEFT_TRY(second_invert(s, &side->factor, 0.0, relative, &side->matrix, good));
    }
    return WEFT_OK;
}

weft_status second_input_invert(train_second *s, second_layer *layer, int side, bool *good)
{
    second_side *in = &layer->side[side];
    if (layer->wide) {
        return second_wide_invert(s, layer, good);
    }
    second_find_damping(s, layer);
    return second_invert_side(s, in, layer->damping, good);
}

weft_status second_input_turn(train_second *s, second_layer *layer)
{
    const second_side *out = &layer->side[SECOND_OUT];
    const weft_tensor *inverse = &layer->side[SECOND_IN].matrix;
    const bool turned = layer->map->transposed;
    if (layer->wide) {
        WEFT_TRY(second_wide_turn(s, layer));
    } else {
        const tensor_product product = {.a = turned ? &layer->gradient : inverse,
                                        .b = turned ? inverse : &layer->gradient};
        WEFT_TRY(tensor_gemm(&product, &layer->direction));
    }
    const weft_tensor direction = layer->direction;
    return tensor_axpby(1.0 / out->mean, &direction, 0.0, &layer->direction);
}
