/* train/loop/loop.c: see train/loop/loop.h. */
#include "train/loop/loop.h"

#include <math.h>
#include <string.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/number.h"
#include "base/sample.h"
#include "base/trace/trace.h"
#include "train/activities.h"
#include "train/tap.h"
#include "train/train_options.def"

enum { TIMES_KEPT = 1 << 20 };

typedef struct loop {
    weft_comm *comm;
    weft_hal *hal;
    train_model *model;
    const train_source *source;
    const train_options *options;
    const train_observer *observer;
    train_replica replica;
    train_metrics metrics;
    int64_t epochs;                  /* of the longest rank */
    bool ended;                      /* the run's last average was taken */
    weft_tensor best;                /* parameters at the best validation score of the run */
    weft_tensor best_own, first_own; /* a rank's own parameters then, and before the first run */
    weft_tensor loss; /* [1, 1] float64: this rank's sum of the step, read once it is told to the others */
    double step_loss; /* of the step, over all ranks */
    train_keeper keeper;
    uint64_t kept_allocations; /* by checkpoints within the epoch */
    train_progress progress;
    bool resumed;  /* the next run is a checkpoint's, and everything stands as it did there */
    double *times; /* [TIMES_KEPT] ring of epoch seconds */
    int64_t timed;
    double drift; /* the largest of the runs' ends */
} loop;

static train_traffic traffic_so_far(const loop *l)
{
    sync_figures figures = sync_get_figures(l->replica.sync);
    train_traffic traffic = {.group_bytes = figures.bytes_sent, .group_messages = figures.messages_sent};
    for (int lane = 0; lane < COMM_LANES; ++lane) {
        comm_stats stats = comm_lane_stats(l->comm, (comm_lane)lane);
        traffic.bytes[lane] = stats.bytes_sent;
        traffic.messages[lane] = stats.messages_sent;
    }
    return traffic;
}

static void note_traffic(const loop *l, const train_traffic *before, train_epoch *record)
{
    train_traffic now = traffic_so_far(l);
    record->traffic.group_bytes = now.group_bytes - before->group_bytes;
    record->traffic.group_messages = now.group_messages - before->group_messages;
    record->comm_bytes = record->traffic.group_bytes;
    for (int lane = 0; lane < COMM_LANES; ++lane) {
        record->traffic.bytes[lane] = now.bytes[lane] - before->bytes[lane];
        record->traffic.messages[lane] = now.messages[lane] - before->messages[lane];
        record->comm_bytes += record->traffic.bytes[lane];
    }
}

/* Time that this rank stood still: for the gradients and averages by the mode's own account, for the rest by lane. */
static double exposed(const loop *l)
{
    static const comm_lane lanes[] = {COMM_LANE_CONTROL, COMM_LANE_HALO, COMM_LANE_SAMPLES};
    double seconds = sync_get_figures(l->replica.sync).exposed_s;
    for (size_t i = 0; i < sizeof lanes / sizeof *lanes; ++i) {
        seconds += comm_lane_stats(l->comm, lanes[i]).wait_seconds;
    }
    return seconds;
}

static weft_status loop_create(loop *l)
{
    param_store *params = l->model->params;
    WEFT_CHECK(l->source->loss_entries > 0, WEFT_ERR_DATA, "no row is both labelled and in the training split");
    WEFT_CHECK(l->options->accumulate <= 1 || l->source->divides, WEFT_ERR_USAGE,
               FLAG_ACCUMULATE " %d: an epoch is one batch here, which does not come in parts: leave it out",
               l->options->accumulate);
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
    return WEFT_NEW(&l->times, TIMES_KEPT, WEFT_MEM_GENERAL);
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
    keeper_close(&l->keeper);
    replica_destroy(&l->replica);
    weft_free(l->times);
    tensor_destroy(&l->best);
    tensor_destroy(&l->best_own);
    tensor_destroy(&l->first_own);
    tensor_destroy(&l->loss);
    metrics_destroy(&l->metrics);
}

/* ---- a step ------------------------------------------------------------------------------------------------ */

static bool is_last_step(const loop *l)
{
    return l->progress.step + 1 == l->source->steps;
}

static void begin_epoch(train_progress *p, const train_source *source)
{
    p->step = 0;
    p->steps = source->steps;
    p->loss = 0;
    p->loss_entries = 0;
}

static int parts_of(const train_options *options)
{
    return options->accumulate > 1 ? options->accumulate : 1;
}

