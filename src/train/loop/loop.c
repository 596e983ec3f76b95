/* train/loop/loop.c: see train/loop/loop.h. */
#include "train/loop/loop.h"

#include <math.h>
#include <string.h>

#include "base/activity.h"
#include "base/clock.h"
#include "base/number.h"
#include "base/sample.h"
#include "base/trace.h"

enum { TIMES_KEPT = 1 << 20 };

typedef struct loop {
    weft_comm *comm;
    weft_hal *hal;
    train_model *model;
    const train_targets *targets;
    const train_options *options;
    const train_observer *observer;
    train_replica replica;
    train_metrics metrics;
    int64_t epochs;   /* of the longest rank */
    bool ended;       /* the run's last average was taken */
    weft_tensor best; /* parameters at the best validation score of the run */
    weft_tensor loss; /* [1, 1] float64: this rank's sum of the step, read once it is told to the others */
    train_keeper keeper;
    train_progress progress;
    bool resumed;  /* the progress is a checkpoint's, not yet gone on from */
    double *times; /* [TIMES_KEPT] ring of epoch seconds */
    int64_t timed;
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
    return comm_lane_stats(l->comm, COMM_LANE_CONTROL).wait_seconds +
           comm_lane_stats(l->comm, COMM_LANE_HALO).wait_seconds + sync_get_figures(l->replica.sync).exposed_s;
}

static weft_status loop_create(loop *l)
{
    param_store *params = l->model->params;
    WEFT_CHECK(
        l->targets->loss_entries > 0, WEFT_ERR_DATA,
        "no vertex is both labelled and in the training split: choose another --split-index or convert with --splits");
    WEFT_TRY(metrics_create(l->comm, l->hal, params->dtype, l->targets, l->options->metric, &l->metrics));
    WEFT_TRY(tensor_create(l->hal, params->dtype, 1, params->elements, WEFT_MEM_PARAMETER, &l->best));
    WEFT_TRY(tensor_create(l->hal, WEFT_DTYPE_F64, 1, 1, WEFT_MEM_WORKSPACE, &l->loss));
    return WEFT_NEW(&l->times, TIMES_KEPT, WEFT_MEM_GENERAL);
}

static void loop_destroy(loop *l)
{
    replica_destroy(&l->replica);
    weft_free(l->times);
    tensor_destroy(&l->best);
    tensor_destroy(&l->loss);
    metrics_destroy(&l->metrics);
}

static double loss_scale(const loop *l)
{
    return 1.0 / (double)l->targets->loss_entries;
}

/* The local share of the loss, on the device, its gradient written over the logits. */
static weft_status loss_and_gradient(loop *l, weft_tensor *logits)
{
    const train_targets *t = l->targets;
    const tensor_loss_rows rows = {.mask = t->mask[0], .scale = loss_scale(l)};
    WEFT_TRY(tensor_zero(&l->loss));
    if (t->loss == TRAIN_LOSS_XENT) {
        return tensor_softmax_xent(logits, t->label, &rows, &l->loss, logits);
    }
    return tensor_bce_logits(logits, t->target, &rows, &l->loss, logits);
}

/* The loss, whether any rank's gradient is not finite, and who wants a checkpoint, in one message. */
static weft_status sum_up(loop *l, train_epoch *record, bool *diverged)
{
    const char *tensor = NULL;
    double sum = 0;
    WEFT_TRY(tensor_download(&l->loss, &sum));
    record->loss = sum * loss_scale(l);
    double sums[2 + KEEPER_WISHES] = {record->loss, sync_diverged(l->replica.sync, &tensor) ? 1.0 : 0.0};
    keeper_wish(&l->keeper, l->progress.trained + 1, sums + 2);
    WEFT_TRY(comm_allreduce(l->comm, sums, 2 + KEEPER_WISHES, WEFT_DTYPE_F64, COMM_SUM));
    keeper_hear(&l->keeper, sums + 2);
    record->loss = sums[0];
    *diverged = sums[1] > 0;
    return WEFT_OK;
}

/* Every rank ends in this epoch; the message names a rank and tensor. */
static weft_status fail_diverged(loop *l, const train_epoch *record)
{
    const char *tensor = NULL;
    weft_status mine = WEFT_OK;
    if (sync_diverged(l->replica.sync, &tensor)) {
        mine = weft_fail(WEFT_ERR_DIVERGED,
                         "run %d, epoch %lld: the gradient of %s is not finite: lower --lr (now %g) or check the "
                         "features",
                         record->run + 1, (long long)record->epoch, tensor, record->lr);
    }
    return comm_agree(l->comm, mine);
}

static weft_status reduce(loop *l, train_epoch *record)
{
    bool diverged = false;
    WEFT_TRY(replica_gradients(&l->replica));
    WEFT_TRY(sum_up(l, record, &diverged));
    if (diverged) {
        WEFT_TRY(fail_diverged(l, record));
    }
    WEFT_CHECK(isfinite(record->loss), WEFT_ERR_DIVERGED,
               "run %d, epoch %lld: the loss is %g: lower --lr (now %g) or check the features", record->run + 1,
               (long long)record->epoch, number_plain(record->loss), record->lr);
    return WEFT_OK;
}

