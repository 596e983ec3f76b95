/* train/optimizer.c: the rules, and the cutting of the flat parameters into runs; see train/optimizer.h. */
#include "train/optimizer.h"

#include <assert.h>
#include <math.h>

#include "base/alloc.h"

/* adadelta: PyTorch's defaults. */
#define ADADELTA_DECAY   0.9
#define ADADELTA_EPSILON 1e-6
enum { SHARED_FROM = 1 << 16 }; /* elements: see train/optimizer.h */

/* ---- rules --------------------------------------------------------------------------------------------------- */

static int two_slots(const optimizer_options *options)
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

/* Weights shrink by themselves, and no decay passes through the moments. */
static weft_status adamw_update(const optimizer_options *o, optimizer_run *run)
{
    optimizer_run without = *run;
    without.weight_decay = 0.0;
    if (run->weight_decay > 0.0) {
        WEFT_TRY(tensor_axpby(1.0 - run->lr * run->weight_decay, &run->w, 0.0, &run->w));
    }
    return adam_update(o, &without);
}

static weft_status adadelta_update(const optimizer_options *o, optimizer_run *run)
{
    (void)o;
    const hal_adadelta_args adadelta = {
        .lr = run->lr, .decay = ADADELTA_DECAY, .epsilon = ADADELTA_EPSILON, .weight_decay = run->weight_decay};
    return tensor_adadelta(&adadelta, &run->w, &run->g, &run->slot[0], &run->slot[1]);
}

static int momentum_slots(const optimizer_options *options)
{
    return options->momentum > 0 ? 1 : 0;
}

/* Weight decay at a step as its velocity u = m u + decay w comes to, for a w that hardly changes in 1 / (1 - m)
 * steps. */
static double decay_of_step(const optimizer_options *o, const optimizer_run *run)
{
    return run->weight_decay * (1.0 - pow(o->decay_momentum, (double)run->step)) / (1.0 - o->decay_momentum);
}

static weft_status sgd_update(const optimizer_options *o, optimizer_run *run)
{
    const hal_sgd_args sgd = {.lr = run->lr,
                              .momentum = o->momentum,
                              .dampening = 0.0,
                              .weight_decay = decay_of_step(o, run),
                              .nesterov = o->nesterov,
                              .step = run->step};
    return tensor_sgd(&sgd, &run->w, &run->g, o->momentum > 0 ? &run->slot[0] : NULL);
}

static weft_status lars_update(const optimizer_options *o, optimizer_run *run)
{
    const hal_lars_args lars = {.lr = run->lr,
                                .momentum = o->momentum,
                                .weight_decay = run->weight_decay,
                                .trust = o->trust,
                                .epsilon = o->epsilon,
                                .step = run->step};
    return tensor_lars(&lars, &run->w, &run->g, o->momentum > 0 ? &run->slot[0] : NULL, run->norms);
}

static const optimizer_rule rules[] = {
    [OPTIMIZER_ADAM] =
        {.name = "adam", .rescales = true, .slots = two_slots, .update = adam_update, .second_moments = 1},
    [OPTIMIZER_SGD] = {.name = "sgd", .slots = momentum_slots, .update = sgd_update},
    [OPTIMIZER_LARS] = {.name = "lars", .by_block = true, .slots = momentum_slots, .update = lars_update},
    [OPTIMIZER_ADAMW] =
        {.name = "adamw", .rescales = true, .slots = two_slots, .update = adamw_update, .second_moments = 1},
    [OPTIMIZER_ADADELTA] =
        {.name = "adadelta", .rescales = true, .slots = two_slots, .update = adadelta_update, .rate = "1"},
};

const optimizer_rule *optimizer_rule_of(optimizer_kind kind)
{
    return &rules[kind];
}

/* ---- state --------------------------------------------------------------------------------------------------- */

static weft_status allocate(train_optimizer *optimizer)
{
    const param_store *store = optimizer->store;
    for (int i = 0; i < optimizer->slots; ++i) {
        WEFT_TRY(tensor_create(store->hal, store->dtype, 1, store->trained, WEFT_MEM_PARAMETER, &optimizer->slot[i]));
        WEFT_TRY(tensor_create(store->hal, store->dtype, 1, store->own, WEFT_MEM_PARAMETER, &optimizer->own_slot[i]));
    }
    if (optimizer->rule->by_block) {
        int64_t sums = 2 * (int64_t)store->blocks;
        WEFT_TRY(tensor_create(store->hal, WEFT_DTYPE_F64, 1, sums, WEFT_MEM_PARAMETER, &optimizer->norms));
        WEFT_TRY(tensor_zero(&optimizer->norms));
        WEFT_TRY(WEFT_NEW_ZERO(&optimizer->norms_host, sums, WEFT_MEM_PARAMETER));
    }
    return optimizer_reset(optimizer);
}

