/* train/optimizer.c: the rules, and the cutting of the flat parameters into runs; see train/optimizer.h. */
#include "train/optimizer.h"

#include <assert.h>
#include <string.h>

/* ---- rules --------------------------------------------------------------------------------------------------- */

static int adam_slots(const optimizer_options *options)
{
    (void)options;
    return 2;
}

static weft_status adam_update(const optimizer_options *o, optimizer_run *run)
{
    const hal_adam_args adam = {.lr = run->lr,
                                .beta1 = o->beta1,
                                .beta2 = o->beta2,
                                .epsilon = o->epsilon,
                                .weight_decay = run->weight_decay,
                                .step = run->step};
    return tensor_adam(&adam, &run->w, &run->g, &run->slot[0], &run->slot[1]);
}

static int sgd_slots(const optimizer_options *options)
{
    return options->momentum > 0 ? 1 : 0;
}

static weft_status sgd_update(const optimizer_options *o, optimizer_run *run)
{
    const hal_sgd_args sgd = {.lr = run->lr,
                              .momentum = o->momentum,
                              .dampening = 0.0,
                              .weight_decay = run->weight_decay,
                              .nesterov = o->nesterov,
                              .step = run->step};
    return tensor_sgd(&sgd, &run->w, &run->g, o->momentum > 0 ? &run->slot[0] : NULL);
}

static const optimizer_rule rules[] = {
    [OPTIMIZER_ADAM] = {.name = "adam", .slots = adam_slots, .update = adam_update},
    [OPTIMIZER_SGD] = {.name = "sgd", .slots = sgd_slots, .update = sgd_update},
};

const optimizer_rule *optimizer_rule_of(optimizer_kind kind)
{
    return &rules[kind];
}

/* ---- state --------------------------------------------------------------------------------------------------- */

weft_status optimizer_create(param_store *store, const optimizer_rule *rule, const optimizer_options *options,
                             train_optimizer *optimizer)
{
    *optimizer = (train_optimizer){.rule = rule, .options = *options, .store = store, .slots = rule->slots(options)};
    assert(optimizer->slots <= OPTIMIZER_SLOTS);
    for (int i = 0; i < optimizer->slots; ++i) {
        WEFT_TRY(tensor_create(store->hal, store->dtype, 1, store->trained, WEFT_MEM_PARAMETER, &optimizer->slot[i]));
        WEFT_TRY(tensor_create(store->hal, store->dtype, 1, store->own, WEFT_MEM_PARAMETER, &optimizer->own_slot[i]));
    }
    return optimizer_reset(optimizer);
}

weft_status optimizer_reset(train_optimizer *optimizer)
{
    optimizer->step = 0;
    for (int i = 0; i < optimizer->slots; ++i) {
        WEFT_TRY(tensor_zero(&optimizer->slot[i]));
        WEFT_TRY(tensor_zero(&optimizer->own_slot[i]));
    }
    return WEFT_OK;
}

void optimizer_destroy(train_optimizer *optimizer)
{
    for (int i = 0; i < optimizer->slots; ++i) {
        tensor_destroy(&optimizer->slot[i]);
        tensor_destroy(&optimizer->own_slot[i]);
    }
}

/* ---- an update ----------------------------------------------------------------------------------------------- */

/* Elements [begin, end) of a group. */
static weft_status update(train_optimizer *optimizer, const param_group *group, int64_t begin, int64_t end, double lr)
{
    const optimizer_options *o = &optimizer->options;
    const param_store *store = optimizer->store;
    bool own = !group->replicated;
    int64_t count = end - begin;
    optimizer_run run = {.lr = lr * group->lr_scale,
                         .weight_decay = group->decays ? o->weight_decay : 0.0,
                         .step = optimizer->step,
                         .w = tensor_view(own ? &store->own_value : &store->value, 0, 1, begin, count),
                         .g = tensor_view(own ? &store->own_grad : &store->grad, 0, 1, begin, count)};
    for (int i = 0; i < optimizer->slots; ++i) {
        run.slot[i] = tensor_view(own ? &optimizer->own_slot[i] : &optimizer->slot[i], 0, 1, begin, count);
    }
    return optimizer->rule->update(o, &run);
}

/* The block after those that are updated with block i. */
static int run_end(const train_optimizer *optimizer, int i)
{
    const param_store *store = optimizer->store;
    int j = i + 1;
    while (!optimizer->rule->by_block && j < store->trained_blocks && store->block[j].group == store->block[i].group) {
        j += 1;
    }
    return j;
}

void optimizer_begin(train_optimizer *optimizer)
{
    optimizer->step += 1;
}

weft_status optimizer_step_range(train_optimizer *optimizer, double lr, int64_t begin, int64_t end)
{
    const param_store *store = optimizer->store;
    int i = 0;
    while (i < store->trained_blocks && store->block[i].offset < end) {
        int j = run_end(optimizer, i);
        int64_t last = j < store->trained_blocks ? store->block[j].offset : store->trained;
        int64_t from = store->block[i].offset > begin ? store->block[i].offset : begin;
        int64_t to = last < end ? last : end;
        if (from < to) {
            assert(!optimizer->rule->by_block || (from == store->block[i].offset && to == last));
            WEFT_TRY(update(optimizer, &store->group[store->block[i].group], from, to, lr));
        }
        i = j;
    }
    return WEFT_OK;
}

weft_status optimizer_step_own(train_optimizer *optimizer, double lr)
{
    const param_store *store = optimizer->store;
    for (int i = store->trained_blocks; i < store->blocks; ++i) {
        const param_block *block = &store->block[i];
        const param_group *group = &store->group[block->group];
        if (!group->replicated) {
            WEFT_TRY(update(optimizer, group, block->offset, block->offset + block->rows * block->cols, lr));
        }
    }
    return WEFT_OK;
}
