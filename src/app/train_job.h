/*
 * app/train_job.h: one training job, from options to result: what `weft train` and weft_train() share.
 *
 * It writes the run folder and the log; what goes to stdout is the command's business (app/train.c). The steps are
 * those of docs/architecture.md, "A training job in ten steps".
 */
#ifndef WEFT_APP_TRAIN_JOB_H
#define WEFT_APP_TRAIN_JOB_H

#include "app/memory_plan.h"
#include "app/saved_model.h"
#include "app/train_data.h"
#include "app/train_report.h"
#include "gnn/dataset.h"

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
    train_report report;
    train_result result;
    bool traced; /* the process's trace is this job's */
} train_job;

/* An empty job: nothing is open. Free with train_job_destroy. */
weft_status train_job_create(train_job **job);
/* Once a job. With --dry-run everything before the model. The job stays as far as it came, also on failure. Collective.
 */
weft_status train_job_run(train_job *job, const weft_options *options);
/*
 * The steps of a job that only looks at a model: graph, memory check, this rank's part, model, features and labels, for
 * an open job->context. `folder` takes what is generated, and is made if need be. outputs: what the model answers with
 * where the store has no labels, or no split of them: job->labels then holds none; 0: labels are needed. With `dry`
 * everything before the model. Afterwards train_data_release. Collective.
 */
weft_status train_job_load(train_job *job, const char *folder, int64_t outputs, bool dry);
/* Collective. NULL is allowed. */
void train_job_destroy(train_job *job);

#endif
