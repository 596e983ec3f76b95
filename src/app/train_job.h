/*
 * app/train_job.h: one training job, from options to result: what `weft train` and weft_train() share.
 *
 * It writes the run folder and the log; what goes to stdout is the command's business (app/train.c). The steps are
 * those of docs/architecture.md, "A training job in ten steps".
 */
#ifndef WEFT_APP_TRAIN_JOB_H
#define WEFT_APP_TRAIN_JOB_H

#include "app/memory_plan.h"
#include "app/train_data.h"
#include "app/train_report.h"
#include "gnn/dataset.h"

/* Who may ask a job to end with a checkpoint: signals of the command (app/signals.h), nobody for programs. */
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
    train_options options;
    train_stop stop;
    checkpoint *from; /* rank 0: goes on from here */
    train_checkpoints checkpoints;
    char checkpoint_folder[FILE_PATH_MAX];
    double started; /* clock_seconds() */
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
/* Collective. NULL is allowed. */
void train_job_destroy(train_job *job);

#endif
