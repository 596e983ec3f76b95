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

static bool has_patterns(const weft_options *o)
{
    return option_text(o, OPT_FREEZE)[0] != '\0' || option_text(o, OPT_LR_SCALE)[0] != '\0';
}

/* Parameters that stand still or have rates of their own. */
static weft_status apply_patterns(const workload *work)
{
    const app_context *context = work->context;
    const weft_options *o = context->options;
    param_pattern_figures figures;
    WEFT_TRY(comm_agree(context->comm, param_patterns_apply(work->model->params, option_text(o, OPT_FREEZE),
                                                            option_text(o, OPT_LR_SCALE), &figures)));
    if (has_patterns(o)) {
        log_info("of %lld parameters %lld are frozen and %lld have a rate of their own",
                 (long long)workload_parameters(work), (long long)figures.frozen, (long long)figures.scaled);
    }
    return WEFT_OK;
}

static weft_status place_weights(const workload *work, const saved_model *initial)
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

weft_status fit_place_initial(const workload *work, const saved_model *initial)
{
    WEFT_TRY(place_weights(work, initial));
    return work->ops->fit != NULL ? WEFT_OK : apply_patterns(work);
}

weft_status fit_keep_choices(app_context *context, const workload *work)
{
    return work->ops->fit != NULL ? WEFT_OK
                                  : choices_keep(context, work->ops->choice, work->choice,
                                                 workload_parameters(work) * (int64_t)sizeof(float));
}

/* ---- the loop ---- */

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

weft_status fit_loop_options(const workload *work, const saved_model *initial, const fit_services *services,
                             train_options *options)
{
    const app_context *context = work->context;
    const weft_options *o = context->options;
    run_choices choices;
    *options = (train_options){.class_weight = NULL};
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
                      .epsilon = option_real(o, OPT_ADAM_EPSILON),
                      .clip_norm = option_real(o, OPT_CLIP_NORM),
                      .average = option_real(o, OPT_EMA)},
        .schedule = {.kind = option_choice(o, OPT_SCHEDULE),
                     .base = option_real(o, OPT_LR),
                     .gamma = option_real(o, OPT_SCHEDULE_GAMMA),
                     .power = option_real(o, OPT_SCHEDULE_POWER),
                     .cycle = option_int(o, OPT_SCHEDULE_CYCLE),
                     .patience = option_int(o, OPT_SCHEDULE_PATIENCE),
                     .step = option_int(o, OPT_SCHEDULE_STEP),
                     .warmup = option_int(o, OPT_WARMUP),
                     .epochs = services->epochs},
        .init_weights = initial != NULL ? &initial->weights : NULL,
        .checkpoints = services->checkpoints,
    };
    if (option_choice(o, OPT_SCHEDULE) != SCHEDULE_COSINE) { /* recipes have chosen it by now */
        option_warn_beside(o, OPT_SCHEDULE_CYCLE, OPT_SCHEDULE, "cycles are of cosine");
    }
    options->sync.preferred = choices.allreduce;
    options->sync.topk.preferred = choices.topk;
    options->sync.topk.select.threads = context->placement.threads;
    WEFT_TRY(loss_scale_read(option_text(o, OPT_LOSS_SCALE), &options->loss_scale));
    WEFT_TRY(schedule_read_decays(option_text(o, OPT_SCHEDULE_AT), &options->schedule));
    double *weight = NULL;
    const weft_status status = weigh_classes(work, &weight);
    options->class_weight = weight;
    return status;
}

void fit_loop_options_free(train_options *options)
{
    weft_free((void *)options->class_weight);
    options->class_weight = NULL;
}

