/* train/loop/loop.c: see train/loop/loop.h. */
#include "train/loop/loop.h"

#include <math.h>
#include <string.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/number.h"
#include "base/trace/trace.h"
#include "comm/comm_options.def"
#include "train/activities.h"
#include "train/checkpoint/keeper_state.h"
#include "train/loop/class_weights.h"
#include "train/loop/plateau.h"
#include "train/loop/share_loss.h"
#include "train/loop/team.h"
#include "train/loop/value_loss.h"
#include "train/skew/skew_guard.h"
#include "train/tap.h"
#include "train/train_options.def"

typedef struct loop {
    weft_comm *comm;
    weft_hal *hal;
    train_model *model;
    const train_source *source;
    const train_options *options;
    train_replica replica;
    skew_guard *guard; /* NULL: none */
    train_team *team;  /* of the model's workers; NULL: none */
    train_metrics metrics;
    class_weights weights;
    bool ended;                      /* the run's last average was taken */
    weft_tensor best;                /* parameters at the best validation score of the run */
    weft_tensor best_own, first_own; /* a rank's own parameters at that score, and before the first run */
    weft_tensor loss;     /* [1, 1] float64: this rank's sum of the step, read once it is told to the others */
    double step_loss;     /* of the step, over all ranks */
    weft_tensor right;    /* [1, 2] int64: this rank's training rows of the step that are right, and all; or none */
    double step_right[2]; /* of the step, over all ranks */
    double trained_share; /* of the epoch's training rows that were right as they were trained on; NaN: not counted */
    kept_replica kept;
    fit_run fit;
} loop;

static weft_status loop_create(loop *l)
{
    param_store *params = l->model->params;
    WEFT_CHECK(l->source->loss_entries > 0, WEFT_ERR_DATA, "no row is both labelled and in the training split");
    WEFT_CHECK(l->options->accumulate <= 1 || l->source->divides, WEFT_ERR_USAGE,
               FLAG_ACCUMULATE " %d: batches do not come in parts here: leave it out", l->options->accumulate);
    WEFT_CHECK(
        l->options->accumulate <= 1 || l->options->class_weight == NULL, WEFT_ERR_USAGE,
        FLAG_ACCUMULATE
        " %d: the weights of a batch are known once all of its parts are there: leave out it or " FLAG_CLASS_WEIGHTS,
        l->options->accumulate);
    WEFT_CHECK(
        l->model->beside == NULL || (l->options->optimizer.clip_norm == 0.0 && l->options->optimizer.average == 0.0 &&
                                     l->options->schedule.kind != SCHEDULE_PLATEAU),
        WEFT_ERR_USAGE,
        FLAG_CLIP_NORM ", " FLAG_EMA " and " FLAG_SCHEDULE " plateau do not reach rows of embeddings, which this "
                       "model trains beside its parameters: leave them out");
    l->weights.of_class = l->options->class_weight;
    const loss_choice kind = l->options->value_loss;
    WEFT_CHECK(l->source->loss != TRAIN_LOSS_VALUE || kind == LOSS_SQUARED || kind == LOSS_ABSOLUTE ||
                   kind == LOSS_HUBER,
               WEFT_ERR_UNSUPPORTED, FLAG_LOSS ": networks learn numbers by squared, absolute or huber");
    const metrics_desc scores = {.metric = l->options->metric,
                                 .loss = l->source->loss,
                                 .outputs = l->source->outputs,
                                 .rows = l->source->eval_rows,
                                 .dtype = params->dtype};
    WEFT_TRY(metrics_create(l->comm, l->hal, &scores, &l->metrics));
    WEFT_TRY(tensor_create(l->hal, params->dtype, 1, params->elements, WEFT_MEM_PARAMETER, &l->best));
    WEFT_TRY(tensor_create(l->hal, params->dtype, 1, params->own, WEFT_MEM_PARAMETER, &l->best_own));
    WEFT_TRY(tensor_create(l->hal, params->dtype, 1, params->own, WEFT_MEM_PARAMETER, &l->first_own));
    WEFT_TRY(tensor_axpby(1.0, &params->own_value, 0.0, &l->first_own));
    WEFT_TRY(tensor_axpby(1.0, &params->own_value, 0.0, &l->best_own));
    WEFT_TRY(tensor_create(l->hal, WEFT_DTYPE_F64, 1, 1, WEFT_MEM_WORKSPACE, &l->loss));
    if (l->source->leaves_training && l->source->loss == TRAIN_LOSS_XENT && scores.metric == TRAIN_METRIC_ACCURACY) {
        WEFT_TRY(tensor_create(l->hal, WEFT_DTYPE_I64, 1, 2, WEFT_MEM_WORKSPACE, &l->right));
    }
    return train_times_open(l->options->epochs, l->options->runs, &l->fit.times);
}

