/*
 * hal/cpu/library/onednn_conv.c: convolutions by the library.
 *
 * Activations stay in NHWC; the library chooses the layout of weights ("any"), for each number of images and pass by
 * itself. A pass packs its weights when it begins, gradients come back through one reorder. Bias, sum and ReLU ride on
 * the forward primitive.
 *
 *      weight OIHW float32 --pack--> packed (library's layout) --> forward, backward data
 *      backward weights --> staging (library's layout) --unpack, or add--> dweight OIHW float32
 *
 * Packed weights, staging and scratch are the backend's, one for all convolutions.
 */
#include "hal/cpu/library/onednn.h"

#ifdef WEFT_HAVE_ONEDNN

#include <stdio.h>
#include <string.h>

#include "hal/cpu/library/onednn_context.h"

/* What runs for one number of images. */
typedef struct conv_size {
    onednn_step step[CONV_PASSES];
    bool plain[CONV_PASSES];       /* weights, or their gradients, are in the caller's layout */
    onednn_step pack[CONV_PASSES]; /* else: from there; none of gradients */
    size_t gradient_bytes;
    onednn_step unpack[2]; /* to the caller's layout: replacing, adding */
} conv_size;

struct onednn_conv {
    onednn *library;
    hal_conv_shape shape;
    int sizes;
    owned_desc caller; /* weights as the caller has them */
    conv_size size[HAL_CONV_SIZES];
};

enum { LINE = 64 };

static size_t whole_lines(size_t bytes)
{
    return (bytes + LINE - 1) / LINE * LINE;
}

/* ---- descriptors ------------------------------------------------------------------------------------------------- */

static dnnl_status_t describe_weights(const hal_conv_shape *s, dnnl_data_type_t type, bool any, owned_desc *desc)
{
    dnnl_dims_t plain = {s->out, s->in, s->kernel[0], s->kernel[1]};
    dnnl_dims_t grouped = {s->groups, s->out / s->groups, s->in / s->groups, s->kernel[0], s->kernel[1]};
    if (s->groups == 1) {
        return desc_by_tag(desc, 4, plain, type, any ? dnnl_format_tag_any : dnnl_oihw);
    }
    return desc_by_tag(desc, 5, grouped, type, any ? dnnl_format_tag_any : dnnl_goihw);
}

static dnnl_status_t describe(const hal_conv_shape *s, int64_t images, conv_pass pass, conv_desc *d)
{
    const dnnl_data_type_t type = s->dtype == WEFT_DTYPE_BF16 ? dnnl_bf16 : dnnl_f32;
    int64_t extent[2];
    hal_conv_extent(s, extent);
    memset(d, 0, sizeof *d);
    d->has_bias = s->bias;
    for (int i = 0; i < 2; ++i) {
        d->stride[i] = s->stride[i];
        d->dilation[i] = s->dilation[i] - 1;
        d->before[i] = s->pad[i][0];
        d->behind[i] = s->pad[i][1];
    }
    TRY_DNNL(desc_by_tag(&d->x, 4, (dnnl_dims_t){images, s->in, s->height, s->width}, type, dnnl_nhwc));
    TRY_DNNL(desc_by_tag(&d->y, 4, (dnnl_dims_t){images, s->out, extent[0], extent[1]}, type, dnnl_nhwc));
    TRY_DNNL(desc_by_tag(&d->bias, 1, (dnnl_dims_t){s->out}, dnnl_f32, dnnl_a));
    return describe_weights(s, pass == CONV_BACKWARD_WEIGHTS ? dnnl_f32 : type, true, &d->weight);
}

static void conv_desc_destroy(conv_desc *d)
{
    desc_destroy(&d->x);
    desc_destroy(&d->y);
    desc_destroy(&d->bias);
    desc_destroy(&d->weight);
}