static void warn_of_options(const workload *work, const train_options *options)
{
    char line[SCHEDULE_LINE_BYTES];
    if (options->smoothing > 0.0 && work->targets->loss != TRAIN_LOSS_XENT) {
        log_warn("%s %s has no effect: these labels are tasks, whose loss is binary cross-entropy",
                 FLAG_LABEL_SMOOTHING, option_value_text(work->context->options, OPT_LABEL_SMOOTHING));
    }
    if (options->optimizer.kind == OPTIMIZER_ADAMW && options->optimizer.weight_decay == 0.0) {
        log_warn(FLAG_OPTIMIZER " adamw is adam while --weight-decay is 0: PyTorch's default is 0.01");
    }
    schedule_find_unreached(&options->schedule, line);
    if (line[0] != '\0') {
        log_warn("%s", line);
    }
}

/* The guard takes the place of the mode's own setting. */
static void warn_of_turned(const weft_options *options, sync_mode mode)
{
    static const struct {
        sync_mode mode;
        option_id setting;
    } turned[] = {{SYNC_TOPK, OPT_TOPK_DENSITY},
                  {SYNC_DIVIDE_SHUFFLE, OPT_GROUP_SIZE},
                  {SYNC_SHADOW, OPT_SHADOW_GAP},
                  {SYNC_ASP, OPT_ASP_THRESHOLD}};
    for (size_t i = 0; i < sizeof turned / sizeof *turned; ++i) {
        if (turned[i].mode == mode) {
            option_warn_beside(options, turned[i].setting, OPT_SKEW_GUARD, "the guard turns it");
        }
    }
}

static void log_sync(const app_context *context, const sync_options *sync, bool guarded)
{
    char text[160];
    if (comm_size(context->comm) == 1) {
        return;
    }
    if (guarded) {
        warn_of_turned(context->options, sync->mode);
    }
    if (guarded && sync->mode == SYNC_TOPK) {
        if (sync->wire != COMM_WIRE_SAME) {
            log_info(FLAG_WIRE " %s rounds small tensors alone, which go whole: what topk selects travels %s",
                     option_text(context->options, OPT_WIRE),
                     sync->topk.exchange == SPARSE_OK_TOPK ? "as float32" : "in 4 bits under " FLAG_SKEW_GUARD);
        }
    } else {
        sync_setup_describe(sync, sync->mode, comm_size(context->comm), text, sizeof text);
        log_info("sync %s: %s", sync_mode_name(sync->mode), text);
    }
    const bool gathers = sync->mode == SYNC_TOPK && sync->topk.exchange == SPARSE_ALL_GATHER;
    const bool one_node = comm_get_layout(context->comm)->nodes == 1;
    if (sync->wire != COMM_WIRE_SAME && sync->algorithm == COMM_ALGO_AUTO && one_node && !gathers) {
        log_warn(FLAG_WIRE " %s has no effect: all ranks are on one node", option_text(context->options, OPT_WIRE));
    }
    sync_setup_describe_tracking(sync, sync->mode, text, sizeof text);
    if (text[0] != '\0') {
        log_info("%s", text);
    }
}

weft_status fit_by_gradient(const workload *work, const saved_model *initial, const fit_services *services,
                            train_result *result)
{
    const app_context *context = work->context;
    const weft_options *o = context->options;
    train_options options;
    train_second *second = NULL;
    weft_status status;
    assert(work->ops->fit == NULL && work->model->params != NULL);
    WEFT_TRY_GOTO(fit_loop_options(work, initial, services, &options), status, done);
    warn_of_options(work, &options);
    log_sync(context, &options.sync, options.skew_guard > 0.0);
    WEFT_TRY_GOTO(second_setup_open(context->comm, o, work->model, work->source.steps, &options, &second), status,
                  done);
    if (options.preconditioner != NULL && has_patterns(o)) { /* it counts all parameters as trained */
        status = weft_fail(WEFT_ERR_USAGE,
                           FLAG_PRECONDITION " %s turns all parameters together: leave it out, or " FLAG_FREEZE
                                             " and " FLAG_LR_SCALE,
                           option_value_text(o, OPT_PRECONDITION));
        goto done;
    }
    status = train_loop(context->comm, context->hal, work->model, &work->source, &options, services->observers, result);
done:
    second_destroy(second);
    fit_loop_options_free(&options);
    return status;
}
