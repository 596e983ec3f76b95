/* train/fit/fit.c: see train/fit/fit.h. */
#include "train/fit/fit.h"

#include <assert.h>
#include <math.h>
#include <string.h>

#include "base/alloc.h"
#include "base/clock.h"

static int64_t steps_of(const fit_run *fit)
{
    return fit->method->steps > 1 ? fit->method->steps : 1;
}

static bool is_last_step(const fit_run *fit)
{
    return fit->progress.step + 1 == steps_of(fit);
}

static void begin_epoch(fit_run *fit)
{
    train_progress *p = &fit->progress;
    p->step = 0;
    p->steps = steps_of(fit);
    p->loss = 0;
    p->loss_entries = 0;
    p->right = p->seen = 0;
}

/* ---- wishes ------------------------------------------------------------------------------------------------- */

/* After the last epoch, and every so often. */
static bool is_evaluated(const fit_run *fit, int64_t epoch)
{
    const int64_t every = fit->services->eval_every;
    return epoch == fit->services->epochs || (every > 0 && epoch % every == 0);
}

keeper_place fit_place(const fit_run *fit)
{
    const train_progress *p = &fit->progress;
    const int64_t steps = steps_of(fit);
    const bool last = is_last_step(fit), next_is_last = steps == 1 || p->step + 2 == steps;
    return (keeper_place){.steps = p->trained * steps + p->step + 1,
                          .trained = last ? p->trained + 1 : 0,
                          .evaluations = (last && is_evaluated(fit, p->epoch + 1)) +
                                         (next_is_last && is_evaluated(fit, p->epoch + 1 + last))};
}

weft_status fit_keep_within(fit_run *fit)
{
    const uint64_t before = weft_mem_usage_total().allocations;
    weft_status status = keeper_keep(&fit->keeper, &fit->progress, false);
    fit->kept_allocations += weft_mem_usage_total().allocations - before;
    return status;
}

/* What the ranks of a method without messages of its own want after this epoch. */
static weft_status ask(fit_run *fit)
{
    double wish[KEEPER_WISHES];
    if (fit->method->hears || fit->services->checkpoints == NULL) {
        return WEFT_OK;
    }
    keeper_wish(&fit->keeper, fit_place(fit), wish);
    WEFT_TRY(comm_allreduce(fit->services->comm, wish, KEEPER_WISHES, WEFT_DTYPE_F64, COMM_SUM));
    keeper_hear(&fit->keeper, wish);
    return WEFT_OK;
}

/* ---- what an epoch cost ------------------------------------------------------------------------------------- */

static sync_figures figures_of(const fit_run *fit, sync_mode *running)
{
    const fit_method *method = fit->method;
    return method->figures != NULL ? method->figures(method->self, running) : (sync_figures){0};
}

static train_traffic traffic_so_far(const fit_run *fit)
{
    sync_mode running = SYNC_ALLREDUCE;
    const sync_figures figures = figures_of(fit, &running);
    train_traffic traffic = {.group_bytes = figures.bytes_sent, .group_messages = figures.messages_sent};
    for (int lane = 0; lane < COMM_LANES; ++lane) {
        comm_stats stats = comm_lane_stats(fit->services->comm, (comm_lane)lane);
        traffic.bytes[lane] = stats.bytes_sent;
        traffic.messages[lane] = stats.messages_sent;
    }
    return traffic;
}

static void note_traffic(const fit_run *fit, const train_traffic *before, train_epoch *record)
{
    train_traffic now = traffic_so_far(fit);
    record->traffic.group_bytes = now.group_bytes - before->group_bytes;
    record->traffic.group_messages = now.group_messages - before->group_messages;
    record->comm_bytes = record->traffic.group_bytes;
    for (int lane = 0; lane < COMM_LANES; ++lane) {
        record->traffic.bytes[lane] = now.bytes[lane] - before->bytes[lane];
        record->traffic.messages[lane] = now.messages[lane] - before->messages[lane];
        record->comm_bytes += record->traffic.bytes[lane];
    }
}

