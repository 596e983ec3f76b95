/*
 * app/train/train_job.h: one training job, from options to result: what `weft train` and weft_train() share.
 *
 * It writes the run folder and the log; what goes to stdout is the command's business (app/cli/command_train.c). The steps are
 * those of docs/architecture.md, "A training job in ten steps".
 */
#ifndef WEFT_APP_TRAIN_TRAIN_JOB_H
#define WEFT_APP_TRAIN_TRAIN_JOB_H

#include "app/train/train_report.h"
#include "app/workload/workload.h"

/* Who may ask a job to end with a checkpoint: signals of the command (app/cli/signals.h), nobody for programs. */
typedef struct train_stop {
    bool (*asked)(void *self);
    void (*training)(bool on);          /* epochs begin, or are over */
    void (*remove)(const char *folder); /* what a dry run makes goes with it, whatever ends it; may be NULL */
} train_stop;

/* Everything that a job holds, freed in one place. */
typedef struct train_job {
    app_context *context; /* the caller's */
    run_dir dir;
    workload work;
    saved_model *initial; /* --init-weights, or NULL */
    train_options options;
    train_stop stop;
    checkpoint *from;              /* rank 0: goes on from here */
    input_moments resumed_moments; /* of `from`; or none */
    train_checkpoints checkpoints;
    char checkpoint_folder[FILE_PATH_MAX];
    double started; /* clock_seconds() */
    train_events events;
    train_report report;
    train_result result;
    bool traced; /* the job holds the process's trace */
    job_account account;
    comm_stats lanes_before[COMM_LANES]; /* what the communicator had counted when the job began */
} train_job;

/* An empty job, whose clock and times by activity start here. Free with train_job_destroy. */
weft_status train_job_create(train_job **job);
/*
 * The job of context->options on the ranks of context->comm, all of them or some (app_context_open_within); with
 * --dry-run everything before the model. Once a job. The context stays the caller's, open until the job is destroyed;
 * the job stays as far as it came, also on failure. WEFT_STOPPED: ended early after a good checkpoint; the message holds
 * the command line that goes on. Collective.
 */
weft_status train_job_run(train_job *job, app_context *context);
/* Collective. NULL is allowed. */
void train_job_destroy(train_job *job);

#endif
