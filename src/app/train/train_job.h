/*
 * app/train/train_job.h: one training job, from options to result: what `weft train` and weft_train() share.
 *
 * It writes the run folder and the log; what goes to stdout is the command's business (app/cli/command_train.c). The steps are
 * those of docs/architecture.md, "A training job in ten steps".
 */
#ifndef WEFT_APP_TRAIN_TRAIN_JOB_H
#define WEFT_APP_TRAIN_TRAIN_JOB_H

#include "app/predict/saved_model.h"
#include "app/train/memory_plan.h"
#include "app/train/train_data.h"
#include "app/train/train_report.h"
#include "gnn/dataset.h"

/* Who may ask a job to end with a checkpoint: signals of the command (app/cli/signals.h), nobody for programs. */
typedef struct train_stop {
    bool (*asked)(void *self);
    void (*training)(bool on); /* epochs begin, or are over */
} train_stop;

/* Everything that a job holds, freed in one place. */
typedef struct train_job {
    app_context context;
    run_dir dir;
    train_data data;
    gnn_config config;
    uint64_t process; /* resident bytes before anything was loaded */
    memory_plan memory;
    gnn_model model;
    gnn_labels labels;
    saved_model *initial; /* --init-weights, or NULL */
    train_options options;
    train_stop stop;
    checkpoint *from; /* rank 0: goes on from here */
    train_checkpoints checkpoints;
    char checkpoint_folder[FILE_PATH_MAX];
    double started; /* clock_seconds() */
    train_events events;
    train_report report;
    train_result result;
    bool traced; /* the process's trace is this job's */
} train_job;

/* An empty job: nothing is open. Free with train_job_destroy. */
weft_status train_job_create(train_job **job);
/* WEFT_STOPPED: ended early after a good checkpoint; the message holds the command line that goes on. */
/* Once a job. With --dry-run everything before the model. The job stays as far as it came, also on failure. Collective.
 */
weft_status train_job_run(train_job *job, const weft_options *options);
/*
 * The steps between graph and training: memory check, this rank's part, model, features and labels; job->context and
 * job->data are open. `folder` takes what is generated, and is made if need be. outputs: what the model answers with
 * where the store has no labels, or no split of them: job->labels then holds none; 0: labels are needed. With `dry`
 * everything before the model. Afterwards train_data_release. Collective.
 */
weft_status train_job_load(train_job *job, const char *folder, int64_t outputs, bool dry);
/* Collective. NULL is allowed. */
void train_job_destroy(train_job *job);

#endif