/* Workers compute passes as they are: nothing looks into them, and the caller's step is a batch. */
static weft_status check_workers(const loop *l)
{
    const train_options *o = l->options;
    const bool shadow = comm_size(l->comm) == 1 || sync_running(l->replica.sync) == SYNC_SHADOW;
    WEFT_CHECK(shadow, WEFT_ERR_USAGE,
               "workers of a rank compute on parameters of steps ago, as " FLAG_SYNC " shadow allows: " FLAG_SYNC
               " %s does not",
               sync_mode_name(sync_running(l->replica.sync)));
    WEFT_CHECK(o->accumulate <= 1 && o->class_weight == NULL && o->skew_guard == 0.0 && o->preconditioner == NULL &&
                   o->tap == NULL && l->right.cols == 0 && !l->model->scaled,
               WEFT_ERR_USAGE,
               "workers of a rank compute whole batches, which " FLAG_ACCUMULATE ", " FLAG_CLASS_WEIGHTS
               ", " FLAG_SKEW_GUARD " and " FLAG_PRECONDITION " do not leave to them: leave these out");
    return WEFT_OK;
}

/* Ranks that disagreed would wait for each other for ever. */
static weft_status check_steps(weft_comm *comm, const train_source *source)
{
    int64_t most[4] = {source->steps, -source->steps, source->eval_steps, -source->eval_steps};
    WEFT_TRY(comm_allreduce(comm, most, 4, WEFT_DTYPE_I64, COMM_MAX));
    WEFT_CHECK(-most[1] >= 1 && -most[3] >= 1 && most[0] == -most[1] && most[2] == -most[3], WEFT_ERR_INTERNAL,
               "%lld to %lld steps an epoch, %lld to %lld an evaluation: all ranks have the same number, at least 1",
               (long long)-most[1], (long long)most[0], (long long)-most[3], (long long)most[2]);
    return WEFT_OK;
}

static void loop_destroy(loop *l)
{
    fit_close(&l->fit);
    team_destroy(l->team);
    skew_guard_destroy(l->guard);
    replica_destroy(&l->replica);
    TENSOR_DESTROY_ALL(&l->best, &l->best_own, &l->first_own, &l->loss, &l->right);
    metrics_destroy(&l->metrics);
    class_weights_destroy(&l->weights);
}

/* ---- a step ------------------------------------------------------------------------------------------------ */

static int parts_of(const train_options *options)
{
    return options->accumulate > 1 ? options->accumulate : 1;
}

/* The mean goes on so that one step's loss is the epoch's to the bit: D. West, CACM 22(9), 1979,
 * doi:10.1145/359146.359153. */
static void add_loss(train_progress *p, double loss, int64_t entries)
{
    p->loss_entries += entries;
    if (entries > 0) {
        p->loss += (loss - p->loss) * ((double)entries / (double)p->loss_entries);
    }
}

static progress_words say_step(const train_epoch *record)
{
    bool several = record->steps > 1;
    const train_progress p = {.run = record->run,
                              .epoch = record->epoch - (several ? 1 : 0),
                              .step = several ? record->step : 0,
                              .steps = record->steps};
    return progress_say(&p);
}

/* A batch in which nothing is labelled has loss and gradient 0. */
static double mean_of(const train_targets *targets)
{
    return targets->loss_entries > 0 ? 1.0 / (double)targets->loss_entries : 0.0;
}

