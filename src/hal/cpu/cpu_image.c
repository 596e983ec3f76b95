/*
 * hal/cpu/cpu_image.c: convolutions by the library where it has them, else by the reference: float64, a build without
 * oneDNN, a backend that is capped. Weights of 1 x 1 kernels in bfloat16 have gradients that are one product of
 * matrices: gemm/cpu_gemm_pairs.c, 1.1 to 1.6 times as fast as the library's. Kernels of 3 x 3 go through transformed
 * tiles where the caller allows it: winograd/.
 */
#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/log.h"
#include "hal/cpu/cpu_backend.h"
#include "hal/cpu/library/onednn.h"
#include "hal/table/op_table.h"

typedef struct cpu_conv {
    hal_conv common;
    /* One of these, or info.winograd. */
    onednn_conv *fast;
    hal_conv *plain; /* the reference's */
    bool pairs;      /* beside `fast`: backward_weights is a product of pairs */
    hal_conv_info info;
} cpu_conv;

static const cpu_conv *cpu_conv_of(const hal_conv *conv)
{
    return (const cpu_conv *)conv;
}

static void cpu_conv_destroy(weft_hal *hal, hal_conv *conv)
{
    if (conv != NULL) {
        cpu_conv *own = (cpu_conv *)conv;
        onednn_conv_destroy(own->fast);
        cpu_state_of(hal)->ref.image.conv_destroy(&cpu_state_of(hal)->ref, own->plain);
        weft_free(own);
    }
}

static void log_choice(const hal_conv_shape *s, const hal_conv_info *info)
{
    log_debug("convolution %" PRId64 "x%" PRId64 "/%" PRId64 " %" PRId64 "-%" PRId64 "@%" PRId64 "x%" PRId64
              " %s: forward %s, backward data %s, weights %s%s",
              s->kernel[0], s->kernel[1], s->stride[0], s->in, s->out, s->height, s->width, weft_dtype_name(s->dtype),
              info->forward, info->backward_data[0] != '\0' ? info->backward_data : "-",
              info->backward_weights[0] != '\0' ? info->backward_weights : "-", info->slow ? " (slow)" : "");
}

/* Kernels of one pixel, no padding: x and dy are matrices whose rows belong together. */
static bool is_product(const hal_conv_shape *s)
{
    return s->groups == 1 && s->kernel[0] == 1 && s->kernel[1] == 1 && s->pad[0][0] == 0 && s->pad[0][1] == 0 &&
           s->pad[1][0] == 0 && s->pad[1][1] == 0;
}

/* The product for a number of images, without its matrices. */
static cpu_pair_product product_of(const hal_conv_shape *s, int64_t images)
{
    int64_t extent[2];
    hal_conv_extent(s, extent);
    return (cpu_pair_product){
        .m = s->out,
        .n = s->in,
        .k = images * extent[0] * extent[1],
        .lda = s->out,
        .ldb = s->in,
        .pixels = {.height = s->height,
                   .width = s->width,
                   .down = extent[0],
                   .across = extent[1],
                   .stride = {s->stride[0] == 1 && s->stride[1] == 1 ? 0 : s->stride[0], s->stride[1]}},
        .ldc = s->in};
}

static weft_status prepare_pairs(weft_hal *hal, cpu_conv *conv)
{
    snprintf(conv->info.backward_weights, sizeof conv->info.backward_weights, "weft pairs:avx512_bf16");
    for (int i = 0; i < conv->common.sizes; ++i) {
        const cpu_pair_product g = product_of(&conv->common.shape, conv->common.images[i]);
        WEFT_TRY(cpu_pairs_prepare(hal, g.m, g.n, g.k));
    }
    return WEFT_OK;
}

static weft_status prepare_winograd(weft_hal *hal, const char *name, cpu_conv *conv)
{
    char *const pass_name[] = {conv->info.forward, conv->info.backward_data, conv->info.backward_weights};
    const bool wanted[] = {true, conv->common.shape.training && conv->common.shape.backward_data,
                           conv->common.shape.training};
    for (int pass = 0; pass < 3; ++pass) {
        if (wanted[pass]) {
            snprintf(pass_name[pass], sizeof conv->info.forward, "%s", name);
        }
    }
    for (int i = 0; i < conv->common.sizes; ++i) {
        WEFT_TRY(cpu_winograd_prepare(hal, &conv->common.shape, conv->common.images[i]));
    }
    return WEFT_OK;
}