/* A pass as the library would run it; NULL when it cannot. */
static weft_status pass_describe(const onednn_conv *conv, int64_t images, conv_pass pass,
                                 const_dnnl_primitive_desc_t hint, dnnl_primitive_desc_t *out)
{
    const hal_conv_shape *s = &conv->shape;
    const bool forward = pass == CONV_FORWARD;
    conv_desc d;
    dnnl_primitive_attr_t attr = NULL;
    *out = NULL;
    dnnl_status_t status = describe(s, images, pass, &d);
    if (status == dnnl_success) {
        status = onednn_attr_create(forward && s->add ? 1.0F : 0.0F, forward && s->relu, &attr);
    }
    if (status == dnnl_success) {
        status = conv_desc_create(out, conv->library->engine, pass, s->training, &d, hint, attr);
    }
    if (attr != NULL) {
        dnnl_primitive_attr_destroy(attr);
    }
    conv_desc_destroy(&d);
    WEFT_CHECK(status == dnnl_success || status == dnnl_unimplemented || status == dnnl_invalid_arguments,
               WEFT_ERR_RESOURCE, "%s: no convolution (status %d)", onednn_version(), (int)status);
    return WEFT_OK;
}

/* ---- layouts of weights ------------------------------------------------------------------------------------------ */

static weft_status reorder_create(onednn *library, read_desc from, read_desc to, bool adds, onednn_step *step)
{
    dnnl_primitive_attr_t attr = NULL;
    dnnl_primitive_desc_t desc = NULL;
    dnnl_status_t made = onednn_attr_create(adds ? 1.0F : 0.0F, false, &attr);
    if (made == dnnl_success) {
        made = dnnl_reorder_primitive_desc_create(&desc, from, library->engine, to, library->engine, attr);
    }
    weft_status status = made == dnnl_success ? onednn_step_create(library, desc, step)
                                              : weft_fail(WEFT_ERR_RESOURCE, "%s: no reorder of weights (status %d)",
                                                          onednn_version(), (int)made);
    if (status == WEFT_OK) {
        status = onednn_step_argument(library, step, DNNL_ARG_FROM, from);
    }
    if (status == WEFT_OK) {
        status = onednn_step_argument(library, step, DNNL_ARG_TO, to);
    }
    if (desc != NULL) {
        dnnl_primitive_desc_destroy(desc);
    }
    if (attr != NULL) {
        dnnl_primitive_attr_destroy(attr);
    }
    return status;
}

/* How a pass gets weights in the layout `desc`. */
static weft_status pack_create(onednn_conv *conv, read_desc desc, conv_pass pass, conv_size *size)
{
    size->plain[pass] = dnnl_memory_desc_equal(desc, desc_read(&conv->caller)) != 0;
    if (size->plain[pass]) {
        return WEFT_OK;
    }
    WEFT_TRY(onednn_room_grow(&conv->library->packed, dnnl_memory_desc_get_size(desc)));
    return reorder_create(conv->library, desc_read(&conv->caller), desc, false, &size->pack[pass]);
}

/* ---- making one -------------------------------------------------------------------------------------------------- */

/* Whether a name such as "brgconv:avx512_core" or "x64:gemm:jit" is that of a fall-back. */
static bool is_slow(const char *name)
{
    return strncmp(name, "gemm", 4) == 0 || strncmp(name, "ref", 3) == 0 || strstr(name, ":gemm") != NULL ||
           strstr(name, ":ref") != NULL;
}

static void note_name(const_dnnl_primitive_desc_t desc, char *name, bool *slow)
{
    const char *text = "";
    (void)dnnl_primitive_desc_query(desc, dnnl_query_impl_info_str, 0, (void *)&text);
    if (name[0] == '\0' || is_slow(text)) {
        snprintf(name, sizeof((hal_conv_info *)NULL)->forward, "%s", text);
    }
    *slow = *slow || is_slow(text);
}

static weft_status argument(onednn *library, onednn_step *step, const_dnnl_primitive_desc_t desc, int number,
                            dnnl_query_t what, int index)
{
    return onednn_step_argument(library, step, number, dnnl_primitive_desc_query_md(desc, what, index));
}

static weft_status forward_step(onednn_conv *conv, const_dnnl_primitive_desc_t desc, conv_size *size)
{
    onednn *library = conv->library;
    onednn_step *step = &size->step[CONV_FORWARD];
    read_desc weight = dnnl_primitive_desc_query_md(desc, dnnl_query_weights_md, 0);
    WEFT_TRY(pack_create(conv, weight, CONV_FORWARD, size));
    WEFT_TRY(onednn_step_create(library, desc, step));
    WEFT_TRY(argument(library, step, desc, DNNL_ARG_SRC, dnnl_query_src_md, 0));
    WEFT_TRY(onednn_step_argument(library, step, DNNL_ARG_WEIGHTS, weight));
    WEFT_TRY(argument(library, step, desc, DNNL_ARG_DST, dnnl_query_dst_md, 0));
    return !conv->shape.bias ? WEFT_OK : argument(library, step, desc, DNNL_ARG_BIAS, dnnl_query_weights_md, 1);
}