/* The local share of the loss, on the device, its gradient written over the logits. */
static weft_status loss_and_gradient(void *self, const train_targets *t, weft_tensor *logits, weft_tensor *sum)
{
    loop *l = self;
    const double scale = l->model->scaled ? l->fit.progress.scaling.scale : 1.0;
    tensor_loss_rows rows = {.mask = t->mask[0], .scale = scale * mean_of(t), .smoothing = l->options->smoothing};
    WEFT_TRY(class_weights_apply(&l->weights, l->comm, l->hal, t, &rows));
    WEFT_TRY(l->right.cols > 0 ? tensor_accuracy(logits, t->label, t->mask[0], &l->right) : WEFT_OK);
    if (t->share_host != NULL) {
        return share_loss(t, rows.scale, sum, logits);
    }
    if (t->loss == TRAIN_LOSS_XENT) {
        return tensor_softmax_xent(logits, t->label, &rows, sum, logits);
    }
    if (t->loss == TRAIN_LOSS_VALUE) {
        return value_loss(t, l->options->value_loss, rows.scale, sum, logits);
    }
    return tensor_bce_logits(logits, t->target, &rows, sum, logits);
}

/* The loss, whether any rank's gradient is not finite, and who wants a checkpoint, in one message. */
static weft_status sum_up(loop *l, const train_targets *targets, bool *diverged)
{
    enum { TOLD = 4 };
    double sum = 0;
    int64_t right[2] = {0, 0};
    WEFT_TRY(tensor_download(&l->loss, &sum));
    WEFT_TRY(l->right.cols > 0 ? tensor_download(&l->right, right) : WEFT_OK);
    const double mean =
        l->weights.of_class != NULL ? (l->weights.sum > 0.0 ? 1.0 / l->weights.sum : 0.0) : mean_of(targets);
    double sums[TOLD + KEEPER_WISHES] = {sum * mean, replica_diverged(&l->replica) ? 1.0 : 0.0, (double)right[0],
                                         (double)right[1]};
    keeper_wish(&l->fit.keeper, fit_place(&l->fit), sums + TOLD);
    WEFT_TRY(comm_allreduce(l->comm, sums, TOLD + KEEPER_WISHES, WEFT_DTYPE_F64, COMM_SUM));
    keeper_hear(&l->fit.keeper, sums + TOLD);
    l->step_loss = sums[0];
    l->step_right[0] = sums[2];
    l->step_right[1] = sums[3];
    *diverged = sums[1] > 0;
    return WEFT_OK;
}

/* Every rank ends in this step; the message names a rank and tensor. */
static weft_status fail_diverged(loop *l, const train_epoch *record)
{
    const char *tensor = "";
    weft_status mine = replica_blame(&l->replica, &tensor);
    if (mine == WEFT_OK && tensor[0] != '\0') {
        mine = weft_fail(WEFT_ERR_DIVERGED,
                         "%s: the gradient of %s is not finite: lower " FLAG_LR " (now %g)%s or check the features",
                         say_step(record).text, tensor, record->lr,
                         l->options->loss_scale > 1.0 ? " or " FLAG_LOSS_SCALE "," : "");
    }
    return comm_agree(l->comm, mine);
}

/* Whether the step shall be as if it had not been; all ranks say the same. A loss that is not finite is no matter of
 * scale. */
static bool is_overflow(loop *l, const train_epoch *record, bool diverged)
{
    train_scaling *scaling = &l->fit.progress.scaling;
    const bool over = l->model->scaled && diverged && isfinite(l->step_loss) &&
                      loss_scale_overflowed(scaling, l->options->loss_scale);
    if (over) {
        log_debug("%s: a gradient is too large for f16: skipped; the loss is scaled by %g from now on",
                  say_step(record).text, scaling->scale);
    }
    return over;
}

/* [out] skip  there shall be no update */
static weft_status reduce(loop *l, const train_targets *targets, const train_epoch *record, bool *skip)
{
    bool diverged = false;
    WEFT_TRY(replica_gradients(&l->replica));
    WEFT_TRY(sum_up(l, targets, &diverged));
    *skip = is_overflow(l, record, diverged);
    if (diverged && !*skip) {
        WEFT_TRY(fail_diverged(l, record));
    }
    WEFT_CHECK(isfinite(l->step_loss), WEFT_ERR_DIVERGED,
               "%s: the loss is %g: lower " FLAG_LR " (now %g) or check the features", say_step(record).text,
               number_plain(l->step_loss), record->lr);
    return WEFT_OK;
}