/* Without convolutions of its own: the library's, then the reference's. */
static weft_status prepare_direct(weft_hal *hal, cpu_conv *conv)
{
    cpu_state *state = cpu_state_of(hal);
    const hal_conv_shape *shape = &conv->common.shape;
    if (state->library != NULL && !shape->norm && (shape->dtype == WEFT_DTYPE_F32 || shape->dtype == WEFT_DTYPE_BF16)) {
        conv->pairs = state->kernels.pairs != NULL && shape->dtype == WEFT_DTYPE_BF16 && shape->training &&
                      !shape->bias && is_product(shape);
        WEFT_TRY(onednn_conv_create(state->library, &conv->common, shape->training && !conv->pairs, &conv->fast,
                                    &conv->info));
    }
    conv->pairs = conv->pairs && conv->fast != NULL;
    if (conv->pairs) {
        WEFT_TRY(prepare_pairs(hal, conv));
    }
    if (conv->fast == NULL) {
        WEFT_TRY(
            state->ref.image.conv_create(&state->ref, shape, conv->common.images, conv->common.sizes, &conv->plain));
        conv->info = state->ref.image.conv_info(&state->ref, conv->plain);
    }
    return WEFT_OK;
}

static weft_status cpu_conv_create(weft_hal *hal, const hal_conv_shape *shape, const int64_t *images, int sizes,
                                   hal_conv **out)
{
    weft_status status = WEFT_OK;
    cpu_conv *conv = NULL;
    *out = NULL;
    WEFT_TRY(WEFT_NEW_ZERO(&conv, 1, WEFT_MEM_WORKSPACE));
    WEFT_TRY_GOTO(hal_conv_begin(shape, images, sizes, &conv->common), status, failed);
    const char *winograd = cpu_winograd_name(hal, shape);
    conv->info.winograd = winograd != NULL;
    WEFT_TRY_GOTO(winograd != NULL ? prepare_winograd(hal, winograd, conv) : prepare_direct(hal, conv), status, failed);
    log_choice(shape, &conv->info);
    *out = &conv->common;
    return WEFT_OK;
failed:
    cpu_conv_destroy(hal, &conv->common);
    return status;
}

static hal_conv_info cpu_conv_info(weft_hal *hal, const hal_conv *conv)
{
    (void)hal;
    return cpu_conv_of(conv)->info;
}

static void assert_weight(const hal_conv *conv, const hal_mat *weight)
{
    (void)conv, (void)weight;
    assert(weight->rows == conv->shape.out && weight->cols == hal_conv_terms(&conv->shape));
    assert(weight->ld == weight->cols);
}

static weft_status cpu_conv_forward(weft_hal *hal, const hal_conv_forward_args *a)
{
    const cpu_conv *conv = cpu_conv_of(a->conv);
    weft_dtype dtype;
    int size = 0;
    WEFT_TRY(hal_op_type(HAL_OP_conv_forward, a, &dtype));
    if (conv->plain != NULL) {
        hal_conv_forward_args plain = *a;
        plain.conv = conv->plain;
        return cpu_state_of(hal)->ref.op.conv_forward(&cpu_state_of(hal)->ref, &plain);
    }
    WEFT_TRY(hal_conv_size(a->conv, "conv_forward", &a->x, &a->y, &size));
    WEFT_TRY(hal_conv_bias(a->conv, "conv_forward", &a->bias));
    WEFT_TRY(hal_conv_norm_check(a->conv, "conv_forward", &a->norm));
    assert_weight(a->conv, &a->weight);
    if (size < 0) {
        return WEFT_OK;
    }
    return conv->info.winograd
               ? cpu_winograd_forward(hal, &a->conv->shape, a->conv->images[size], a->x.source, &a->norm,
                                      a->weight.source, a->y.data)
               : onednn_conv_forward(conv->fast, size, a->x.source, a->weight.source, a->bias.source, a->y.data);
}

