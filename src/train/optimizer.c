/* train/optimizer.c: neighbouring blocks with the same decay are updated in one sweep. */
#include "train/optimizer.h"

#include <string.h>

weft_status optimizer_create(param_store *store, const optimizer_options *options, train_optimizer *optimizer)
{
    memset(optimizer, 0, sizeof *optimizer);
    optimizer->options = *options;
    optimizer->store = store;
    if (options->kind == OPTIMIZER_ADAM || options->momentum > 0) {
        WEFT_TRY(tensor_create(store->hal, store->dtype, 1, store->trained, WEFT_MEM_PARAMETER, &optimizer->first));
    }
    if (options->kind == OPTIMIZER_ADAM) {
        WEFT_TRY(tensor_create(store->hal, store->dtype, 1, store->trained, WEFT_MEM_PARAMETER, &optimizer->second));
    }
    return optimizer_reset(optimizer);
}

weft_status optimizer_reset(train_optimizer *optimizer)
{
    optimizer->step = 0;
    if (optimizer->first.data != NULL) {
        WEFT_TRY(tensor_zero(&optimizer->first));
    }
    if (optimizer->second.data != NULL) {
        WEFT_TRY(tensor_zero(&optimizer->second));
    }
    return WEFT_OK;
}

static weft_status update_range(train_optimizer *optimizer, int64_t begin, int64_t end, bool decays, double lr)
{
    const optimizer_options *o = &optimizer->options;
    const param_store *store = optimizer->store;
    double decay = decays ? o->weight_decay : 0.0;
    int64_t count = end - begin;
    weft_tensor w = tensor_view(&store->value, 0, 1, begin, count);
    weft_tensor g = tensor_view(&store->grad, 0, 1, begin, count);
    if (o->kind == OPTIMIZER_ADAM) {
        weft_tensor first = tensor_view(&optimizer->first, 0, 1, begin, count);
        weft_tensor second = tensor_view(&optimizer->second, 0, 1, begin, count);
        const hal_adam_args adam = {.lr = lr,
                                    .beta1 = o->beta1,
                                    .beta2 = o->beta2,
                                    .epsilon = o->epsilon,
                                    .weight_decay = decay,
                                    .step = optimizer->step};
        return tensor_adam(&adam, &w, &g, &first, &second);
    }
    const hal_sgd_args sgd = {.lr = lr,
                              .momentum = o->momentum,
                              .dampening = 0.0,
                              .weight_decay = decay,
                              .nesterov = o->nesterov,
                              .step = optimizer->step};
    if (optimizer->first.data == NULL) {
        return tensor_sgd(&sgd, &w, &g, NULL);
    }
    weft_tensor velocity = tensor_view(&optimizer->first, 0, 1, begin, count);
    return tensor_sgd(&sgd, &w, &g, &velocity);
}

void optimizer_begin(train_optimizer *optimizer)
{
    optimizer->step += 1;
}

weft_status optimizer_step_range(train_optimizer *optimizer, double lr, int64_t begin, int64_t end)
{
    const param_store *store = optimizer->store;
    int i = 0;
    while (i < store->blocks && store->block[i].offset < end && store->block[i].offset < store->trained) {
        int j = i + 1;
        while (j < store->blocks && store->block[j].offset < store->trained &&
               store->block[j].decays == store->block[i].decays) {
            j += 1;
        }
        int64_t run_end = j < store->blocks ? store->block[j].offset : store->trained;
        int64_t from = store->block[i].offset > begin ? store->block[i].offset : begin;
        int64_t to = run_end < end ? run_end : end;
        if (from < to) {
            WEFT_TRY(update_range(optimizer, from, to, store->block[i].decays, lr));
        }
        i = j;
    }
    return WEFT_OK;
}

weft_status optimizer_step(train_optimizer *optimizer, double lr)
{
    optimizer_begin(optimizer);
    return optimizer_step_range(optimizer, lr, 0, optimizer->store->trained);
}

void optimizer_destroy(train_optimizer *optimizer)
{
    tensor_destroy(&optimizer->first);
    tensor_destroy(&optimizer->second);
}