/* The next part of the step's batch, from its rows to their gradients. */
static weft_status train_part(loop *l, train_pass *pass, train_batch *batch)
{
    weft_tensor logits;
    WEFT_TRY(l->source->batch(l->source->self, pass, batch));
    pass->batch = batch;
    WEFT_TRY(l->model->forward(l->model->self, pass, &logits));
    ACTIVITY_TRY(ACTIVITY_LOSS, loss_and_gradient(l, batch->targets, &logits, &l->loss));
    return l->model->backward(l->model->self, pass, &logits);
}

static weft_status train_parts(loop *l, train_pass *pass, train_batch *batch)
{
    bool last = false;
    for (pass->part = 0; !last; ++pass->part) {
        last = pass->part + 1 == pass->parts;
        pass->hooks = replica_hooks(&l->replica, last);
        pass->tap = train_tap_of(l->options->tap, pass);
        WEFT_TRY(train_part(l, pass, batch));
        WEFT_TRY(last ? WEFT_OK : replica_keep(&l->replica));
    }
    return WEFT_OK;
}

static weft_status begin_step(loop *l, int64_t step, train_epoch *record)
{
    record->lr = schedule_lr(&l->options->schedule, record->epoch - 1, step, l->source->steps) *
                 plateau_factor(&l->options->schedule, &l->fit.progress.plateau);
    if (l->model->scaled) {
        replica_scale(&l->replica, l->fit.progress.scaling.scale);
    }
    /* A rank whose own epochs are over takes part in the others' with weight 0. */
    WEFT_TRY(replica_begin(&l->replica, record->lr, record->epoch <= l->options->epochs ? 1.0 : 0.0));
    WEFT_TRY(tensor_zero(&l->loss));
    return l->right.cols > 0 ? tensor_zero(&l->right) : WEFT_OK;
}

static weft_status end_step(loop *l, const train_targets *targets, train_epoch *record)
{
    bool skip = false;
    ACTIVITY_TRY(ACTIVITY_ALLREDUCE, reduce(l, targets, record, &skip));
    activity_begin(ACTIVITY_OPTIMIZER);
    weft_status status = skip ? replica_skip(&l->replica) : replica_update(&l->replica);
    activity_end(ACTIVITY_OPTIMIZER);
    if (l->model->scaled && !skip) {
        loss_scale_passed(&l->fit.progress.scaling, l->options->loss_scale);
    }
    add_loss(&l->fit.progress, l->step_loss, targets->loss_entries);
    l->fit.progress.right += (int64_t)l->step_right[0];
    l->fit.progress.seen += (int64_t)l->step_right[1];
    return status;
}

static weft_status train_step(loop *l, train_pass *pass, train_epoch *record)
{
    train_batch batch = {.input = NULL};
    WEFT_TRY(begin_step(l, pass->step, record));
    WEFT_TRY(train_parts(l, pass, &batch));
    return end_step(l, batch.targets, record);
}

/* Figures of the preconditioner; `before`: as they were when the epoch began. */
static void tell_precondition(const loop *l, const precondition_figures *before, train_epoch *record)
{
    const train_preconditioner *p = l->options->preconditioner;
    record->preconditioned = p != NULL && p->figures != NULL;
    if (record->preconditioned) {
        record->precondition = p->figures(p->self);
        for (size_t i = 0; before != NULL && i < sizeof before->seconds / sizeof *before->seconds; ++i) {
            record->precondition.seconds[i] -= before->seconds[i];
            record->precondition.work[i] -= before->work[i];
        }
    }
}

/* Step p->step of the workers', and as many begun as may be under way, up to `until`, before which nothing may be kept
 * within the epoch. */
static weft_status team_step(loop *l, train_pass *pass, int64_t until, train_epoch *record)
{
    const int64_t step = l->fit.progress.step;
    const int64_t most = team_under_way(l->model->workers, (record->epoch - 1) * l->source->steps + step);
    const train_targets *targets = NULL;
    for (; pass->step < until && pass->step - step < most; ++pass->step) {
        WEFT_TRY(team_begin(l->team, pass, l->model->params));
    }
    WEFT_TRY(begin_step(l, step, record));
    WEFT_TRY(team_end(l->team, step, l->model->params, &l->loss, &targets));
    return end_step(l, targets, record);
}