static weft_status train_step(loop *l, uint64_t seed, train_epoch *record)
{
    const train_pass pass = {
        .training = true, .seed = seed, .epoch = (uint32_t)record->epoch, .hooks = replica_hooks(&l->replica)};
    weft_tensor logits;
    /* A rank whose own epochs are over takes part in the others' with weight 0. */
    WEFT_TRY(replica_begin(&l->replica, record->lr, record->epoch <= l->options->epochs ? 1.0 : 0.0));
    WEFT_TRY(l->model->forward(l->model->self, &pass, &logits));
    activity_begin(ACTIVITY_LOSS);
    weft_status status = loss_and_gradient(l, &logits);
    activity_end(ACTIVITY_LOSS);
    WEFT_TRY(status);
    WEFT_TRY(l->model->backward(l->model->self, &pass, &logits));
    activity_begin(ACTIVITY_ALLREDUCE);
    status = reduce(l, record);
    activity_end(ACTIVITY_ALLREDUCE);
    WEFT_TRY(status);
    activity_begin(ACTIVITY_OPTIMIZER);
    status = replica_update(&l->replica);
    activity_end(ACTIVITY_OPTIMIZER);
    return status;
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

static weft_status evaluate(loop *l, uint64_t seed, train_epoch *record)
{
    const train_pass pass = {.training = false, .seed = seed, .epoch = (uint32_t)record->epoch};
    weft_tensor logits;
    WEFT_TRY(average(l, record->epoch == l->epochs));
    activity_begin(ACTIVITY_EVALUATE);
    weft_status status = l->model->forward(l->model->self, &pass, &logits);
    if (status == WEFT_OK) {
        status = metrics_score(&l->metrics, &logits, record->score);
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
    int64_t every = l->options->eval_every;
    record->lr = schedule_lr(&l->options->schedule, record->epoch - 1);
    double start = clock_seconds();
    double begin = trace_begin();
    WEFT_TRY(train_step(l, seed, record));
    trace_end(begin, TRACE_STEP, "epoch", -1);
    double trained = clock_seconds();
    record->epoch_s = trained - start;
    l->times[l->timed++ % TIMES_KEPT] = record->epoch_s;
    if (record->epoch == l->epochs || (every > 0 && record->epoch % every == 0)) {
        WEFT_TRY(evaluate(l, seed, record));
        record->eval_s = clock_seconds() - trained;
    }
    note_traffic(l, &sent, record);
    record->comm_exposed_s = exposed(l) - stood;
    record->sync = sync_running(l->replica.sync);
    record->figures = sync_get_figures(l->replica.sync);
    record->allocations = weft_mem_usage_total().allocations - allocations;
    return l->observer->on_epoch(l->observer->self, record);
}

/* Without validation vertices the last evaluation counts. NaN never compares greater. */
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
    return tensor_axpby(1.0, &params->value, 0.0, &l->best);
}

/* A run that a checkpoint interrupted goes on after the epoch where it stood. */
static weft_status go_on(loop *l)
{
    l->resumed = false;
    l->ended = false;
    WEFT_TRY(replica_reset(&l->replica));
    return keeper_restore(&l->keeper, &l->progress);
}

static weft_status begin_run(loop *l, int number, uint64_t seed)
{
    param_store *params = l->model->params;
    if (l->resumed) {
        return go_on(l);
    }
    l->progress.run = number;
    l->progress.epoch = 0;
    l->progress.since_best = 0;
    l->progress.run_ended = false;
    WEFT_TRY(param_initialise(params, seed));
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
    train_epoch record = {.run = p->run, .epoch = p->epoch + 1};
    WEFT_TRY(one_epoch(l, seed, &record));
    p->epoch += 1;
    p->trained += 1;
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
    result->tracking = sync_running_tracks(l->replica.sync);
    result->figures = sync_get_figures(l->replica.sync);
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
}

/* A run that ended because its epochs were over, not because it got no better, goes on when there are more. */
static bool ended_early(const loop *l)
{
    return l->options->patience > 0 && l->progress.since_best >= l->options->patience;
}

/* Which run comes next: the one that was interrupted or has epochs left, or the one after the last that ended. */
static weft_status find_start(loop *l, train_result *result)
{
    l->progress.result = result->run;
    WEFT_TRY(keeper_find(&l->keeper, l->options->runs, &l->progress, &l->resumed));
    if (l->observer->on_start != NULL) {
        WEFT_TRY(l->observer->on_start(l->observer->self, l->resumed ? &l->progress : NULL));
    }
    if (!l->resumed) {
        return WEFT_OK;
    }
    if (l->progress.epoch < l->epochs && !ended_early(l)) {
        l->progress.run_ended = false;
    }
    result->runs = l->progress.run + (l->progress.run_ended ? 1 : 0);
    if (!l->progress.run_ended) {
        return WEFT_OK;
    }
    l->resumed = false;
    return keeper_restore(&l->keeper, &l->progress);
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

weft_status train_loop(weft_comm *comm, weft_hal *hal, train_model *model, const train_targets *targets,
                       const train_options *options, const train_observer *observer, train_result *result)
{
    loop l = {.comm = comm, .hal = hal, .model = model, .targets = targets, .options = options, .observer = observer};
    double start = clock_seconds();
    memset(result, 0, sizeof *result);
    weft_status status = comm_agree(comm, loop_create(&l));
    if (status == WEFT_OK) {
        status = replica_create(comm, model->params, &options->sync, &options->optimizer, &l.replica);
    }
    if (status == WEFT_OK) {
        status = sync_agree_steps(comm, options->epochs, &l.epochs);
    }
    if (status == WEFT_OK) {
        keeper_open(comm, options->checkpoints, &l.replica, &l.best, &l.keeper);
        status = all_runs(&l, result);
    }
    if (status == WEFT_OK) {
        status = tensor_axpby(1.0, &l.best, 0.0, &model->params->value);
        summarise(&l, result);
    } else if (status == WEFT_STOPPED) {
        summarise_times(&l, result);
    }
    result->seconds = clock_seconds() - start;
    loop_destroy(&l);
    return status;
}
