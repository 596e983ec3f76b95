/* train/replica.c: see train/replica.h. */
#include "train/replica.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "comm/comm_options.def"
#include "train/train_options.def"

static bool alone(const train_replica *r)
{
    return comm_size(r->comm) == 1;
}

/* Whether the mode sees no gradient of a guarded step before all ranks' are known to be finite. */
static bool waits(const train_replica *r)
{
    return r->guarded && !alone(r) && sync_running(r->sync) != SYNC_ALLREDUCE;
}

/* ---- staging --------------------------------------------------------------------------------------------- */

/* Second moments that travel with the parameters lie in memory of the mode meanwhile. */
static weft_status stage_moments(train_replica *r, bool down)
{
    float *host = sync_second_moments(r->sync);
    if (host == NULL) {
        return WEFT_OK;
    }
    weft_tensor *slot = &r->optimizer.slot[r->optimizer.rule->second_moments];
    return down ? tensor_download(slot, host) : tensor_upload(slot, host);
}

/* ---- hooks ------------------------------------------------------------------------------------------------ */

/* A sum that was on its way is here: the optimiser takes the bucket. */
static weft_status take(train_replica *r, int b)
{
    const sync_bucket *bucket = &r->buckets.bucket[b];
    if (!sync_owes(r->sync, b)) {
        return WEFT_OK;
    }
    WEFT_TRY(sync_need(r->sync, b));
    return optimizer_step_range(&r->optimizer, r->lr, bucket->offset, bucket->offset + bucket->count);
}

static weft_status take_all(train_replica *r)
{
    for (int b = r->buckets.buckets - 1; b >= 0; --b) {
        WEFT_TRY(take(r, b));
    }
    return WEFT_OK;
}

/* A rank's own blocks, and state, are in no bucket. */
static bool has_buckets(const train_replica *r, int block)
{
    return block < r->buckets.blocks;
}

static weft_status on_need(void *self, int block)
{
    train_replica *r = self;
    if (!has_buckets(r, block)) {
        return WEFT_OK;
    }
    for (int b = r->buckets.first[block]; b <= r->buckets.last[block]; ++b) {
        WEFT_TRY(take(r, b));
    }
    return WEFT_OK;
}

/* Elements [begin, begin + count) of the batch's last part, with those of the parts before. */
static weft_status add_kept(train_replica *r, int64_t begin, int64_t count)
{
    if (!r->kept) {
        return WEFT_OK;
    }
    weft_tensor grad = tensor_view(&r->params->grad, 0, 1, begin, count);
    weft_tensor kept = tensor_view(&r->kept_grad, 0, 1, begin, count);
    return tensor_axpby(1.0, &kept, 1.0, &grad);
}

/* The scale of the loss comes off. */
static weft_status unscale(const train_replica *r, weft_tensor grad)
{
    return r->scale == 1.0 || grad.cols == 0 ? WEFT_OK : tensor_axpby(1.0 / r->scale, &grad, 0.0, &grad);
}

/* Elements [begin, begin + count) as they are once all parts are there. */
static weft_status finish_share(train_replica *r, int64_t begin, int64_t count)
{
    WEFT_TRY(add_kept(r, begin, count));
    return unscale(r, tensor_view(&r->params->grad, 0, 1, begin, count));
}

static weft_status hand_in(train_replica *r, int b)
{
    const sync_bucket *bucket = &r->buckets.bucket[b];
    WEFT_CHECK(!sync_owes(r->sync, b), WEFT_ERR_INTERNAL,
               "bucket %d has a new gradient before the last was applied: the forward pass did not call train_need", b);
    if (!waits(r)) {
        WEFT_TRY(finish_share(r, bucket->offset, bucket->count));
    }
    return sync_ready(r->sync, b);
}

static weft_status on_ready(void *self, int block)
{
    train_replica *r = self;
    if (!has_buckets(r, block)) {
        return WEFT_OK;
    }
    for (int b = r->buckets.first[block]; b <= r->buckets.last[block]; ++b) {
        r->buckets.missing[b] -= 1;
        if (r->buckets.missing[b] == 0) {
            WEFT_TRY(hand_in(r, b));
        }
    }
    return WEFT_OK;
}

static weft_status on_ready_part(void *self, int block)
{
    (void)self, (void)block;
    return WEFT_OK;
}

const train_hooks *replica_hooks(train_replica *r, bool last)
{
    return alone(r) ? NULL : last && !waits(r) ? &r->hooks : &r->part_hooks;
}

/* ---- local state ------------------------------------------------------------------------------------------- */