static weft_status data_step(onednn_conv *conv, const_dnnl_primitive_desc_t desc, conv_size *size)
{
    onednn *library = conv->library;
    onednn_step *step = &size->step[CONV_BACKWARD_DATA];
    read_desc weight = dnnl_primitive_desc_query_md(desc, dnnl_query_weights_md, 0);
    WEFT_TRY(pack_create(conv, weight, CONV_BACKWARD_DATA, size));
    WEFT_TRY(onednn_step_create(library, desc, step));
    WEFT_TRY(argument(library, step, desc, DNNL_ARG_DIFF_DST, dnnl_query_diff_dst_md, 0));
    WEFT_TRY(onednn_step_argument(library, step, DNNL_ARG_WEIGHTS, weight));
    return argument(library, step, desc, DNNL_ARG_DIFF_SRC, dnnl_query_diff_src_md, 0);
}

static weft_status weights_step(onednn_conv *conv, const_dnnl_primitive_desc_t desc, conv_size *size)
{
    onednn *library = conv->library;
    onednn_step *step = &size->step[CONV_BACKWARD_WEIGHTS];
    read_desc gradient = dnnl_primitive_desc_query_md(desc, dnnl_query_diff_weights_md, 0);
    read_desc caller = desc_read(&conv->caller);
    size->plain[CONV_BACKWARD_WEIGHTS] = dnnl_memory_desc_equal(gradient, caller) != 0;
    size->gradient_bytes = whole_lines(dnnl_memory_desc_get_size(gradient));
    WEFT_TRY(onednn_room_grow(&library->staging, size->gradient_bytes + (size_t)conv->shape.out * sizeof(float)));
    WEFT_TRY(onednn_step_create(library, desc, step));
    WEFT_TRY(argument(library, step, desc, DNNL_ARG_SRC, dnnl_query_src_md, 0));
    WEFT_TRY(argument(library, step, desc, DNNL_ARG_DIFF_DST, dnnl_query_diff_dst_md, 0));
    WEFT_TRY(onednn_step_argument(library, step, DNNL_ARG_DIFF_WEIGHTS, gradient));
    if (conv->shape.bias) {
        WEFT_TRY(argument(library, step, desc, DNNL_ARG_DIFF_BIAS, dnnl_query_diff_weights_md, 1));
    }
    WEFT_TRY(reorder_create(library, gradient, caller, false, &size->unpack[0]));
    return reorder_create(library, gradient, caller, true, &size->unpack[1]);
}

/* [out] lacks  whether the library has no implementation of some pass. */
static weft_status size_create(onednn_conv *conv, int64_t images, bool backward_weights, conv_size *size,
                               hal_conv_info *info, bool *lacks)
{
    static weft_status (*const make[])(onednn_conv *, const_dnnl_primitive_desc_t,
                                       conv_size *) = {forward_step, data_step, weights_step};
    char *name[] = {info->forward, info->backward_data, info->backward_weights};
    const bool wanted[] = {true, conv->shape.training && conv->shape.backward_data, backward_weights};
    dnnl_primitive_desc_t desc[CONV_PASSES] = {NULL};
    weft_status status = WEFT_OK;
    for (int pass = CONV_FORWARD; pass < CONV_PASSES && status == WEFT_OK && !*lacks; ++pass) {
        if (wanted[pass]) {
            status = pass_describe(conv, images, (conv_pass)pass, desc[CONV_FORWARD], &desc[pass]);
            *lacks = desc[pass] == NULL;
            if (!*lacks && status == WEFT_OK) {
                note_name(desc[pass], name[pass], &info->slow);
                status = make[pass](conv, desc[pass], size);
            }
        }
    }
    for (int pass = CONV_FORWARD; pass < CONV_PASSES; ++pass) {
        if (desc[pass] != NULL) {
            dnnl_primitive_desc_destroy(desc[pass]);
        }
    }
    return status;
}