/* Returns the rank that measures a replicated block for all ranks: the one whose equal part of the gradient holds its
 * middle. */
static int measures(const train_optimizer *optimizer, int block)
{
    const param_block *b = &optimizer->store->block[block];
    int64_t middle = b->offset + b->rows * b->cols / 2;
    return (int)(middle * comm_size(optimizer->comm) / optimizer->store->trained);
}

/* Collective over `comm`. Blocks lie in the order of their offsets, so each rank measures a run of them. */
static weft_status plan_norms(train_optimizer *optimizer)
{
    int64_t *count = NULL;
    const weft_status local = WEFT_NEW_ZERO(&count, comm_size(optimizer->comm), WEFT_MEM_PARAMETER);
    weft_status status = comm_agree(optimizer->comm, local);
    if (local != WEFT_OK || status != WEFT_OK) {
        weft_free(count);
        return status;
    }
    for (int block = 0; block < optimizer->store->trained_blocks; ++block) {
        assert(block == 0 || measures(optimizer, block) >= measures(optimizer, block - 1));
        count[measures(optimizer, block)] += 2;
    }
    const comm_shares_desc desc = {.lane = COMM_LANE_CONTROL,
                                   .dtype = WEFT_DTYPE_F64,
                                   .count = count,
                                   .buffer = optimizer->norms_host,
                                   .name = "norms of blocks"};
    status = comm_allgather_plan(optimizer->comm, &desc, &optimizer->gather_norms);
    weft_free(count);
    return status;
}

weft_status optimizer_create(param_store *store, const optimizer_rule *rule, const optimizer_options *options,
                             const optimizer_matrices *matrices, weft_comm *equal, train_optimizer *optimizer)
{
    const int slots = rule->slots(options);
    *optimizer = (train_optimizer){.rule = rule,
                                   .options = *options,
                                   .store = store,
                                   .matrices = matrices,
                                   .slots = matrices != NULL && slots == 0 ? 1 : slots};
    assert(optimizer->slots <= OPTIMIZER_SLOTS);
    if (!rule->by_block || equal == NULL || comm_size(equal) == 1 || store->trained < SHARED_FROM) {
        return allocate(optimizer);
    }
    optimizer->comm = equal;
    WEFT_TRY(comm_agree(equal, allocate(optimizer)));
    return plan_norms(optimizer);
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
        TENSOR_DESTROY_ALL(&optimizer->slot[i], &optimizer->own_slot[i]);
    }
    tensor_destroy(&optimizer->norms);
    comm_plan_destroy(optimizer->gather_norms);
    optimizer->gather_norms = NULL;
    weft_free(optimizer->norms_host);
    optimizer->norms_host = NULL;
}

/* ---- sums of squares, by block -------------------------------------------------------------------------------- */

static const param_group *group_of(const train_optimizer *optimizer, int block)
{
    return &optimizer->store->group[optimizer->store->block[block].group];
}

/* Returns true if the rule for matrices updates the block. */
static bool is_matrix(const train_optimizer *optimizer, int block)
{
    return optimizer->matrices != NULL && optimizer->matrices->takes[block];
}

/* `count` of the sums, from sum `first` on, as a vector of their own. */
static weft_tensor sums_of(const train_optimizer *optimizer, int64_t first, int64_t count)
{
    weft_tensor view = tensor_view(&optimizer->norms, 0, 1, first, count);
    return tensor_reshape(&view, 1, count);
}

static weft_status measure(train_optimizer *optimizer, int block)
{
    const param_block *b = &optimizer->store->block[block];
    weft_tensor of_values = sums_of(optimizer, 2 * (int64_t)block, 1);
    weft_tensor of_gradient = sums_of(optimizer, 2 * (int64_t)block + 1, 1);
    weft_tensor values = param_value(optimizer->store, block);
    weft_tensor gradient = param_grad(optimizer->store, block);
    values = tensor_reshape(&values, 1, b->rows * b->cols);
    gradient = tensor_reshape(&gradient, 1, b->rows * b->cols);
    WEFT_TRY(tensor_sum_squares(&values, &of_values));
    return tensor_sum_squares(&gradient, &of_gradient);
}