/* Seconds that this rank stood still: for gradients and averages by the mode's own account, which a method without
 * parameters has not, for the rest by lane. */
static double exposed(const fit_run *fit)
{
    static const comm_lane lanes[] = {COMM_LANE_CONTROL, COMM_LANE_HALO, COMM_LANE_FACTORS, COMM_LANE_SAMPLES,
                                      COMM_LANE_ROWS};
    sync_mode running = SYNC_ALLREDUCE;
    double seconds = fit->method->figures != NULL
                         ? figures_of(fit, &running).exposed_s
                         : comm_lane_stats(fit->services->comm, COMM_LANE_GRADIENT).wait_seconds;
    for (size_t i = 0; i < sizeof lanes / sizeof *lanes; ++i) {
        seconds += comm_lane_stats(fit->services->comm, lanes[i]).wait_seconds;
    }
    return seconds;
}

/* ---- an epoch ----------------------------------------------------------------------------------------------- */

/* A method that asks for wishes within its epochs also agrees on their failures. */
static weft_status agreed(const fit_run *fit, weft_status status)
{
    return fit->method->hears ? status : comm_agree(fit->services->comm, status);
}

static weft_status evaluate(fit_run *fit, uint64_t seed, train_epoch *record)
{
    const fit_method *method = fit->method;
    const double start = clock_seconds();
    WEFT_TRY(agreed(fit, method->evaluate(method->self, seed, record)));
    record->evaluated = true;
    record->eval_s = clock_seconds() - start;
    keeper_evaluated(&fit->keeper, record->eval_s);
    return WEFT_OK;
}

static weft_status one_epoch(fit_run *fit, uint64_t seed, train_epoch *record)
{
    const fit_method *method = fit->method;
    weft_comm *comm = fit->services->comm;
    train_traffic sent = traffic_so_far(fit);
    double stood = exposed(fit);
    uint64_t allocations = weft_mem_usage_total().allocations;
    fit->kept_allocations = 0;
    bool whole = fit->progress.step == 0;
    double start = clock_seconds();
    WEFT_TRY(agreed(fit, method->epoch(method->self, seed, record)));
    WEFT_TRY(ask(fit));
    record->epoch_s = clock_seconds() - start;
    record->halo_bytes = comm_lane_stats(comm, COMM_LANE_HALO).bytes_sent - sent.bytes[COMM_LANE_HALO];
    if (whole) {
        train_times_add(&fit->times, record->epoch_s);
    }
    record->begin_s = fit->begin_s;
    fit->begin_s = 0.0;
    if (is_evaluated(fit, record->epoch)) {
        WEFT_TRY(evaluate(fit, seed, record));
    }
    note_traffic(fit, &sent, record);
    record->comm_exposed_s = exposed(fit) - stood;
    record->figures = figures_of(fit, &record->sync);
    record->allocations = weft_mem_usage_total().allocations - allocations - fit->kept_allocations;
    return train_tell_epoch(fit->services->observers, record);
}

/* Without validation rows the last evaluation counts. */
static bool is_best(const fit_run *fit, const train_epoch *record, const train_run *run)
{
    return run->best_epoch == 0 || isnan(record->score[1]) ||
           metric_better(fit->services->metric, record->score[1], run->best_valid);
}

static weft_status note_score(const fit_run *fit, const train_epoch *record, train_run *run, int64_t *since_best)
{
    run->final_train = record->score[0];
    if (run->best_epoch == 0 || !metric_better(fit->services->metric, run->best_train, record->score[0])) {
        run->best_train = record->score[0];
    }
    *since_best += 1;
    if (!is_best(fit, record, run)) {
        return WEFT_OK;
    }
    run->best_valid = record->score[1];
    run->final_test = record->score[2];
    run->best_epoch = record->epoch;
    *since_best = 0;
    return agreed(fit, fit->method->keep_best(fit->method->self));
}