static weft_tensor state_of(const train_replica *r)
{
    const param_store *params = r->params;
    return tensor_view(&params->value, 0, 1, params->trained, params->elements - params->trained);
}

static double state_at(const train_replica *r, int64_t i)
{
    return r->params->dtype == WEFT_DTYPE_F64 ? ((const double *)r->own_state)[i]
                                              : (double)((const float *)r->own_state)[i];
}

/* The mean over ranks goes into a block; state that is no rank's own stays as it is, to the bit. */
static weft_status put_mean(const train_replica *r, int block)
{
    const param_block *b = &r->params->block[block];
    weft_tensor view = tensor_view(&r->params->value, 0, 1, b->offset, b->rows * b->cols);
    double *mean = r->mean_state + (b->offset - r->params->trained);
    if (r->params->dtype == WEFT_DTYPE_F64) {
        return tensor_upload(&view, mean);
    }
    float *narrow = (float *)(void *)mean; /* in place: a float never overtakes the double it is read from */
    for (int64_t i = 0; i < view.cols; ++i) {
        float value = (float)mean[i];
        memcpy(narrow + i, &value, sizeof value);
    }
    return tensor_upload(&view, narrow);
}

static weft_status average_state(train_replica *r, bool last)
{
    const param_store *params = r->params;
    int64_t count = params->elements - params->trained;
    if (r->own_state == NULL || sync_moves_parameters(r->sync) || (r->state_averaged && !last)) {
        return WEFT_OK;
    }
    weft_tensor state = state_of(r);
    if (!r->state_averaged) {
        WEFT_TRY(tensor_download(&state, r->own_state));
    }
    for (int64_t i = 0; i < count; ++i) {
        r->mean_state[i] = state_at(r, i) / comm_size(r->comm);
    }
    WEFT_TRY(comm_allreduce(r->comm, r->mean_state, count, WEFT_DTYPE_F64, COMM_SUM));
    for (int b = params->trained_blocks; b < params->blocks; ++b) {
        if (params->group[params->block[b].group].local) {
            WEFT_TRY(put_mean(r, b));
        }
    }
    r->state_averaged = !last;
    return WEFT_OK;
}

static weft_status resume_state(train_replica *r)
{
    weft_tensor state = state_of(r);
    bool averaged = r->state_averaged;
    r->state_averaged = false;
    return averaged ? tensor_upload(&state, r->own_state) : WEFT_OK;
}

/* ---- creation --------------------------------------------------------------------------------------------- */

static weft_status allocate(train_replica *r, const sync_options *options, sync_tensor **tensor)
{
    const param_store *params = r->params;
    size_t bytes = weft_dtype_bytes(params->dtype);
    WEFT_TRY(buckets_create(params, options->bucket_bytes, &r->buckets));
    if (params->has_local_state && !alone(r)) {
        size_t state = (size_t)(params->elements - params->trained);
        WEFT_TRY(weft_malloc(state, bytes, WEFT_MEM_COMM, &r->own_state));
        WEFT_TRY(WEFT_NEW(&r->mean_state, (int64_t)state, WEFT_MEM_COMM));
    }
    WEFT_TRY(WEFT_NEW(&r->name, r->buckets.blocks, WEFT_MEM_COMM));
    return WEFT_NEW(tensor, r->buckets.blocks, WEFT_MEM_COMM);
}

static weft_status allocate_kept(train_replica *r)
{
    const param_store *params = r->params;
    WEFT_TRY(tensor_create(params->hal, params->dtype, 1, params->trained, WEFT_MEM_PARAMETER, &r->kept_grad));
    return tensor_create(params->hal, params->dtype, 1, params->own, WEFT_MEM_PARAMETER, &r->kept_own);
}

/* A block is a tensor: parameters that share one lie interleaved in its rows. Its name joins theirs. */
static void list_tensors(const param_store *params, replica_name *name, sync_tensor *tensor, int blocks)
{
    for (int i = 0; tensor != NULL && i < blocks; ++i) {
        const param_block *block = &params->block[i];
        int64_t end = block->offset + block->rows * block->cols;
        size_t used = 0;
        name[i][0] = '\0';
        for (int e = 0; e < params->entries; ++e) {
            int64_t offset = params->entry[e].offset;
            if (offset >= block->offset && offset < end && used < sizeof name[i]) {
                used += (size_t)snprintf(name[i] + used, sizeof name[i] - used, "%s%s", used > 0 ? "+" : "",
                                         params->entry[e].name);
            }
        }
        tensor[i] = (sync_tensor){name[i], block->offset, block->rows, block->cols};
    }
}