static weft_status cpu_conv_backward_data(weft_hal *hal, const hal_conv_backward_data_args *a)
{
    const cpu_conv *conv = cpu_conv_of(a->conv);
    weft_dtype dtype;
    int size = 0;
    WEFT_TRY(hal_op_type(HAL_OP_conv_backward_data, a, &dtype));
    if (conv->plain != NULL) {
        hal_conv_backward_data_args plain = *a;
        plain.conv = conv->plain;
        return cpu_state_of(hal)->ref.op.conv_backward_data(&cpu_state_of(hal)->ref, &plain);
    }
    WEFT_TRY(hal_conv_size(a->conv, "conv_backward_data", &a->dx, &a->dy, &size));
    assert_weight(a->conv, &a->weight);
    if (size < 0) {
        return WEFT_OK;
    }
    return conv->info.winograd
               ? cpu_winograd_backward_data(hal, &a->conv->shape, a->conv->images[size], a->dy.source, a->weight.source,
                                            a->dx.data)
               : onednn_conv_backward_data(conv->fast, size, a->dy.source, a->weight.source, a->dx.data);
}

static weft_status cpu_conv_backward_weights(weft_hal *hal, const hal_conv_backward_weights_args *a)
{
    const cpu_conv *conv = cpu_conv_of(a->conv);
    weft_dtype dtype;
    int size = 0;
    WEFT_TRY(hal_op_type(HAL_OP_conv_backward_weights, a, &dtype));
    if (conv->plain != NULL) {
        hal_conv_backward_weights_args plain = *a;
        plain.conv = conv->plain;
        return cpu_state_of(hal)->ref.op.conv_backward_weights(&cpu_state_of(hal)->ref, &plain);
    }
    WEFT_TRY(hal_conv_size(a->conv, "conv_backward_weights", &a->x, &a->dy, &size));
    WEFT_TRY(hal_conv_bias(a->conv, "conv_backward_weights", &a->dbias));
    WEFT_TRY(hal_conv_norm_check(a->conv, "conv_backward_weights", &a->norm));
    assert_weight(a->conv, &a->dweight);
    if (size >= 0 && conv->info.winograd) {
        return cpu_winograd_backward_weights(hal, &a->conv->shape, a->conv->images[size], a->x.source, &a->norm,
                                             a->dy.source, a->dweight.data, a->beta != 0.0);
    }
    if (size >= 0 && conv->pairs) {
        cpu_pair_product g = product_of(&a->conv->shape, a->conv->images[size]);
        g.a = a->dy.source;
        g.b = a->x.source;
        g.c = a->dweight.data;
        g.adds = a->beta != 0.0;
        return cpu_gemm_pairs(hal, &g);
    }
    if (size >= 0) {
        return onednn_conv_backward_weights(conv->fast, size, a->x.source, a->dy.source, a->dweight.data, a->dbias.data,
                                            a->beta != 0.0);
    }
    if (a->beta == 0.0) { /* no images: sums of nothing */
        memset(a->dweight.data, 0, (size_t)(a->dweight.rows * a->dweight.cols) * sizeof(float));
        if (a->dbias.data != NULL) {
            memset(a->dbias.data, 0, (size_t)a->dbias.cols * sizeof(float));
        }
    }
    return WEFT_OK;
}

static bool cpu_conv_norms(const weft_hal *hal, const hal_conv_shape *shape)
{
    return cpu_winograd_name(hal, shape) != NULL;
}

void cpu_image_ops(weft_hal *hal)
{
    hal->image = (hal_image_ops){.conv_create = cpu_conv_create,
                                 .conv_destroy = cpu_conv_destroy,
                                 .conv_info = cpu_conv_info,
                                 .conv_norms = cpu_conv_norms};
    hal->op.conv_forward = cpu_conv_forward;
    hal->op.conv_backward_data = cpu_conv_backward_data;
    hal->op.conv_backward_weights = cpu_conv_backward_weights;
}