/* ---- a run -------------------------------------------------------------------------------------------------- */

static weft_status begin_run(fit_run *fit, int number, uint64_t seed)
{
    train_progress *p = &fit->progress;
    if (fit->resumed) {
        fit->resumed = false;
        return WEFT_OK;
    }
    p->run = number;
    p->epoch = 0;
    begin_epoch(fit);
    p->since_best = 0;
    p->run_ended = false;
    const double start = clock_seconds();
    WEFT_TRY(agreed(fit, fit->method->begin(fit->method->self, seed)));
    fit->begin_s = clock_seconds() - start;
    return WEFT_OK;
}

/* An epoch of the run. [out] over: it was the last. */
static weft_status next_epoch(fit_run *fit, uint64_t seed, train_run *run, bool *over)
{
    train_progress *p = &fit->progress;
    const int64_t patience = fit->services->patience;
    train_epoch record = {.run = p->run, .epoch = p->epoch + 1, .steps = steps_of(fit)};
    WEFT_TRY(one_epoch(fit, seed, &record));
    p->epoch += 1;
    p->trained += 1;
    begin_epoch(fit);
    run->epochs = p->epoch;
    run->final_loss = record.loss;
    if (record.evaluated) {
        WEFT_TRY(note_score(fit, &record, run, &p->since_best));
    }
    *over = p->epoch >= fit->services->epochs || (patience > 0 && p->since_best >= patience);
    return WEFT_OK;
}

static weft_status end_run(fit_run *fit, int number, const train_run *run)
{
    const fit_method *method = fit->method;
    double drift = 0.0;
    WEFT_TRY(method->end != NULL ? agreed(fit, method->end(method->self, &drift)) : WEFT_OK);
    fit->drift = drift > fit->drift ? drift : fit->drift;
    WEFT_TRY(train_tell_run(fit->services->observers, number, run));
    fit->progress.run_ended = true;
    return keeper_keep(&fit->keeper, &fit->progress, number + 1 == fit->services->runs);
}

static weft_status one_run(fit_run *fit, int number, train_run *run)
{
    const uint64_t seed = fit->services->seed + (uint64_t)number;
    bool over = fit->services->epochs == 0;
    WEFT_TRY(begin_run(fit, number, seed));
    while (!over) {
        WEFT_TRY(next_epoch(fit, seed, run, &over));
        if (!over) {
            WEFT_TRY(keeper_keep(&fit->keeper, &fit->progress, false));
        }
    }
    return end_run(fit, number, run);
}

/* ---- going on ----------------------------------------------------------------------------------------------- */

/* A run that ended because its epochs were over, not because it got no better, goes on when there are more. */
static bool ended_early(const fit_run *fit)
{
    return fit->services->patience > 0 && fit->progress.since_best >= fit->services->patience;
}

/* From the checkpoint that the keeper has. [out] from: its progress. */
static weft_status restore(fit_run *fit, train_progress *from)
{
    train_progress *p = &fit->progress;
    WEFT_TRY(keeper_find(&fit->keeper, fit->services->runs, p, &fit->resumed));
    WEFT_CHECK(p->step == 0 || p->steps == steps_of(fit), WEFT_ERR_USAGE,
               "the checkpoint is after step %lld of %lld of an epoch, and an epoch has %lld steps now: go on with the "
               "data and batch size that it was written with",
               (long long)p->step, (long long)p->steps, (long long)steps_of(fit));
    *from = *p;
    if (!fit->resumed) {
        return WEFT_OK;
    }
    if (p->step == 0) {
        begin_epoch(fit);
    }
    if (p->epoch < fit->services->epochs && !ended_early(fit)) {
        p->run_ended = false;
    }
    return keeper_restore(&fit->keeper, p);
}

