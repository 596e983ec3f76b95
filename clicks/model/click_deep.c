/* clicks/model/click_deep.c: an MLP over vectors and numbers; see clicks/model/click_kinds.h. */
#include "clicks/model/click_mlp.h"

static click_mlp_need deep_need(const click_model_desc *desc)
{
    return (click_mlp_need){.name = click_name_of(desc, "deep"),
                            .sizes = &desc->mlp,
                            .inputs = click_inputs(desc),
                            .out = !desc->place.open,
                            .dropout = desc->dropout,
                            .first_mask = desc->place.first_mask};
}

static weft_status deep_declare(param_store *params, const click_model_desc *desc, void **self)
{
    const click_mlp_need need = deep_need(desc);
    click_mlp *mlp = NULL;
    WEFT_TRY(WEFT_NEW_ZERO(&mlp, 1, WEFT_MEM_GENERAL));
    *self = mlp;
    return click_mlp_declare(mlp, params, desc, &need);
}

static weft_status deep_create(void *self)
{
    return click_mlp_create(self);
}

static weft_status deep_forward(void *self, const click_pass *pass)
{
    return click_mlp_forward(self, pass, &pass->x);
}

static weft_status deep_backward(void *self, const click_pass *pass, double beta)
{
    weft_tensor dx = pass->dx;
    return click_mlp_backward(self, pass, beta, &dx);
}

static void deep_last(const void *self, int64_t samples, weft_tensor *y, weft_tensor *dy)
{
    *y = click_mlp_last(self, samples);
    *dy = click_mlp_dlast(self, samples);
}

static void deep_destroy(void *self)
{
    if (self != NULL) {
        click_mlp_destroy(self);
        weft_free(self);
    }
}

static int64_t deep_bytes(const weft_hal *hal, const click_model_desc *desc)
{
    const click_mlp_need need = deep_need(desc);
    (void)hal;
    return click_mlp_bytes(desc, &need);
}

const click_part_ops CLICK_DEEP_PART = {.declare = deep_declare,
                                        .create = deep_create,
                                        .forward = deep_forward,
                                        .backward = deep_backward,
                                        .destroy = deep_destroy,
                                        .last = deep_last,
                                        .bytes = deep_bytes};