static weft_status allocate_extras(train_replica *r, const optimizer_options *optimizer, bool in_parts)
{
    WEFT_TRY(in_parts ? allocate_kept(r) : WEFT_OK);
    WEFT_TRY(gradient_clip_create(r->params, optimizer->clip_norm, &r->clip));
    return weight_average_create(r->params, optimizer->average, &r->average);
}

/* The mode that runs is known, the same on all ranks. */
static weft_status check_mode(const train_replica *r)
{
    const bool whole = alone(r) || sync_running(r->sync) == SYNC_ALLREDUCE;
    WEFT_CHECK(whole || r->clip.most == 0.0, WEFT_ERR_USAGE,
               FLAG_CLIP_NORM " %g: needs the whole gradient of all ranks in every step, which " FLAG_SYNC
                              " %s does not send: give " FLAG_SYNC " allreduce, or leave it out",
               r->clip.most, sync_mode_name(sync_running(r->sync)));
    WEFT_CHECK(whole || r->average.decay == 0.0, WEFT_ERR_USAGE,
               FLAG_EMA " %g: replicas have to be equal after every step, which they are not with " FLAG_SYNC
                        " %s: give " FLAG_SYNC " allreduce, or leave it out",
               r->average.decay, sync_mode_name(sync_running(r->sync)));
    return WEFT_OK;
}

weft_status replica_create(weft_comm *comm, param_store *params, const sync_options *sync,
                           const optimizer_options *optimizer, const train_preconditioner *preconditioner,
                           bool in_parts, train_replica *r)
{
    sync_tensor *tensor = NULL;
    sync_options options = *sync;
    optimizer_options rule = *optimizer;
    memset(r, 0, sizeof *r);
    r->comm = comm;
    r->params = params;
    r->preconditioner = preconditioner;
    r->scale = 1.0;
    r->hooks = (train_hooks){.self = r, .need = on_need, .ready = on_ready};
    r->part_hooks = (train_hooks){.self = r, .need = on_need, .ready = on_ready_part};
    options.second_moments = optimizer_rule_of(rule.kind)->second_moments > 0;
    options.topk.momentum = optimizer_lent_momentum(rule.kind, rule.momentum);
    int64_t own = params->own;
    WEFT_TRY(comm_allreduce(comm, &own, 1, WEFT_DTYPE_I64, COMM_MAX));
    r->owns = own > 0;
    weft_status status = allocate(r, &options, &tensor);
    status = comm_agree(comm, status == WEFT_OK ? allocate_extras(r, optimizer, in_parts) : status);
    if (status == WEFT_OK) {
        list_tensors(params, r->name, tensor, r->buckets.blocks);
        const sync_desc desc = {.dtype = params->dtype,
                                .hal = params->hal,
                                .value = params->value.data,
                                .grad = params->grad.data,
                                .trained = params->trained,
                                .elements = params->elements,
                                .bucket = r->buckets.bucket,
                                .buckets = r->buckets.buckets,
                                .tensor = tensor,
                                .tensors = r->buckets.blocks};
        status = sync_create(comm, &options, &desc, &r->sync);
    }
    status = status == WEFT_OK ? check_mode(r) : status;
    if (status == WEFT_OK) {
        bool corrected = sync_running(r->sync) == SYNC_TOPK && rule.kind == OPTIMIZER_SGD;
        if (corrected) { /* the mode keeps the velocity of gradients */
            rule.decay_momentum = rule.momentum;
            rule.momentum = 0.0;
        }
        const optimizer_matrices *matrices = preconditioner != NULL ? preconditioner->matrices : NULL;
        status = comm_agree(comm, optimizer_create(params, optimizer_rule_of(rule.kind), &rule, matrices,
                                                   sync_moves_parameters(r->sync) ? NULL : comm, &r->optimizer));
    }
    weft_free(tensor);
    return status;
}

void replica_destroy(train_replica *r)
{
    sync_destroy(r->sync);
    optimizer_destroy(&r->optimizer);
    buckets_destroy(&r->buckets);
    gradient_clip_destroy(&r->clip);
    weight_average_destroy(&r->average);
    TENSOR_DESTROY_ALL(&r->kept_grad, &r->kept_own, &r->state_before, &r->magnitudes);
    WEFT_FREE_ALL(r->name, r->own_state, r->mean_state);
    memset(r, 0, sizeof *r);
}

/* ---- a step ----------------------------------------------------------------------------------------------- */