/* Blocks [first, last), all of them replicated where ranks share them. */
static weft_status measure_all(train_optimizer *optimizer, int first, int last, bool shared)
{
    int64_t sums = 2 * (int64_t)(last - first);
    weft_tensor norms = sums_of(optimizer, 2 * (int64_t)first, sums);
    for (int block = first; block < last; ++block) {
        if (group_of(optimizer, block)->decays && !is_matrix(optimizer, block) &&
            (!shared || measures(optimizer, block) == comm_rank(optimizer->comm))) {
            WEFT_TRY(measure(optimizer, block));
        }
    }
    if (!shared) {
        return WEFT_OK;
    }
    WEFT_TRY(tensor_download(&norms, optimizer->norms_host));
    WEFT_TRY(comm_post(optimizer->gather_norms));
    WEFT_TRY(comm_wait(optimizer->gather_norms));
    return tensor_upload(&norms, optimizer->norms_host);
}

/* ---- an update ----------------------------------------------------------------------------------------------- */

/* Elements [begin, end) of the group of a block; by block, all of this one. */
static weft_status update(train_optimizer *optimizer, int block, int64_t begin, int64_t end, double lr)
{
    const param_group *group = group_of(optimizer, block);
    const optimizer_options *o = &optimizer->options;
    const param_store *store = optimizer->store;
    bool own = !group->replicated;
    int64_t count = end - begin;
    optimizer_run run = {.lr = lr * group->lr_scale * store->block[block].rate,
                         .weight_decay = group->decays ? o->weight_decay : 0.0,
                         .step = optimizer->step,
                         .w = tensor_view(own ? &store->own_value : &store->value, 0, 1, begin, count),
                         .g = tensor_view(own ? &store->own_grad : &store->grad, 0, 1, begin, count)};
    for (int i = 0; i < optimizer->slots; ++i) {
        run.slot[i] = tensor_view(own ? &optimizer->own_slot[i] : &optimizer->slot[i], 0, 1, begin, count);
    }
    weft_tensor norms;
    if (optimizer->rule->by_block && group->decays) {
        norms = sums_of(optimizer, 2 * (int64_t)block, 2);
        run.norms = &norms;
    }
    return optimizer->rule->update(o, &run);
}

/* Returns true if one run of elements takes block j behind block i. */
static bool joins(const train_optimizer *optimizer, int i, int j)
{
    const param_block *block = optimizer->store->block;
    return !optimizer->rule->by_block && block[j].group == block[i].group && block[j].rate == block[i].rate &&
           is_matrix(optimizer, j) == is_matrix(optimizer, i);
}

/* The block after those that are updated with block i. */
static int run_end(const train_optimizer *optimizer, int i)
{
    int j = i + 1;
    while (j < optimizer->store->trained_blocks && joins(optimizer, i, j)) {
        j += 1;
    }
    return j;
}

bool optimizer_is_whole(const train_optimizer *optimizer)
{
    return optimizer->rule->by_block || optimizer->matrices != NULL;
}

void optimizer_begin(train_optimizer *optimizer)
{
    optimizer->step += 1;
}

weft_status optimizer_step_range(train_optimizer *optimizer, double lr, int64_t begin, int64_t end)
{
    const param_store *store = optimizer->store;
    int i = 0;
    assert(!optimizer_is_whole(optimizer) || (begin == 0 && end == store->trained));
    if (optimizer->rule->by_block) {
        WEFT_TRY(measure_all(optimizer, 0, store->trained_blocks, optimizer->comm != NULL));
    }
    if (optimizer->matrices != NULL) {
        WEFT_TRY(optimizer->matrices->update(optimizer->matrices->self, &optimizer->slot[0], lr));
    }
    while (i < store->trained_blocks && store->block[i].offset < end) {
        int j = run_end(optimizer, i);
        int64_t last = j < store->trained_blocks ? store->block[j].offset : store->trained;
        int64_t from = store->block[i].offset > begin ? store->block[i].offset : begin;
        int64_t to = last < end ? last : end;
        if (from < to && !is_matrix(optimizer, i)) {
            WEFT_TRY(update(optimizer, i, from, to, lr));
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
        if (!group_of(optimizer, i)->replicated) {
            WEFT_TRY(optimizer->rule->by_block ? measure_all(optimizer, i, i + 1, false) : WEFT_OK);
            WEFT_TRY(update(optimizer, i, block->offset, block->offset + block->rows * block->cols, lr));
        }
    }
    return WEFT_OK;
}