/* A step is over, and another follows in the epoch: it is told, and what somebody asked for meanwhile is kept. */
static weft_status between_steps(loop *l, const train_epoch *record)
{
    WEFT_TRY(train_tell_step(l->fit.services->observers, record));
    return fit_keep_within(&l->fit);
}

/* The steps of train_epoch_steps, by workers. A checkpoint waits until no batch is under way. */
static weft_status train_by_team(loop *l, train_pass *pass, train_epoch *record)
{
    train_progress *p = &l->fit.progress;
    train_keeper *keeper = &l->fit.keeper;
    const int64_t steps = l->source->steps;
    bool due = false, stop = false;
    pass->step = p->step;
    pass->parts = 1;
    WEFT_TRY(replica_resume(&l->replica));
    while (p->step < steps) {
        record->step = p->step + 1;
        double begin = trace_begin();
        WEFT_TRY(team_step(l, pass, due || stop ? pass->step : steps, record));
        trace_end(begin, TRACE_STEP, "step", -1);
        p->step += 1;
        record->loss = p->loss;
        const bool idle = pass->step == p->step;
        due = due || keeper->due;
        stop = stop || keeper->stop;
        keeper->due = due && idle;
        keeper->stop = stop && idle;
        WEFT_TRY(p->step < steps ? between_steps(l, record) : WEFT_OK);
        due = due && !idle;
        stop = stop && !idle;
    }
    return WEFT_OK;
}

static weft_status train_steps(loop *l, train_pass *pass, train_epoch *record)
{
    train_progress *p = &l->fit.progress;
    const train_source *source = l->source;
    const int parts = parts_of(l->options);
    for (bool last = false; !last;) {
        last = p->step + 1 == source->steps;
        pass->step = p->step;
        pass->parts = source->parts != NULL ? source->parts(source->self, p->step, parts) : parts;
        record->step = p->step + 1;
        double begin = trace_begin();
        WEFT_TRY(train_step(l, pass, record));
        trace_end(begin, TRACE_STEP, record->steps > 1 ? "step" : "epoch", -1);
        p->step += 1;
        record->loss = p->loss;
        WEFT_TRY(skew_guard_step(l->guard, pass->seed, (record->epoch - 1) * source->steps + p->step));
        WEFT_TRY(last ? WEFT_OK : between_steps(l, record));
    }
    return WEFT_OK;
}

/* Trains the steps of an epoch that are left: all of them, or those after a checkpoint. */
static weft_status train_epoch_steps(void *self, uint64_t seed, train_epoch *record)
{
    loop *l = self;
    train_progress *p = &l->fit.progress;
    train_pass pass = {.training = true, .seed = seed, .epoch = (uint32_t)record->epoch};
    tell_precondition(l, NULL, record);
    const precondition_figures before = record->precondition;
    WEFT_TRY(l->team != NULL ? train_by_team(l, &pass, record) : train_steps(l, &pass, record));
    l->trained_share = p->seen > 0 ? (double)p->right / (double)p->seen : NAN;
    record->staleness = l->model->staleness;
    record->scaling = p->scaling;
    record->skew = skew_guard_figures(l->guard);
    tell_precondition(l, &before, record);
    return WEFT_OK;
}

/* The replicas' average; once the run ends, for good. */
static weft_status average(loop *l, bool last)
{
    if (l->ended) {
        return WEFT_OK;
    }
    l->ended = last;
    ACTIVITY_TRY(ACTIVITY_ALLREDUCE, replica_average(&l->replica, last));
    return WEFT_OK;
}

static weft_status evaluate_step(loop *l, train_pass *pass)
{
    train_batch batch = {.input = NULL};
    weft_tensor logits;
    WEFT_TRY(l->source->batch(l->source->self, pass, &batch));
    pass->batch = &batch;
    WEFT_TRY(l->model->forward(l->model->self, pass, &logits));
    return metrics_add(&l->metrics, &logits, batch.targets);
}

/* Where nothing is labelled for validation, the training loss takes its place. */
static void hear_score(loop *l, const train_epoch *record)
{
    const bool valid = !isnan(record->score[1]);
    plateau_hear(&l->options->schedule, record->epoch, valid ? record->score[1] : record->loss,
                 !valid || metric_kind_of(l->options->metric)->error, &l->fit.progress.plateau);
}