weft_status replica_reset(train_replica *r)
{
    const train_preconditioner *p = r->preconditioner;
    r->state_averaged = false;
    weight_average_reset(&r->average);
    WEFT_TRY(optimizer_reset(&r->optimizer));
    WEFT_TRY(p != NULL && p->reset != NULL ? p->reset(p->self) : WEFT_OK);
    WEFT_TRY(stage_moments(r, true));
    WEFT_TRY(sync_reset(r->sync));
    return stage_moments(r, false);
}

weft_status replica_guard(train_replica *r)
{
    const param_store *params = r->params;
    const int64_t state = params->elements - params->trained;
    r->guarded = true;
    WEFT_TRY(tensor_create(params->hal, params->dtype, 1, state, WEFT_MEM_PARAMETER, &r->state_before));
    return tensor_create(params->hal, WEFT_DTYPE_F64, 1, 2, WEFT_MEM_WORKSPACE, &r->magnitudes);
}

void replica_scale(train_replica *r, double scale)
{
    r->scale = scale;
}

weft_status replica_resume(train_replica *r)
{
    WEFT_TRY(sync_resume(r->sync)); /* second moments travel in modes only where an average stays */
    WEFT_TRY(resume_state(r));
    return weight_average_hide(&r->average);
}

weft_status replica_begin(train_replica *r, double lr, double weight)
{
    WEFT_TRY(replica_resume(r));
    if (r->guarded && r->state_before.cols > 0) {
        const weft_tensor state = state_of(r);
        WEFT_TRY(tensor_axpby(1.0, &state, 0.0, &r->state_before));
    }
    buckets_begin(&r->buckets);
    r->step_lr = lr;
    r->weight = weight;
    r->kept = false;
    r->unsound = false;
    return waits(r) ? WEFT_OK : sync_begin(r->sync, lr, weight);
}

weft_status replica_keep(train_replica *r)
{
    double before = r->kept ? 1.0 : 0.0;
    r->kept = true;
    WEFT_TRY(tensor_axpby(1.0, &r->params->grad, before, &r->kept_grad));
    return tensor_axpby(1.0, &r->params->own_grad, before, &r->kept_own);
}

/* Whether all of a gradient is finite. */
static weft_status check_finite(train_replica *r, const weft_tensor *grad, bool *finite)
{
    double magnitudes[2] = {0.0};
    *finite = true;
    if (grad->cols == 0) {
        return WEFT_OK;
    }
    const hal_sum_magnitudes_args args = {.x = tensor_mat(grad), .out = tensor_mat(&r->magnitudes)};
    WEFT_TRY(hal_sum_magnitudes(r->params->hal, &args));
    WEFT_TRY(tensor_download(&r->magnitudes, magnitudes));
    *finite = isfinite(magnitudes[1]);
    return WEFT_OK;
}

/* What this rank made, where nobody looks at it on its way to the others. */
static weft_status inspect(train_replica *r)
{
    bool replicated = true, own = true;
    if (!r->guarded || r->weight == 0.0) {
        return WEFT_OK;
    }
    if (alone(r) || waits(r)) {
        WEFT_TRY(check_finite(r, &r->params->grad, &replicated));
    }
    WEFT_TRY(check_finite(r, &r->params->own_grad, &own));
    r->unsound = !replicated || !own;
    return WEFT_OK;
}

/* A step of a mode that waits begins for it here, or never. */
static weft_status begin_late(train_replica *r)
{
    int32_t unsound = r->unsound;
    WEFT_TRY(comm_allreduce(r->comm, &unsound, 1, WEFT_DTYPE_I32, COMM_MAX));
    r->unsound = unsound != 0;
    return r->unsound ? WEFT_OK : sync_begin(r->sync, r->step_lr, r->weight);
}

weft_status replica_gradients(train_replica *r)
{
    if (r->kept) {
        WEFT_TRY(tensor_axpby(1.0, &r->kept_own, 1.0, &r->params->own_grad));
    }
    WEFT_TRY(unscale(r, tensor_view(&r->params->own_grad, 0, 1, 0, r->params->own)));
    if (alone(r) || waits(r)) {
        WEFT_TRY(finish_share(r, 0, r->params->trained));
    }
    WEFT_TRY(inspect(r));
    if (alone(r)) {
        return WEFT_OK;
    }
    if (waits(r)) {
        WEFT_TRY(begin_late(r));
        if (r->unsound) {
            return WEFT_OK;
        }
    }
    for (int b = 0; b < r->buckets.buckets; ++b) {
        if (r->buckets.missing[b] > 0) { /* the model told nobody */
            WEFT_TRY(hand_in(r, b));
        }
    }
    return sync_gradients(r->sync);
}

bool replica_diverged(const train_replica *r)
{
    const char *tensor = NULL;
    return r->unsound || sync_diverged(r->sync, &tensor);
}