/* Which run comes next: the one that was interrupted or has epochs left, or the one after the last that ended. A
 * checkpoint that turns out to be damaged as it is put in place gives way to the one before it; observers hear of the
 * one that is used. */
static weft_status find_start(fit_run *fit, train_result *result)
{
    train_progress from;
    fit->progress.result = result->run;
    weft_status status = restore(fit, &from);
    while (status == WEFT_ERR_DATA && fit->resumed) {
        WEFT_TRY(keeper_step_back(&fit->keeper));
        status = restore(fit, &from);
    }
    WEFT_TRY(status);
    WEFT_TRY(train_tell_start(fit->services->observers, fit->resumed ? &from : NULL));
    if (fit->resumed) {
        result->runs = fit->progress.run + (fit->progress.run_ended ? 1 : 0);
        fit->resumed = !fit->progress.run_ended;
    }
    return WEFT_OK;
}

static weft_status all_runs(fit_run *fit, train_result *result)
{
    const int runs = fit->services->runs;
    WEFT_TRY(WEFT_NEW_ZERO(&result->run, runs, WEFT_MEM_GENERAL));
    WEFT_TRY(find_start(fit, result));
    for (int r = result->runs; r < runs; ++r) {
        WEFT_TRY(one_run(fit, r, &result->run[r]));
        result->runs += 1;
    }
    return WEFT_OK;
}

static void summarise_times(fit_run *fit, train_result *result)
{
    result->epochs = fit->progress.trained;
    result->resumed = fit->progress.trained - fit->times.count;
    result->scaling = fit->progress.scaling;
    result->figures = figures_of(fit, &result->sync);
    train_times_summarise(&fit->times, result);
}

weft_status fit_all(fit_run *fit, train_result *result)
{
    weft_status status = all_runs(fit, result);
    if (status == WEFT_OK) {
        status = agreed(fit, fit->method->use_best(fit->method->self));
        train_result_summarise(result);
        result->drift = fit->drift;
    }
    if (status == WEFT_OK || status == WEFT_STOPPED) {
        summarise_times(fit, result);
    }
    return status;
}

/* ---- files of a method's own -------------------------------------------------------------------------------- */

/* A rank's own failure is told by rank 0's `written`, so that all ranks go on or end together. */
static weft_status save(void *self, const char *folder, bool best, weft_status *written)
{
    const fit_run *fit = self;
    (void)best;
    *written = WEFT_OK;
    return comm_agree(fit->services->comm, fit->method->save(fit->method->self, folder));
}

static weft_status load(void *self, const checkpoint *ck, const train_progress *progress)
{
    const fit_run *fit = self;
    (void)progress;
    return comm_agree(fit->services->comm,
                      fit->method->load(fit->method->self, ck != NULL ? checkpoint_path(ck) : NULL));
}

void fit_open(const fit_services *services, const fit_method *method, fit_run *fit)
{
    assert(fit->times.second != NULL && (method->content != NULL || (method->save != NULL && method->load != NULL)));
    assert(method->name == NULL || strlen(method->name) <= FIT_NAME_MAX);
    fit->services = services;
    fit->method = method;
    fit->content = (keeper_content){.self = fit, .name = method->name, .gather = save, .restore = load};
    keeper_open(services->comm, services->checkpoints, method->content != NULL ? method->content : &fit->content,
                &fit->keeper);
}

void fit_close(fit_run *fit)
{
    keeper_close(&fit->keeper);
    train_times_close(&fit->times);
}

weft_status fit_rounds(const fit_services *services, const fit_method *method, train_result *result)
{
    fit_run fit = {.services = NULL};
    const double start = clock_seconds();
    memset(result, 0, sizeof *result);
    weft_status status = comm_agree(services->comm, train_times_open(services->epochs, services->runs, &fit.times));
    if (status == WEFT_OK) {
        fit_open(services, method, &fit);
        status = fit_all(&fit, result);
    }
    result->seconds = clock_seconds() - start;
    fit_close(&fit);
    return status;
}
