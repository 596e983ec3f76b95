/*
 * app/train/lr_find.c: --lr auto: a rate from a short training whose rate grows (train/loop/lr_range.h), before the
 * first epoch.
 *
 * The test is a training by the loop, ended by its observer, and the training after it begins anew: a job has the bits
 * of one that was given the rate. It costs 80 steps, or a fortieth of an epoch where that is more.
 */
#include "app/train/fit_gradient.h"

#include <errno.h>
#include <math.h>
#include <string.h>
#include <unistd.h>

#include "base/log.h"
#include "train/loop/loop.h"
#include "train/loop/lr_range.h"

enum { STEPS = 80, STEPS_MOST = 1 << 20, EPOCH_SHARE = 40 /* least part of an epoch, so that powers stay finite */ };
static const double lowest = 1e-5, highest = 10.0;

typedef struct range_test {
    int64_t epoch_steps, steps; /* of an epoch, and of the test */
    int64_t each;               /* steps whose mean is a point */
    int points;
    double lr[STEPS], loss[STEPS], smooth[STEPS];
    double mean;    /* of the epoch so far */
    double sum;     /* of the steps of the point that is not full yet */
    int64_t in_sum; /* of them */
    bool over;      /* the loop ends by the test itself */
} range_test;

/* ---- the steps -------------------------------------------------------------------------------------------------- */

/* Ends the training by a failure that every rank returns at the same step: losses are sums over all ranks. */
static weft_status add_step(range_test *t, const train_epoch *epoch, int64_t done)
{
    const double loss = epoch->loss * (double)epoch->step - t->mean * (double)(epoch->step - 1);
    t->mean = epoch->step == epoch->steps ? 0.0 : epoch->loss;
    t->sum += loss;
    t->in_sum += 1;
    if (t->in_sum == t->each) {
        t->lr[t->points] = epoch->lr;
        t->loss[t->points] = t->sum / (double)t->each;
        t->points += 1;
        t->sum = 0.0;
        t->in_sum = 0;
        t->over = t->points == STEPS || lr_range_blew_up(t->loss, t->points);
        t->points -= !isfinite(t->loss[t->points - 1]);
    }
    t->over = t->over || done >= t->steps;
    return t->over ? weft_fail(WEFT_STOPPED, "the test of rates is over") : WEFT_OK;
}

static weft_status on_step(void *self, const train_epoch *epoch)
{
    return add_step(self, epoch, (epoch->epoch - 1) * epoch->steps + epoch->step);
}

static weft_status train_growing(const workload *work, const saved_model *initial, const fit_services *services,
                                 range_test *t)
{
    const app_context *context = work->context;
    const train_observer observer = {.self = t, .on_step = on_step, .on_epoch = on_step};
    train_options options;
    train_result result;
    t->epoch_steps = work->source.steps;
    t->each = (t->epoch_steps / EPOCH_SHARE + STEPS - 1) / STEPS;
    t->each = t->each > 0 ? t->each : 1;
    t->steps = t->each * STEPS;
    weft_status status = fit_loop_options(work, initial, services, &options);
    if (status != WEFT_OK) {
        fit_loop_options_free(&options);
        return status;
    }
    /* One epoch more than is trained, so that none is evaluated. */
    options.epochs = t->steps / t->epoch_steps + 2;
    options.runs = 1;
    options.eval_every = options.patience = 0;
    options.skew_guard = 0.0;
    options.sync.mode = SYNC_ALLREDUCE; /* rates of the exact mode, and nothing in the background when the test ends */
    options.checkpoints = NULL;
    options.schedule = (train_schedule){.kind = SCHEDULE_EXP,
                                        .base = lowest,
                                        .gamma = pow(highest / lowest, (double)t->epoch_steps / (double)(t->steps - 1)),
                                        .epochs = options.epochs};
    options.optimizer.average = 0.0;
    status = train_loop(context->comm, context->hal, work->model, &work->source, &options, &observer, &result);
    fit_loop_options_free(&options);
    weft_free(result.run);
    if ((t->over && status == WEFT_STOPPED) || status == WEFT_ERR_DIVERGED) {
        weft_error_clear();
        return WEFT_OK;
    }
    return status;
}