weft_status replica_blame(train_replica *r, const char **tensor)
{
    const param_store *params = r->params;
    *tensor = "";
    if (sync_diverged(r->sync, tensor) || !r->unsound) {
        return WEFT_OK;
    }
    for (int i = 0; i < r->buckets.blocks; ++i) {
        const param_block *block = &params->block[i];
        const weft_tensor grad = tensor_view(&params->grad, 0, 1, block->offset, block->rows * block->cols);
        bool finite = true;
        WEFT_TRY(check_finite(r, &grad, &finite));
        if (!finite) {
            *tensor = r->name[i];
            return WEFT_OK;
        }
    }
    bool finite = true;
    WEFT_TRY(check_finite(r, &params->own_grad, &finite));
    *tensor = finite ? "" : "parameters of its own";
    return WEFT_OK;
}

static bool owes_any(const train_replica *r)
{
    bool owed = false;
    for (int b = 0; b < r->buckets.buckets; ++b) {
        owed = owed || sync_owes(r->sync, b);
    }
    return owed;
}

/* The synchronised gradient on the backend, as the optimiser shall see it. */
static weft_status finish_gradient(train_replica *r)
{
    for (int b = r->buckets.buckets - 1; !alone(r) && b >= 0; --b) {
        WEFT_TRY(sync_need(r->sync, b));
    }
    const train_preconditioner *p = r->preconditioner;
    WEFT_TRY(gradient_clip_apply(&r->clip, r->comm, r->params));
    return p != NULL && p->apply != NULL ? p->apply(p->self, r->params, r->lr) : WEFT_OK;
}

/* Returns true if something wants every gradient before the first update, or every update before the next step. */
static bool wants_whole(const train_replica *r)
{
    return r->preconditioner != NULL || r->clip.most > 0.0 || r->average.decay > 0.0 ||
           optimizer_is_whole(&r->optimizer);
}

weft_status replica_update(train_replica *r)
{
    optimizer_begin(&r->optimizer);
    r->lr = r->step_lr;
    if (!wants_whole(r) && owes_any(r)) {
        return optimizer_step_own(&r->optimizer, r->lr);
    }
    WEFT_TRY(finish_gradient(r));
    WEFT_TRY(optimizer_step_own(&r->optimizer, r->lr));
    WEFT_TRY(optimizer_step_range(&r->optimizer, r->lr, 0, r->params->trained));
    WEFT_TRY(weight_average_add(&r->average, r->optimizer.step));
    if (!sync_moves_parameters(r->sync)) {
        return WEFT_OK;
    }
    WEFT_TRY(stage_moments(r, true));
    WEFT_TRY(sync_parameters(r->sync));
    return stage_moments(r, false);
}

weft_status replica_skip(train_replica *r)
{
    for (int b = 0; b < r->buckets.buckets; ++b) { /* sums that are still on their way end here, and are dropped */
        WEFT_TRY(sync_owes(r->sync, b) ? sync_need(r->sync, b) : WEFT_OK);
    }
    if (r->state_before.cols == 0) {
        return WEFT_OK;
    }
    weft_tensor state = state_of(r);
    return tensor_axpby(1.0, &r->state_before, 0.0, &state);
}

weft_status replica_average(train_replica *r, bool last)
{
    WEFT_TRY(take_all(r));
    WEFT_TRY(weight_average_show(&r->average));
    if (alone(r)) {
        return WEFT_OK;
    }
    WEFT_TRY(stage_moments(r, true));
    WEFT_TRY(last ? sync_finish(r->sync) : sync_average(r->sync));
    WEFT_TRY(stage_moments(r, false));
    return average_state(r, last);
}

/* ---- state ------------------------------------------------------------------------------------------------ */

bool replica_differs(const train_replica *r)
{
    bool kept = r->owns || (r->preconditioner != NULL && r->preconditioner->state != NULL);
    return kept || (!alone(r) && (sync_running(r->sync) != SYNC_ALLREDUCE || r->params->has_local_state));
}

weft_status replica_state(train_replica *r, const sync_buffer **buffer, int *count)
{
    WEFT_TRY(take_all(r));
    WEFT_TRY(replica_resume(r));
    WEFT_TRY(stage_moments(r, true));
    WEFT_TRY(sync_state(r->sync, buffer, count));
    return stage_moments(r, false);
}

weft_status replica_restored(train_replica *r)
{
    const train_preconditioner *p = r->preconditioner;
    WEFT_TRY(sync_restored(r->sync));
    return comm_agree(r->comm, p != NULL && p->restored != NULL ? p->restored(p->self) : WEFT_OK);
}
