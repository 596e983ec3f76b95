/* app/train/fit_gradient.c: see app/train/fit_gradient.h. */
#include "app/train/fit_gradient.h"

#include <assert.h>
#include <string.h>

#include "app/setup/choices.h"
#include "app/setup/second_setup.h"
#include "app/setup/sync_setup.h"
#include "app/workload/class_counts.h"
#include "app/workload/class_match.h"
#include "base/alloc.h"
#include "base/log.h"
#include "comm/comm_options.def"
#include "train/loop/class_weights.h"
#include "train/loop/loop.h"
#include "train/param_patterns.h"
#include "train/train_options.def"

/* ---- weights to start from ---- */

static weft_status open_start(const workload *work, const char *path, const weft_options *o, saved_model **initial)
{
    if (work->ops->fit == NULL) {
        return saved_model_open_weights(path, o, initial);
    }
    WEFT_TRY(saved_model_open(path, o, initial));
    WEFT_CHECK((*initial)->own != NULL, WEFT_ERR_DATA, "--init-weights %s: is no model on %s", path, work->ops->field);
    return WEFT_OK;
}

weft_status fit_open_initial(workload *work, saved_model **initial)
{
    weft_comm *comm = work->context->comm;
    const weft_options *o = work->context->options;
    const char *path = option_text(o, OPT_INIT_WEIGHTS);
    *initial = NULL;
    if (path[0] == '\0') {
        return WEFT_OK;
    }
    WEFT_CHECK(work->ops->fit == NULL || work->ops->continues, WEFT_ERR_USAGE,
               "--init-weights %s: a model on %s has no weights to start from: leave it out", path, work->ops->field);
    WEFT_TRY(comm_agree(comm, comm_rank(comm) == 0 ? open_start(work, path, o, initial) : WEFT_OK));
    WEFT_TRY(saved_model_share(comm, initial));
    work->start = *initial;
    work->moments = &(*initial)->weights.moments;
    return WEFT_OK;
}

/* A last layer that begins as another class's would be told in no figure. */
static weft_status check_classes(const workload *work, const saved_model *initial)
{
    if (work->classes == 0) {
        return WEFT_OK;
    }
    const class_side model = {initial->path, (const char *const *)initial->classes.text, initial->classes.count};
    const class_side data = {work->name, work->class_name, work->classes};
    return class_match_check_start(&model, &data);
}

weft_status fit_place_initial(const workload *work, const saved_model *initial)
{
    weft_comm *comm = work->context->comm;
    const weft_options *o = work->context->options;
    if (initial == NULL) {
        return WEFT_OK;
    }
    if (work->ops->fit != NULL) {
        return comm_agree(comm, check_classes(work, initial));
    }
    assert(work->model != NULL && initial->own == NULL);
    WEFT_CHECK(saved_model_agrees(initial, o), WEFT_ERR_DATA, "%s: the model of these weights is not --model %s",
               initial->path, option_text(o, OPT_MODEL));
    char head[PARAM_NAME_BYTES];
    WEFT_TRY(comm_agree(comm, weights_start(&initial->weights, initial->path, work->model->params, head)));
    if (head[0] != '\0') {
        log_info("--init-weights %s: the last layer (%s*) has another shape there and is drawn anew", initial->path,
                 head);
        return WEFT_OK;
    }
    return comm_agree(comm, check_classes(work, initial));
}

weft_status fit_keep_choices(app_context *context, const workload *work)
{
    return work->ops->fit != NULL ? WEFT_OK
                                  : choices_keep(context, work->ops->choice, work->choice,
                                                 workload_parameters(work) * (int64_t)sizeof(float));
}

/* ---- the loop ---- */

static weft_status loop_options(const workload *work, const saved_model *initial, const fit_services *services,
                                train_options *options)
{
    const app_context *context = work->context;
    const weft_options *o = context->options;
    run_choices choices;
    WEFT_TRY(choices_of(context, work->ops->choice, &choices));
    *options = (train_options){
        .epochs = services->epochs,
        .runs = services->runs,
        .seed = services->seed,
        .accumulate = (int)option_int(o, OPT_ACCUMULATE),
        .eval_every = services->eval_every,
        .patience = services->patience,
        .skew_guard = option_real(o, OPT_SKEW_GUARD),
        .smoothing = option_real(o, OPT_LABEL_SMOOTHING),
        .metric = services->metric,
        .value_loss = option_choice(o, OPT_LOSS) == LOSS_AUTO ? LOSS_SQUARED : option_choice(o, OPT_LOSS),
        .sync = sync_options_of(o, work->ops->shards),
        .optimizer = {.kind = option_choice(o, OPT_OPTIMIZER),
                      .weight_decay = option_real(o, OPT_WEIGHT_DECAY),
                      .momentum = option_real(o, OPT_MOMENTUM),
                      .nesterov = option_flag(o, OPT_NESTEROV),
                      .trust = option_real(o, OPT_LARS_TRUST),
                      .beta1 = 0.9,
                      .beta2 = 0.999,
                      .epsilon = 1e-8,
                      .clip_norm = option_real(o, OPT_CLIP_NORM),
                      .average = option_real(o, OPT_EMA)},
        .schedule = {.kind = option_choice(o, OPT_SCHEDULE),
                     .base = option_real(o, OPT_LR),
                     .gamma = option_real(o, OPT_SCHEDULE_GAMMA),
                     .power = option_real(o, OPT_SCHEDULE_POWER),
                     .patience = option_int(o, OPT_SCHEDULE_PATIENCE),
                     .step = option_int(o, OPT_SCHEDULE_STEP),
                     .warmup = option_int(o, OPT_WARMUP),
                     .epochs = services->epochs},
        .init_weights = initial != NULL ? &initial->weights : NULL,
        .checkpoints = services->checkpoints,
    };
    options->sync.preferred = choices.allreduce;
    options->sync.topk.preferred = choices.topk;
    options->sync.topk.select.threads = context->placement.threads;
    if (options->smoothing > 0.0 && work->targets->loss != TRAIN_LOSS_XENT) {
        log_warn("%s %s has no effect: these labels are tasks, whose loss is binary cross-entropy",
                 FLAG_LABEL_SMOOTHING, option_value_text(o, OPT_LABEL_SMOOTHING));
    }
    if (options->optimizer.kind == OPTIMIZER_ADAMW && options->optimizer.weight_decay == 0.0) {
        log_warn(FLAG_OPTIMIZER " adamw is adam while --weight-decay is 0: PyTorch's default is 0.01");
    }
    WEFT_TRY(loss_scale_read(option_text(o, OPT_LOSS_SCALE), &options->loss_scale));
    char line[SCHEDULE_LINE_BYTES];
    WEFT_TRY(schedule_read_decays(option_text(o, OPT_SCHEDULE_AT), &options->schedule));
    schedule_find_unreached(&options->schedule, line);
    if (line[0] != '\0') {
        log_warn("%s", line);
    }
    return WEFT_OK;
}