/* Parameters that are a rank's own, as running means, go back; those of all ranks are drawn when a run begins. */
static weft_status run_test(const workload *work, const saved_model *initial, const fit_services *services,
                            range_test *t)
{
    param_store *params = work->model->params;
    weft_tensor own;
    WEFT_TRY(comm_agree(work->context->comm,
                        tensor_create(work->context->hal, params->dtype, 1, params->own, WEFT_MEM_PARAMETER, &own)));
    weft_status status = tensor_axpby(1.0, &params->own_value, 0.0, &own);
    status = status == WEFT_OK ? train_growing(work, initial, services, t) : status;
    status = status == WEFT_OK ? tensor_axpby(1.0, &own, 0.0, &params->own_value) : status;
    tensor_destroy(&own);
    return status;
}

/* ---- what comes of it ------------------------------------------------------------------------------------------- */

/* That of a run which this one replaces. */
static weft_status remove_curve(const run_dir *dir)
{
    char path[FILE_PATH_MAX];
    WEFT_TRY(file_path(path, "%s/lr_range.csv", dir->path));
    WEFT_CHECK(unlink(path) == 0 || errno == ENOENT, WEFT_ERR_IO, "%s: cannot be removed: %s", path, strerror(errno));
    return WEFT_OK;
}

static weft_status write_curve(const range_test *t, const run_dir *dir)
{
    char path[FILE_PATH_MAX];
    file_writer writer;
    WEFT_TRY(file_path(path, "%s/lr_range.csv", dir->path));
    WEFT_TRY(file_writer_open(path, &writer));
    fprintf(writer.stream, "lr,loss,smoothed\n");
    for (int i = 0; i < t->points; ++i) {
        fprintf(writer.stream, "%.9g,%.9g,%.9g\n", t->lr[i], t->loss[i], t->smooth[i]);
    }
    return file_writer_commit(&writer);
}

/* Rank 0. [out] text: the rate. */
static weft_status judge(range_test *t, const run_dir *dir, char text[32])
{
    const lr_choice choice = lr_range_choose(t->lr, t->loss, t->points, t->smooth);
    WEFT_CHECK(choice.step >= 0, WEFT_ERR_DATA,
               FLAG_LR
               " auto: the loss falls at no rate from %g to %g by more than its noise (%d points): give a number, "
               "or larger batches, and check the features and labels",
               lowest, t->points > 0 ? t->lr[t->points - 1] : highest, t->points);
    (void)snprintf(text, 32, "%.2g", choice.rate);
    log_info(FLAG_LR " auto: %s, at which the loss falls by the largest share a step; tried were rates from %g to "
                     "%.2g, and the loss is "
                     "least at %.2g (lr_range.csv)",
             text, lowest, t->lr[t->points - 1], choice.least);
    if (choice.falling) {
        log_warn(FLAG_LR
                 " auto: the loss still falls at the largest rates that were tried: compare %s with larger ones",
                 text);
    }
    return write_curve(t, dir);
}

weft_status lr_find_check(const weft_options *o)
{
    const workload_ops *ops = workload_of(o);
    WEFT_CHECK(!option_is_auto(o, OPT_LR) || ops->fit == NULL, WEFT_ERR_USAGE,
               FLAG_LR " auto: models on %s are not trained by steps along a gradient: give a number, or leave it out",
               ops->field);
    return WEFT_OK;
}

weft_status lr_find(const workload *work, app_context *context, const saved_model *initial,
                    const fit_services *services, const char *before, const run_dir *dir)
{
    weft_comm *comm = context->comm;
    const bool first = comm_rank(comm) == 0;
    char text[32] = "";
    range_test t = {.over = false};
    int64_t resumed = first && before != NULL;
    if (!option_is_auto(context->options, OPT_LR)) {
        return comm_agree(comm, first && before == NULL ? remove_curve(dir) : WEFT_OK);
    }
    WEFT_CHECK(strcmp(option_text(context->options, OPT_PRECONDITION), "none") == 0, WEFT_ERR_USAGE,
               FLAG_LR " auto tries rates without a preconditioner: give a number, or --precondition none");
    WEFT_TRY(comm_bcast(comm, 0, &resumed, sizeof resumed));
    if (resumed != 0) {
        return app_decide_shared(comm, context->decided, OPT_LR, before);
    }
    WEFT_TRY(run_test(work, initial, services, &t));
    WEFT_TRY(comm_agree(comm, first ? judge(&t, dir, text) : WEFT_OK));
    return app_decide_shared(comm, context->decided, OPT_LR, first ? text : NULL);
}