static weft_status evaluate(void *self, uint64_t seed, train_epoch *record)
{
    loop *l = self;
    train_pass pass = {.training = false, .seed = seed, .epoch = (uint32_t)record->epoch, .parts = 1};
    WEFT_TRY(average(l, record->epoch == l->fit.services->epochs));
    activity_begin(ACTIVITY_EVALUATE);
    weft_status status = metrics_begin(&l->metrics);
    for (; pass.step < l->source->eval_steps && status == WEFT_OK; ++pass.step) {
        status = evaluate_step(l, &pass);
    }
    status = status == WEFT_OK ? metrics_end(&l->metrics, record->score) : status;
    if (status == WEFT_OK && !l->metrics.finite) {
        status =
            weft_fail(WEFT_ERR_DIVERGED,
                      "%s: the outputs in evaluation are not finite: lower " FLAG_LR " (now %g) or check the features",
                      say_step(record).text, record->lr);
    }
    activity_end(ACTIVITY_EVALUATE);
    if (status == WEFT_OK) {
        record->score[0] = l->source->leaves_training ? l->trained_share : record->score[0];
        hear_score(l, record);
    }
    return status;
}

/* ---- a run ------------------------------------------------------------------------------------------------- */

static weft_status begin_beside(const loop *l, uint64_t seed, bool read)
{
    const train_beside *beside = l->model->beside;
    uint64_t mark = 0;
    if (beside == NULL) {
        return WEFT_OK;
    }
    WEFT_TRY(read ? param_mark(l->model->params, l->comm, &mark) : WEFT_OK);
    return comm_agree(l->comm, beside->begin(beside->self, seed, mark));
}

static weft_status begin_run(void *self, uint64_t seed)
{
    loop *l = self;
    param_store *params = l->model->params;
    l->fit.progress.plateau = (train_plateau){0};
    if (l->model->scaled) {
        loss_scale_begin(&l->fit.progress.scaling, l->options->loss_scale);
    }
    WEFT_TRY(param_initialise(params, seed));
    WEFT_TRY(tensor_axpby(1.0, &l->first_own, 0.0, &params->own_value));
    if (l->options->init_weights != NULL) {
        char head[PARAM_NAME_BYTES];
        WEFT_TRY(comm_agree(l->comm, weights_start(l->options->init_weights, "initial weights", params, head)));
    } else if (l->model->start != NULL) {
        WEFT_TRY(l->model->start(l->model->self));
    }
    WEFT_TRY(begin_beside(l, seed, l->options->init_weights != NULL));
    l->ended = false;
    WEFT_TRY(replica_reset(&l->replica));
    return skew_guard_reset(l->guard);
}

static weft_status keep_best(void *self)
{
    loop *l = self;
    param_store *params = l->model->params;
    const train_beside *beside = l->model->beside;
    uint64_t mark;
    if (beside != NULL) {
        WEFT_TRY(param_mark(params, l->comm, &mark));
        WEFT_TRY(comm_agree(l->comm, beside->keep_best(beside->self, mark)));
    }
    WEFT_TRY(tensor_axpby(1.0, &params->own_value, 0.0, &l->best_own));
    return tensor_axpby(1.0, &params->value, 0.0, &l->best);
}

static weft_status use_best(void *self)
{
    loop *l = self;
    param_store *params = l->model->params;
    const train_beside *beside = l->model->beside;
    WEFT_TRY(beside != NULL ? comm_agree(l->comm, beside->use_best(beside->self)) : WEFT_OK);
    WEFT_TRY(tensor_axpby(1.0, &l->best_own, 0.0, &params->own_value));
    return tensor_axpby(1.0, &l->best, 0.0, &params->value);
}

static weft_status end_run(void *self, double *drift)
{
    loop *l = self;
    WEFT_TRY(average(l, true));
    return replica_drift(&l->replica, drift);
}

static sync_figures figures_of(void *self, sync_mode *running)
{
    const loop *l = self;
    const train_preconditioner *p = l->options->preconditioner;
    sync_figures figures = sync_get_figures(l->replica.sync);
    *running = sync_running(l->replica.sync);
    if (p != NULL && p->figures != NULL) {
        const precondition_figures of_groups = p->figures(p->self);
        figures.bytes_sent += of_groups.group_bytes;
        figures.messages_sent += of_groups.group_messages;
    }
    return figures;
}

