/* clicks/model/click_dots_part.c: the interactions of DLRM; see clicks/model/click_kinds.h.
 *
 *     numbers --bottom MLP--> first [width]
 *     first, v_1 .. v_F --dot products of pairs--> [first | (1, 0) (2, 0) (2, 1) (3, 0) ...] --top MLP--> logit
 *
 * Without numbers there is no bottom MLP, and the pairs are those of the fields alone.
 */
#include <assert.h>

#include "clicks/model/click_mlp.h"

typedef struct dots_part {
    const click_model_desc *desc;
    weft_hal *hal;
    click_mlp bottom, top;
    weft_tensor y, dy;   /* [samples, width + pairs] */
    weft_tensor scratch; /* [threads, click_dots_scratch] */
} dots_part;

static bool has_first(const click_model_desc *desc)
{
    return desc->numbers > 0;
}

static int64_t vectors_of(const click_model_desc *desc)
{
    return desc->fields + (has_first(desc) ? 1 : 0);
}

static int64_t outputs_of(const click_model_desc *desc)
{
    const int64_t vectors = vectors_of(desc);
    return (has_first(desc) ? desc->width : 0) + vectors * (vectors - 1) / 2;
}

static click_mlp_need bottom_need(const click_model_desc *desc)
{
    return (click_mlp_need){.name = "bottom", .sizes = &desc->bottom, .inputs = desc->numbers};
}

static click_mlp_need top_need(const click_model_desc *desc)
{
    return (click_mlp_need){.name = "top",
                            .sizes = &desc->mlp,
                            .inputs = outputs_of(desc),
                            .out = true,
                            .dropout = desc->dropout,
                            .first_mask = CLICK_LAYERS_MOST};
}

static weft_status dots_declare(param_store *params, const click_model_desc *desc, void **self)
{
    const click_mlp_need bottom = bottom_need(desc), top = top_need(desc);
    dots_part *part = NULL;
    WEFT_TRY(WEFT_NEW_ZERO(&part, 1, WEFT_MEM_GENERAL));
    *self = part;
    part->desc = desc;
    part->hal = params->hal;
    WEFT_TRY(has_first(desc) ? click_mlp_declare(&part->bottom, params, desc, &bottom) : WEFT_OK);
    return click_mlp_declare(&part->top, params, desc, &top);
}

static weft_status dots_create(void *self)
{
    dots_part *part = self;
    const click_model_desc *desc = part->desc;
    const int64_t outputs = outputs_of(desc), scratch = click_dots_scratch(vectors_of(desc), desc->width);
    weft_hal *hal = part->hal;
    WEFT_TRY(has_first(desc) ? click_mlp_create(&part->bottom) : WEFT_OK);
    WEFT_TRY(click_mlp_create(&part->top));
    WEFT_TRY(tensor_create(hal, WEFT_DTYPE_F32, hal->threads, scratch, WEFT_MEM_ACTIVATION, &part->scratch));
    WEFT_TRY(tensor_create(hal, WEFT_DTYPE_F32, desc->samples, outputs, WEFT_MEM_ACTIVATION, &part->y));
    return tensor_create(hal, WEFT_DTYPE_F32, desc->training ? desc->samples : 0, outputs, WEFT_MEM_ACTIVATION,
                         &part->dy);
}

static int64_t dots_bytes(const weft_hal *hal, const click_model_desc *desc)
{
    const click_mlp_need bottom = bottom_need(desc), top = top_need(desc);
    const int64_t scratch = hal->threads * click_dots_scratch(vectors_of(desc), desc->width);
    return (has_first(desc) ? click_mlp_bytes(desc, &bottom) : 0) + click_mlp_bytes(desc, &top) +
           (scratch + desc->samples * outputs_of(desc) * (desc->training ? 2 : 1)) * (int64_t)sizeof(float);
}

/* The kernels' arguments. first, dfirst: the values of the bottom MLP's last layer and their gradient. */
static click_dots dots_of(const dots_part *part, const click_pass *pass, const weft_tensor *first,
                          const weft_tensor *dfirst)
{
    return (click_dots){.vectors = vectors_of(part->desc),
                        .width = part->desc->width,
                        .has_first = has_first(part->desc),
                        .first = first->data,
                        .dfirst = dfirst->data,
                        .ld_first = first->ld,
                        .field = pass->x.data,
                        .dfield = pass->dx.data,
                        .ld_field = pass->x.ld,
                        .ld_dfield = pass->dx.ld,
                        .y = part->y.data,
                        .dy = part->dy.data,
                        .ld_y = part->y.ld,
                        .scratch = part->scratch.data};
}

static weft_status dots_forward(void *self, const click_pass *pass)
{
    dots_part *part = self;
    weft_tensor first = {.data = NULL};
    if (has_first(part->desc)) {
        const weft_tensor numbers =
            tensor_view(&pass->x, 0, pass->samples, pass->x.cols - part->desc->numbers, part->desc->numbers);
        WEFT_TRY(click_mlp_forward(&part->bottom, pass, &numbers));
        first = click_mlp_last(&part->bottom, pass->samples);
    }
    const click_dots dots = dots_of(part, pass, &first, &(weft_tensor){.data = NULL});
    activity_begin(ACTIVITY_INTERACT);
    click_dots_forward(part->hal, pass->samples, &dots);
    activity_end(ACTIVITY_INTERACT);
    const weft_tensor y = tensor_view(&part->y, 0, pass->samples, 0, part->y.cols);
    return click_mlp_forward(&part->top, pass, &y);
}

static weft_status dots_backward(void *self, const click_pass *pass, double beta)
{
    dots_part *part = self;
    const bool first = has_first(part->desc);
    weft_tensor dy = tensor_view(&part->dy, 0, pass->samples, 0, part->dy.cols);
    assert(beta == 0.0);
    (void)beta;
    WEFT_TRY(click_mlp_backward(&part->top, pass, 0.0, &dy));
    const weft_tensor none = {.data = NULL};
    const weft_tensor y_first = first ? click_mlp_last(&part->bottom, pass->samples) : none;
    const weft_tensor dfirst = first ? click_mlp_dlast(&part->bottom, pass->samples) : none;
    const click_dots dots = dots_of(part, pass, &y_first, &dfirst);
    activity_begin(ACTIVITY_INTERACT);
    click_dots_backward(part->hal, pass->samples, &dots);
    activity_end(ACTIVITY_INTERACT);
    return first ? click_mlp_backward(&part->bottom, pass, 0.0, NULL) : WEFT_OK;
}

static void dots_destroy(void *self)
{
    dots_part *part = self;
    if (part != NULL) {
        click_mlp_destroy(&part->bottom);
        click_mlp_destroy(&part->top);
        TENSOR_DESTROY_ALL(&part->y, &part->dy, &part->scratch);
        weft_free(part);
    }
}

const click_part_ops CLICK_DOTS_PART = {.declare = dots_declare,
                                        .create = dots_create,
                                        .forward = dots_forward,
                                        .backward = dots_backward,
                                        .destroy = dots_destroy,
                                        .bytes = dots_bytes};
