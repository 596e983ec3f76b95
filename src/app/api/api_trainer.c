/* app/api/api_trainer.c: see weft/trainer.h. */
#include "weft/trainer.h"

#include <assert.h>
#include <math.h>
#include <string.h>

#include "app/api/api.h"
#include "app/train/train_job.h"

static_assert(sizeof((weft_train_result *)0)->run_dir == FILE_PATH_MAX, "a run folder's path fits");

static void fill_result(const train_job *job, weft_train_result *result)
{
    const app_context *context = job->context;
    const train_result *trained = &job->result;
    *result = (weft_train_result){.rank = comm_rank(context->comm),
                                  .ranks = comm_size(context->comm),
                                  .threads = context->placement.threads,
                                  .runs = trained->runs,
                                  .test_mean = trained->test_mean,
                                  .test_std = trained->test_std,
                                  .valid_mean = trained->valid_mean,
                                  .valid_std = trained->valid_std,
                                  .epoch_s_median = trained->epoch_s_median,
                                  .epoch_s_q1 = trained->epoch_s_q1,
                                  .epoch_s_q3 = trained->epoch_s_q3,
                                  .seconds = trained->seconds,
                                  .epochs = trained->epochs,
                                  .parameters = workload_parameters(&job->work),
                                  .replication_factor = job->work.replication,
                                  .predicted_peak_bytes = job->work.memory.peak};
    memcpy(result->run_dir, job->dir.path, sizeof result->run_dir);
}

/* ---- the program's watch ---- */

/* Holds the watch where observers find it. */
typedef struct listener {
    train_observer observer;
    const weft_train_watch *watch;
} listener;

static weft_status tell_epoch(void *self, const train_epoch *e)
{
    const weft_train_watch *watch = ((const listener *)self)->watch;
    double score[TRAIN_SPLITS];
    for (int i = 0; i < TRAIN_SPLITS; ++i) {
        score[i] = e->evaluated ? e->score[i] : NAN;
    }
    const weft_train_epoch told = {.run = e->run,
                                   .epoch = e->epoch,
                                   .loss = e->loss,
                                   .lr = e->lr,
                                   .epoch_s = e->epoch_s,
                                   .train = score[0],
                                   .valid = score[1],
                                   .test = score[2]};
    watch->on_epoch(watch->self, &told);
    return WEFT_OK;
}

/* The job hands itself in. */
static bool asked_to_stop(void *self)
{
    const train_job *job = self;
    const weft_train_watch *watch = ((const listener *)job->observers->self)->watch;
    return watch->asked_to_stop(watch->self);
}

/* l: as long as the job. */
static void listen(train_job *job, const weft_train_watch *watch, listener *l)
{
    if (watch == NULL) {
        return;
    }
    *l = (listener){.observer = {.self = l, .on_epoch = watch->on_epoch != NULL ? tell_epoch : NULL}, .watch = watch};
    job->observers = &l->observer;
    job->stop.asked = watch->asked_to_stop != NULL ? asked_to_stop : NULL;
}

/* ---- training ---- */

weft_status weft_train(const weft_options *options, weft_train_result *result)
{
    return weft_train_watched(options, NULL, result);
}

weft_status weft_train_watched(const weft_options *options, const weft_train_watch *watch, weft_train_result *result)
{
    app_context context = {.comm = NULL};
    train_job *job = NULL;
    listener l;
    memset(result, 0, sizeof *result);
    WEFT_TRY(api_check_command(options, "train", "weft_train"));
    WEFT_TRY(app_set_log_level(options));
    WEFT_TRY(train_job_create(&job));
    listen(job, watch, &l);
    weft_status status = app_context_open(options, &context);
    status = status == WEFT_OK ? train_job_run(job, &context) : status;
    if (status == WEFT_OK) {
        fill_result(job, result);
        /* Rank 0 alone has the folder, whose files are complete by now. */
        status = comm_bcast(context.comm, 0, result->run_dir, sizeof result->run_dir);
    }
    train_job_destroy(job);
    app_context_close(&context);
    return status;
}