/* After the last epoch, and every so often. */
static bool is_evaluated(const loop *l, int64_t epoch)
{
    int64_t every = l->options->eval_every;
    return epoch == l->epochs || (every > 0 && epoch % every == 0);
}

/* Where this step leads to. */
static keeper_place place_of(const loop *l)
{
    const train_progress *p = &l->progress;
    bool last = is_last_step(l);
    bool next_is_last = l->source->steps == 1 || p->step + 2 == l->source->steps;
    return (keeper_place){.steps = p->trained * l->source->steps + p->step + 1,
                          .trained = last ? p->trained + 1 : 0,
                          .evaluations = (last && is_evaluated(l, p->epoch + 1)) +
                                         (next_is_last && is_evaluated(l, p->epoch + 1 + last))};
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
static weft_status loss_and_gradient(loop *l, const train_targets *t, weft_tensor *logits)
{
    const double scale = l->model->scaled ? l->progress.scaling.scale : 1.0;
    const tensor_loss_rows rows = {.mask = t->mask[0], .scale = scale * mean_of(t), .smoothing = l->options->smoothing};
    if (t->loss == TRAIN_LOSS_XENT) {
        return tensor_softmax_xent(logits, t->label, &rows, &l->loss, logits);
    }
    return tensor_bce_logits(logits, t->target, &rows, &l->loss, logits);
}

/* The loss, whether any rank's gradient is not finite, and who wants a checkpoint, in one message. */
static weft_status sum_up(loop *l, const train_targets *targets, bool *diverged)
{
    double sum = 0;
    WEFT_TRY(tensor_download(&l->loss, &sum));
    double sums[2 + KEEPER_WISHES] = {sum * mean_of(targets), replica_diverged(&l->replica) ? 1.0 : 0.0};
    keeper_wish(&l->keeper, place_of(l), sums + 2);
    WEFT_TRY(comm_allreduce(l->comm, sums, 2 + KEEPER_WISHES, WEFT_DTYPE_F64, COMM_SUM));
    keeper_hear(&l->keeper, sums + 2);
    l->step_loss = sums[0];
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

/* Whether the step shall be as if it had not been; all ranks say the same. A loss that is not finite is no matter of scale. */
static bool is_overflow(loop *l, const train_epoch *record, bool diverged)
{
    train_scaling *scaling = &l->progress.scaling;
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
    activity_begin(ACTIVITY_LOSS);
    weft_status status = loss_and_gradient(l, batch->targets, &logits);
    activity_end(ACTIVITY_LOSS);
    WEFT_TRY(status);
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

static weft_status train_step(loop *l, train_pass *pass, train_epoch *record)
{
    train_batch batch = {.input = NULL};
    bool skip = false;
    record->lr = schedule_lr(&l->options->schedule, record->epoch - 1, pass->step, l->source->steps);
    if (l->model->scaled) {
        replica_scale(&l->replica, l->progress.scaling.scale);
    }
    /* A rank whose own epochs are over takes part in the others' with weight 0. */
    WEFT_TRY(replica_begin(&l->replica, record->lr, record->epoch <= l->options->epochs ? 1.0 : 0.0));
    WEFT_TRY(tensor_zero(&l->loss));
    WEFT_TRY(train_parts(l, pass, &batch));
    activity_begin(ACTIVITY_ALLREDUCE);
    weft_status status = reduce(l, batch.targets, record, &skip);
    activity_end(ACTIVITY_ALLREDUCE);
    WEFT_TRY(status);
    activity_begin(ACTIVITY_OPTIMIZER);
    status = skip ? replica_skip(&l->replica) : replica_update(&l->replica);
    activity_end(ACTIVITY_OPTIMIZER);
    if (l->model->scaled && !skip) {
        loss_scale_passed(&l->progress.scaling, l->options->loss_scale);
    }
    add_loss(&l->progress, l->step_loss, batch.targets->loss_entries);
    return status;
}

/* A checkpoint takes memory and gives it back, as one between epochs does: that is no allocation of the epoch. */
static weft_status keep_within(loop *l)
{
    const uint64_t before = weft_mem_usage_total().allocations;
    weft_status status = keeper_keep(&l->keeper, &l->progress, false);
    l->kept_allocations += weft_mem_usage_total().allocations - before;
    return status;
}

/* What is left of the epoch: all of it, or the steps after a checkpoint. */
static weft_status train_steps(loop *l, uint64_t seed, train_epoch *record)
{
    train_progress *p = &l->progress;
    const train_source *source = l->source;
    const int parts = parts_of(l->options);
    train_pass pass = {.training = true, .seed = seed, .epoch = (uint32_t)record->epoch};
    for (bool last = false; !last;) {
        last = is_last_step(l);
        pass.step = p->step;
        pass.parts = source->parts != NULL ? source->parts(source->self, p->step, parts) : parts;
        record->step = p->step + 1;
        double begin = trace_begin();
        WEFT_TRY(train_step(l, &pass, record));
        trace_end(begin, TRACE_STEP, record->steps > 1 ? "step" : "epoch", -1);
        p->step += 1;
        record->loss = p->loss;
        if (!last && l->observer->on_step != NULL) {
            WEFT_TRY(l->observer->on_step(l->observer->self, record));
        }
        if (!last) {
            WEFT_TRY(keep_within(l));
        }
    }
    return WEFT_OK;
}

/* The replicas' average; once the run ends, for good. */
static weft_status average(loop *l, bool last)
{
    if (l->ended) {
        return WEFT_OK;
    }
    l->ended = last;
    activity_begin(ACTIVITY_ALLREDUCE);
    weft_status status = replica_average(&l->replica, last);
    activity_end(ACTIVITY_ALLREDUCE);
    return status;
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

static weft_status evaluate(loop *l, uint64_t seed, train_epoch *record)
{
    train_pass pass = {.training = false, .seed = seed, .epoch = (uint32_t)record->epoch, .parts = 1};
    WEFT_TRY(average(l, record->epoch == l->epochs));
    activity_begin(ACTIVITY_EVALUATE);
    weft_status status = metrics_begin(&l->metrics);
    for (; pass.step < l->source->eval_steps && status == WEFT_OK; ++pass.step) {
        status = evaluate_step(l, &pass);
    }
    if (status == WEFT_OK) {
        status = metrics_end(&l->metrics, record->score);
    }
    if (status == WEFT_OK && !l->metrics.finite) {
        status =
            weft_fail(WEFT_ERR_DIVERGED,
                      "%s: the outputs in evaluation are not finite: lower " FLAG_LR " (now %g) or check the features",
                      say_step(record).text, record->lr);
    }
    activity_end(ACTIVITY_EVALUATE);
    record->evaluated = true;
    return status;
}

static weft_status one_epoch(loop *l, uint64_t seed, train_epoch *record)
{
    train_traffic sent = traffic_so_far(l);
    double stood = exposed(l);
    uint64_t allocations = weft_mem_usage_total().allocations;
    l->kept_allocations = 0;
    bool whole = l->progress.step == 0;
    double start = clock_seconds();
    WEFT_TRY(train_steps(l, seed, record));
    double trained = clock_seconds();
    record->halo_bytes = comm_lane_stats(l->comm, COMM_LANE_HALO).bytes_sent - sent.bytes[COMM_LANE_HALO];
    record->staleness = l->model->staleness;
    record->scaling = l->progress.scaling;
    record->epoch_s = trained - start;
    if (whole) {
        l->times[l->timed++ % TIMES_KEPT] = record->epoch_s;
    }
    if (is_evaluated(l, record->epoch)) {
        WEFT_TRY(evaluate(l, seed, record));
        record->eval_s = clock_seconds() - trained;
        keeper_evaluated(&l->keeper, record->eval_s);
    }
    note_traffic(l, &sent, record);
    record->comm_exposed_s = exposed(l) - stood;
    record->sync = sync_running(l->replica.sync);
    record->figures = sync_get_figures(l->replica.sync);
    record->allocations = weft_mem_usage_total().allocations - allocations - l->kept_allocations;
    return l->observer->on_epoch(l->observer->self, record);
}

/* Without validation rows the last evaluation counts. NaN never compares greater. */
static bool is_best(const train_epoch *record, const train_run *run)
{
    return run->best_epoch == 0 || isnan(record->score[1]) || record->score[1] > run->best_valid;
}

static weft_status note_score(loop *l, const train_epoch *record, train_run *run, int64_t *since_best)
{
    param_store *params = l->model->params;
    run->final_train = record->score[0];
    if (!(run->highest_train > record->score[0])) {
        run->highest_train = record->score[0];
    }
    *since_best += 1;
    if (!is_best(record, run)) {
        return WEFT_OK;
    }
    run->best_valid = record->score[1];
    run->final_test = record->score[2];
    run->best_epoch = record->epoch;
    *since_best = 0;
    WEFT_TRY(tensor_axpby(1.0, &params->own_value, 0.0, &l->best_own));
    return tensor_axpby(1.0, &params->value, 0.0, &l->best);
}

/* Everything as it was where the checkpoint was written. */
static weft_status go_on(loop *l)
{
    l->ended = false;
    if (l->model->scaled) {
        loss_scale_resume(&l->progress.scaling, l->options->loss_scale);
    }
    WEFT_TRY(replica_reset(&l->replica));
    return keeper_restore(&l->keeper, &l->progress);
}

static weft_status begin_run(loop *l, int number, uint64_t seed)
{
    param_store *params = l->model->params;
    if (l->resumed) {
        l->resumed = false;
        return WEFT_OK;
    }
    l->progress.run = number;
    l->progress.epoch = 0;
    begin_epoch(&l->progress, l->source);
    l->progress.since_best = 0;
    l->progress.run_ended = false;
    if (l->model->scaled) {
        loss_scale_begin(&l->progress.scaling, l->options->loss_scale);
    }
    WEFT_TRY(param_initialise(params, seed));
    WEFT_TRY(tensor_axpby(1.0, &l->first_own, 0.0, &params->own_value));
    if (l->options->init_weights != NULL) {
        WEFT_TRY(comm_agree(l->comm, weights_assign(l->options->init_weights, "initial weights", params)));
    }
    l->ended = false;
    return replica_reset(&l->replica);
}

/* An epoch of the run; *over: it was the last. */
static weft_status next_epoch(loop *l, uint64_t seed, train_run *run, bool *over)
{
    train_progress *p = &l->progress;
    int64_t patience = l->options->patience;
    train_epoch record = {.run = p->run, .epoch = p->epoch + 1, .steps = l->source->steps};
    WEFT_TRY(one_epoch(l, seed, &record));
    p->epoch += 1;
    p->trained += 1;
    begin_epoch(p, l->source);
    run->epochs = p->epoch;
    run->final_loss = record.loss;
    if (record.evaluated) {
        WEFT_TRY(note_score(l, &record, run, &p->since_best));
    }
    *over = p->epoch >= l->epochs || (patience > 0 && p->since_best >= patience);
    return WEFT_OK;
}

static weft_status one_run(loop *l, int number, train_run *run)
{
    uint64_t seed = l->options->seed + (uint64_t)number;
    bool over = l->epochs == 0;
    WEFT_TRY(begin_run(l, number, seed));
    while (!over) {
        WEFT_TRY(next_epoch(l, seed, run, &over));
        if (!over) {
            WEFT_TRY(keeper_keep(&l->keeper, &l->progress, false));
        }
    }
    WEFT_TRY(average(l, true));
    double drift = 0.0;
    WEFT_TRY(replica_drift(&l->replica, &drift));
    l->drift = drift > l->drift ? drift : l->drift;
    WEFT_TRY(l->observer->on_run(l->observer->self, number, run));
    l->progress.run_ended = true;
    return keeper_keep(&l->keeper, &l->progress, number + 1 == l->options->runs);
}

static void mean_and_std(const train_run *runs, int count, double (*value)(const train_run *), double *mean,
                         double *std)
{
    double sum = 0;
    for (int r = 0; r < count; ++r) {
        sum += value(&runs[r]);
    }
    *mean = sum / count;
    double squares = 0;
    for (int r = 0; r < count; ++r) {
        double d = value(&runs[r]) - *mean;
        squares += d * d;
    }
    *std = count > 1 ? sqrt(squares / (count - 1)) : 0.0;
}

static double test_of(const train_run *run)
{
    return run->final_test;
}

static double valid_of(const train_run *run)
{
    return run->best_valid;
}

static double train_of(const train_run *run)
{
    return run->final_train;
}

static void summarise_times(loop *l, train_result *result)
{
    int64_t count = l->timed < TIMES_KEPT ? l->timed : TIMES_KEPT;
    result->epochs = l->progress.trained;
    result->resumed = l->progress.trained - l->timed;
    result->sync = sync_running(l->replica.sync);
    result->tracking = sync_running_tracking(l->replica.sync);
    result->figures = sync_get_figures(l->replica.sync);
    result->scaling = l->progress.scaling;
    if (count > 0) {
        sample_sort(l->times, count);
        result->epoch_s_median = sample_quantile(l->times, count, 0.5);
        result->epoch_s_q1 = sample_quantile(l->times, count, 0.25);
        result->epoch_s_q3 = sample_quantile(l->times, count, 0.75);
    }
}

static void summarise(loop *l, train_result *result)
{
    double unused;
    mean_and_std(result->run, result->runs, test_of, &result->test_mean, &result->test_std);
    mean_and_std(result->run, result->runs, valid_of, &result->valid_mean, &result->valid_std);
    mean_and_std(result->run, result->runs, train_of, &result->train_mean, &unused);
    summarise_times(l, result);
    result->drift = l->drift;
}

/* A run that ended because its epochs were over, not because it got no better, goes on when there are more. */
static bool ended_early(const loop *l)
{
    return l->options->patience > 0 && l->progress.since_best >= l->options->patience;
}

/* From the checkpoint that the keeper has. [out] from: its progress. */
static weft_status restore(loop *l, train_progress *from)
{
    WEFT_TRY(keeper_find(&l->keeper, l->options->runs, &l->progress, &l->resumed));
    WEFT_CHECK(l->progress.step == 0 || l->progress.steps == l->source->steps, WEFT_ERR_USAGE,
               "the checkpoint is after step %lld of %lld of an epoch, and an epoch has %lld steps now: go on with the "
               "data and batch size that it was written with",
               (long long)l->progress.step, (long long)l->progress.steps, (long long)l->source->steps);
    *from = l->progress;
    if (!l->resumed) {
        return WEFT_OK;
    }
    if (l->progress.step == 0) {
        begin_epoch(&l->progress, l->source);
    }
    if (l->progress.epoch < l->epochs && !ended_early(l)) {
        l->progress.run_ended = false;
    }
    return go_on(l);
}

/* Which run comes next: the one that was interrupted or has epochs left, or the one after the last that ended. A checkpoint that
 * turns out to be damaged as it is put in place gives way to the one before it; observers hear of the one that is used. */
static weft_status find_start(loop *l, train_result *result)
{
    train_progress from;
    l->progress.result = result->run;
    weft_status status = restore(l, &from);
    while (status == WEFT_ERR_DATA && l->resumed) {
        WEFT_TRY(keeper_step_back(&l->keeper));
        status = restore(l, &from);
    }
    WEFT_TRY(status);
    if (l->observer->on_start != NULL) {
        WEFT_TRY(l->observer->on_start(l->observer->self, l->resumed ? &from : NULL));
    }
    if (l->resumed) {
        result->runs = l->progress.run + (l->progress.run_ended ? 1 : 0);
        l->resumed = !l->progress.run_ended;
    }
    return WEFT_OK;
}

static weft_status all_runs(loop *l, train_result *result)
{
    WEFT_TRY(WEFT_NEW_ZERO(&result->run, l->options->runs, WEFT_MEM_GENERAL));
    WEFT_TRY(find_start(l, result));
    for (int r = result->runs; r < l->options->runs; ++r) {
        WEFT_TRY(one_run(l, r, &result->run[r]));
        result->runs += 1;
    }
    return WEFT_OK;
}

static weft_status use_best(loop *l)
{
    param_store *params = l->model->params;
    WEFT_TRY(tensor_axpby(1.0, &l->best_own, 0.0, &params->own_value));
    return tensor_axpby(1.0, &l->best, 0.0, &params->value);
}

weft_status train_loop(weft_comm *comm, weft_hal *hal, train_model *model, const train_source *source,
                       const train_options *options, const train_observer *observer, train_result *result)
{
    loop l = {.comm = comm, .hal = hal, .model = model, .source = source, .options = options, .observer = observer};
    double start = clock_seconds();
    sync_options sync = options->sync;
    sync.warmup *= source->steps;
    memset(result, 0, sizeof *result);
    weft_status status = comm_agree(comm, loop_create(&l));
    if (status == WEFT_OK) {
        status = check_steps(comm, source);
    }
    if (status == WEFT_OK) {
        status = replica_create(comm, model->params, &sync, &options->optimizer, options->preconditioner,
                                parts_of(options) > 1, &l.replica);
    }
    if (status == WEFT_OK && model->scaled) {
        status = comm_agree(comm, replica_guard(&l.replica));
    }
    if (status == WEFT_OK) {
        status = sync_agree_steps(comm, options->epochs, &l.epochs);
    }
    if (status == WEFT_OK) {
        keeper_open(comm, options->checkpoints, model, &l.replica, &l.best, &l.best_own, &l.keeper);
        status = all_runs(&l, result);
    }
    if (status == WEFT_OK) {
        status = use_best(&l);
        summarise(&l, result);
    } else if (status == WEFT_STOPPED) {
        summarise_times(&l, result);
    }
    result->seconds = clock_seconds() - start;
    loop_destroy(&l);
    return status;
}