weft_status onednn_conv_create(onednn *library, const hal_conv *common, bool backward_weights, onednn_conv **out,
                               hal_conv_info *info)
{
    onednn_conv *conv = NULL;
    bool lacks = false;
    *out = NULL;
    *info = (hal_conv_info){.slow = false};
    WEFT_TRY(WEFT_NEW_ZERO(&conv, 1, WEFT_MEM_WORKSPACE));
    conv->library = library;
    conv->shape = common->shape;
    conv->sizes = common->sizes;
    int before = onednn_enter(library);
    weft_status status = WEFT_OK;
    if (describe_weights(&conv->shape, dnnl_f32, false, &conv->caller) != dnnl_success) {
        status = weft_fail(WEFT_ERR_RESOURCE, "%s: no descriptor of weights", onednn_version());
    }
    for (int i = 0; i < common->sizes && status == WEFT_OK && !lacks; ++i) {
        if (common->images[i] > 0) {
            status = size_create(conv, common->images[i], backward_weights, &conv->size[i], info, &lacks);
        }
    }
    onednn_leave(library, before);
    if (status != WEFT_OK || lacks) {
        onednn_conv_destroy(conv);
        return status;
    }
    *out = conv;
    return WEFT_OK;
}

void onednn_conv_destroy(onednn_conv *conv)
{
    if (conv == NULL) {
        return;
    }
    for (int i = 0; i < conv->sizes; ++i) {
        for (int pass = 0; pass < CONV_PASSES; ++pass) {
            onednn_step_destroy(&conv->size[i].step[pass]);
            onednn_step_destroy(&conv->size[i].pack[pass]);
        }
        onednn_step_destroy(&conv->size[i].unpack[0]);
        onednn_step_destroy(&conv->size[i].unpack[1]);
    }
    desc_destroy(&conv->caller);
    weft_free(conv);
}

/* ---- running ----------------------------------------------------------------------------------------------------- */

/* The caller's weights as a pass reads them, until the next pass of any convolution. */
static weft_status weights_for(const onednn_conv *conv, int size, conv_pass pass, const float *weight, void **packed)
{
    const conv_size *s = &conv->size[size];
    *packed = s->plain[pass] ? onednn_reads(weight) : conv->library->packed.memory;
    return s->plain[pass] ? WEFT_OK
                          : onednn_step_run(conv->library, &s->pack[pass], (void *[]){onednn_reads(weight), *packed});
}

weft_status onednn_conv_forward(const onednn_conv *conv, int size, const void *x, const float *weight,
                                const float *bias, void *y)
{
    void *weights = NULL;
    WEFT_TRY(weights_for(conv, size, CONV_FORWARD, weight, &weights));
    return onednn_step_run(conv->library, &conv->size[size].step[CONV_FORWARD],
                           (void *[]){onednn_reads(x), weights, y, onednn_reads(bias)});
}

weft_status onednn_conv_backward_data(const onednn_conv *conv, int size, const void *dy, const float *weight, void *dx)
{
    void *weights = NULL;
    WEFT_TRY(weights_for(conv, size, CONV_BACKWARD_DATA, weight, &weights));
    return onednn_step_run(conv->library, &conv->size[size].step[CONV_BACKWARD_DATA],
                           (void *[]){onednn_reads(dy), weights, dx});
}

weft_status onednn_conv_backward_weights(const onednn_conv *conv, int size, const void *x, const void *dy,
                                         float *dweight, float *dbias, bool adds)
{
    const conv_size *s = &conv->size[size];
    char *staging = conv->library->staging.memory;
    float *own_dbias = (float *)(void *)(staging + s->gradient_bytes);
    const bool direct = s->plain[CONV_BACKWARD_WEIGHTS] && !adds;
    WEFT_TRY(onednn_step_run(
        conv->library, &s->step[CONV_BACKWARD_WEIGHTS],
        (void *[]){onednn_reads(x), onednn_reads(dy), direct ? (void *)dweight : staging, adds ? own_dbias : dbias}));
    for (int64_t o = 0; conv->shape.bias && adds && o < conv->shape.out; ++o) {
        dbias[o] += own_dbias[o];
    }
    return direct ? WEFT_OK : onednn_step_run(conv->library, &s->unpack[adds ? 1 : 0], (void *[]){staging, dweight});
}

#endif