/* [out] weight [classes]; NULL: every row counts the same. The caller's (weft_free). Collective. */
static weft_status weigh_classes(const workload *work, double **weight)
{
    const app_context *context = work->context;
    const char *text = option_text(context->options, OPT_CLASS_WEIGHTS);
    const int64_t classes = work->targets->outputs;
    int64_t *count = NULL;
    if (text[0] == '\0') {
        return WEFT_OK;
    }
    WEFT_CHECK(work->targets->loss == TRAIN_LOSS_XENT, WEFT_ERR_USAGE,
               FLAG_CLASS_WEIGHTS " %s: these labels are no classes: leave it out", text);
    WEFT_CHECK(option_real(context->options, OPT_LABEL_SMOOTHING) == 0.0, WEFT_ERR_USAGE,
               FLAG_CLASS_WEIGHTS " and " FLAG_LABEL_SMOOTHING
                                  " leave open which class's weight the smoothed share of a "
                                  "label has: give one of them");
    weft_status status = WEFT_NEW(weight, classes, WEFT_MEM_GENERAL);
    status = status == WEFT_OK ? WEFT_NEW(&count, TRAIN_SPLITS * classes, WEFT_MEM_GENERAL) : status;
    WEFT_TRY_GOTO(comm_agree(context->comm, status), status, done);
    if (strcmp(text, "balanced") == 0) {
        WEFT_TRY_GOTO(class_counts_of(work, count), status, done);
        class_weights_balance(count, classes, *weight);
    } else {
        status = class_weights_read(text, classes, *weight);
    }
done:
    weft_free(count);
    return status;
}

static void log_sync(const app_context *context, const sync_options *sync)
{
    char text[160];
    if (comm_size(context->comm) == 1) {
        return;
    }
    sync_setup_describe(sync, sync->mode, comm_size(context->comm), text, sizeof text);
    log_info("sync %s: %s", sync_mode_name(sync->mode), text);
    if (sync->wire != COMM_WIRE_SAME && sync->algorithm == COMM_ALGO_AUTO && context->nodes == 1) {
        log_warn(FLAG_WIRE " %s has no effect: all ranks are on one node", option_text(context->options, OPT_WIRE));
    }
    sync_setup_describe_tracking(sync, sync->mode, text, sizeof text);
    if (text[0] != '\0') {
        log_info("%s", text);
    }
}

/* Parameters that stand still or have rates of their own. A preconditioner counts all of them as trained. */
static weft_status apply_patterns(const workload *work, const train_options *options)
{
    const app_context *context = work->context;
    const weft_options *o = context->options;
    const char *freeze = option_text(o, OPT_FREEZE), *scales = option_text(o, OPT_LR_SCALE);
    param_pattern_figures figures;
    const bool any = freeze[0] != '\0' || scales[0] != '\0';
    WEFT_CHECK(!any || options->preconditioner == NULL, WEFT_ERR_USAGE,
               FLAG_PRECONDITION " %s turns all parameters together: leave it out, or " FLAG_FREEZE
                                 " and " FLAG_LR_SCALE,
               option_value_text(o, OPT_PRECONDITION));
    WEFT_TRY(comm_agree(context->comm, param_patterns_apply(work->model->params, freeze, scales, &figures)));
    if (any) {
        log_info("of %lld parameters %lld are frozen and %lld have a rate of their own",
                 (long long)workload_parameters(work), (long long)figures.frozen, (long long)figures.scaled);
    }
    return WEFT_OK;
}

weft_status fit_by_gradient(const workload *work, const saved_model *initial, const fit_services *services,
                            train_result *result)
{
    const app_context *context = work->context;
    train_options options;
    train_second *second = NULL;
    double *class_weight = NULL;
    assert(work->ops->fit == NULL && work->model->params != NULL);
    WEFT_TRY(loop_options(work, initial, services, &options));
    log_sync(context, &options.sync);
    weft_status status = weigh_classes(work, &class_weight);
    options.class_weight = class_weight;
    if (status == WEFT_OK) {
        status = second_setup_open(context->comm, context->options, work->model, work->source.steps, &options, &second);
    }
    status = status == WEFT_OK ? apply_patterns(work, &options) : status;
    if (status == WEFT_OK) {
        status =
            train_loop(context->comm, context->hal, work->model, &work->source, &options, services->observers, result);
    }
    second_destroy(second);
    weft_free(class_weight);
    return status;
}
