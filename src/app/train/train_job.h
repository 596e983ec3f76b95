/*
 * app/train/train_job.h: a training job, from options to results: what `weft train` and weft_train() share.
 *
 * The job writes the run folder and the log. Only the command writes to stdout (app/cli/command_train.c).
 * docs/architecture.md lists the steps of a fit under "A training job in ten steps".
 *
 *     train_job_create
 *     train_job_run                 one fit: open, build, fit; the data are given back before the first epoch
 *     train_job_destroy
 *
 * A caller who trains several models on the same data, such as a search for good options, keeps the data open in
 * between:
 *
 *     job->keeps = true
 *     train_job_open                the data of context->options, read, checked and divided once
 *     train_job_build               the model of these options
 *     train_job_fit                 trained; results are in its run folder, which is closed
 *     train_job_again(options)      the next model's options: --lr, --hidden, --seed, --model; other data are refused
 *     train_job_build, train_job_fit, ...
 *     train_job_destroy
 *
 * Every fit has the bits that `weft train` with its options has. Each has a run folder of its own; generated data lie
 * in the first one's until the job is destroyed.
 */
#pragma once

#include "app/train/train_report.h"
#include "app/workload/workload.h"

/* Callbacks by which a job is asked to end with a checkpoint. The command fills them from its signals
 * (app/setup/signals.h); a program that calls the library leaves them NULL. */
typedef struct train_stop {
    bool (*asked)(void *self);
    void (*training)(bool on); /* epochs begin, or are over */
    /* Names the folder of a dry run, which is removed however the run ends; NULL: nothing is removed. */
    void (*remove)(const char *folder);
} train_stop;

/* Everything that a job holds, freed in one place. */
typedef struct train_job {
    app_context *context; /* the caller's */
    train_stop stop;
    const train_observer *observers; /* the caller's, which hear of every fit; NULL: none */
    bool keeps;                      /* the data stay open over several fits; set before train_job_open */
    /* One fit of a search: it ends without a checkpoint, its results wait for no disk, its folder has the lock of the
     * search (app/train/run_folder.h), nobody looks at other programs. */
    bool passing;
    const option_id *changed; /* options that may differ from those of the checkpoint, up to OPTION_NONE; NULL: none */
    workload work;
    /* The context's options when the job was opened. */
    const weft_options *first;
    /* Options of this fit as given, with "auto" where nobody decided. */
    const weft_options *asked;
    /* Copy of the options of a later fit; NULL in the first fit. */
    weft_options *own;
    double started; /* clock_seconds() */
    bool traced;    /* the process's trace is this job's */

    /* ---- of one fit ---- */
    run_dir dir;
    saved_model *initial;          /* --init-weights, or NULL */
    checkpoint *from;              /* rank 0: the checkpoint that the fit goes on from, or NULL */
    input_moments resumed_moments; /* of `from`; or none */
    train_checkpoints checkpoints;
    char checkpoint_folder[FILE_PATH_MAX];
    fit_services services;
    train_events events;
    train_report report;
    train_result result;
    job_account account;
    comm_stats lanes_before[COMM_LANES]; /* counters of the communicator when the fit began */
} train_job;

/* An empty job, whose clock and times by activity start here. Free with train_job_destroy. */
weft_status train_job_create(train_job **job);
/*
 * The job of context->options on the ranks of context->comm, all of them or some (app_context_open_within); with
 * --dry-run everything before the model. Once a job. The context stays the caller's, open until the job is destroyed;
 * the job stays as far as it came, also on failure. WEFT_STOPPED: ended early after a good checkpoint; the message
 * holds the command line that goes on. Collective.
 */
weft_status train_job_run(train_job *job, app_context *context);

/*
 * A job in steps, with job->keeps. After a failure of train_job_open the job can only be destroyed. After a failure of
 * a later step train_job_again may begin another fit, unless ranks were lost. Collective.
 */
weft_status train_job_open(train_job *job, app_context *context);
weft_status train_job_build(train_job *job);
weft_status train_job_fit(train_job *job);
/*
 * The fit before this one is over, or failed. options: rank 0's, of `weft train`; the job takes a copy. WEFT_ERR_USAGE
 * names an option that asks for other data, or other ranks, than are open; WEFT_ERR_UNSUPPORTED: this kind of data is
 * opened for one fit. After either the job stands as before. Collective.
 */
weft_status train_job_again(train_job *job, const weft_options *options);

/* Collective. NULL is allowed. */
void train_job_destroy(train_job *job);
