/*
 * app/cli/model_job.h: a command that has a trained model work on data, on any number of ranks, and may write a folder:
 * what eval, predict and explain have in common.
 */
#pragma once

#include "app/cli/command.h"
#include "app/predict/predictor.h"

typedef struct model_job {
    app_context context;
    const weft_options *asked;
    predictor predictor;
    char out[FILE_PATH_MAX];    /* the folder to make */
    char folder[FILE_PATH_MAX]; /* rank 0: its name until it is whole; "": there is none */
} model_job;

/* What a command does with the model. */
typedef struct model_work {
    weft_status (*run)(model_job *job, void *self);         /* opens job->predictor; collective */
    weft_status (*print)(const model_job *job, void *self); /* the result, on rank 0 */
    void (*free)(void *self);                               /* before the predictor is closed */
} model_work;

/* Nothing half-done stays after a failure. Collective. */
weft_status model_job_run(const weft_options *options, const model_work *work, void *self);
/* Begins the folder `out`. What exists is replaced with --force only, and then only if it holds `known`, the name of a
 * file by which such folders are recognised; holds: what they hold, in messages. Collective. */
weft_status model_job_begin_folder(model_job *job, const char *out, const char *known, const char *holds);
/* The folder is whole. Collective. */
weft_status model_job_commit_folder(model_job *job);