/* ---- checkpoints ------------------------------------------------------------------------------------------- */

/* Everything as it was where the checkpoint was written. */
static weft_status go_on(void *self, const checkpoint *ck, const train_progress *progress)
{
    loop *l = self;
    l->ended = false;
    if (l->model->scaled) {
        loss_scale_resume(&l->fit.progress.scaling, l->options->loss_scale);
    }
    WEFT_TRY(replica_reset(&l->replica));
    WEFT_TRY(begin_beside(l, l->options->seed + (uint64_t)progress->run, false));
    WEFT_TRY(skew_guard_reset(l->guard));
    WEFT_TRY(kept_replica_restore(&l->kept, ck, progress));
    return skew_guard_restored(l->guard);
}

static weft_status gather(void *self, const char *folder, bool best, weft_status *written)
{
    return kept_replica_gather(&((loop *)self)->kept, folder, best, written);
}

static void describe(const void *self, checkpoint_facts *facts)
{
    kept_replica_describe(&((const loop *)self)->kept, facts);
}

/* ---- all of it --------------------------------------------------------------------------------------------- */

static weft_status run(loop *l, int64_t epochs, const train_observer *observers, train_result *result)
{
    const train_options *o = l->options;
    const fit_services services = {.comm = l->comm,
                                   .observers = observers,
                                   .checkpoints = o->checkpoints,
                                   .epochs = epochs,
                                   .runs = o->runs,
                                   .seed = o->seed,
                                   .eval_every = o->eval_every,
                                   .patience = o->patience,
                                   .metric = o->metric};
    const keeper_content content = {.self = l, .gather = gather, .restore = go_on, .describe = describe};
    const fit_method method = {.self = l,
                               .steps = l->source->steps,
                               .begin = begin_run,
                               .epoch = train_epoch_steps,
                               .evaluate = evaluate,
                               .keep_best = keep_best,
                               .use_best = use_best,
                               .content = &content,
                               .hears = true,
                               .end = end_run,
                               .figures = figures_of};
    l->kept = (kept_replica){.comm = l->comm,
                             .model = l->model,
                             .replica = &l->replica,
                             .guard = skew_guard_state(l->guard),
                             .best = &l->best,
                             .best_own = &l->best_own};
    fit_open(&services, &method, &l->fit);
    weft_status status = fit_all(&l->fit, result);
    result->tracking = sync_running_tracking(l->replica.sync);
    return status;
}

weft_status train_loop(weft_comm *comm, weft_hal *hal, train_model *model, const train_source *source,
                       const train_options *options, const train_observer *observers, train_result *result)
{
    loop l = {.comm = comm, .hal = hal, .model = model, .source = source, .options = options};
    const double start = clock_seconds();
    sync_options sync = options->sync;
    int64_t epochs = 0;
    sync.topk.warmup *= source->steps;
    memset(result, 0, sizeof *result);
    weft_status status = comm_agree(comm, loop_create(&l));
    status = status == WEFT_OK ? check_steps(comm, source) : status;
    if (status == WEFT_OK) {
        status = replica_create(comm, model->params, &sync, &options->optimizer, options->preconditioner,
                                parts_of(options) > 1, &l.replica);
    }
    if (status == WEFT_OK && model->scaled) {
        status = comm_agree(comm, replica_guard(&l.replica));
    }
    if (status == WEFT_OK) {
        status = sync_agree_steps(comm, options->epochs, &epochs); /* those of the rank that has most */
    }
    if (status == WEFT_OK && options->skew_guard > 0.0) {
        status =
            skew_guard_create(comm, model, source, &l.replica, options->skew_guard, epochs * source->steps, &l.guard);
    }
    if (status == WEFT_OK && model->workers != NULL) {
        status = check_workers(&l);
        status =
            comm_agree(comm, status == WEFT_OK ? team_create(model->workers, loss_and_gradient, &l, &l.team) : status);
    }
    status = status == WEFT_OK ? run(&l, epochs, observers, result) : status;
    result->seconds = clock_seconds() - start;
    loop_destroy(&l);
    return status;
}
