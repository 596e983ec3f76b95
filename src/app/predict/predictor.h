/*
 * app/predict/predictor.h: answers of a model for data: an object of eval, predict and the closing evaluation of a
 * training.
 *
 *     predictor p;
 *     predictor_on(work, &p)                        a workload that is built and trained: nothing is opened
 *  or predictor_open(context, asked, &p)            the model of --checkpoint
 *     predictor_load(&p, false)                     and the data of --data
 *     predictor_run(&p, take, self)                 rows leave step by step: no more is held than a batch of them
 *  or predictor_answers(&p, &view, &logits, &own)   all rows of this rank at once, for scores and for --smooth
 *     predictor_close(&p)
 *
 * A step is a batch of the evaluation; in full batch there is one, of all rows. Several predictors may be open at once,
 * each with a context of its own (app_context_open_within).
 */
#pragma once

#include "app/workload/workload.h"

typedef struct predictor {
    app_context *context;
    workload *work;            /* built: the caller's, or `own` */
    const weft_options *asked; /* options of the command that opened it; NULL after predictor_on */

    /* ---- set by predictor_open and predictor_load ---- */
    workload own;
    saved_model *model;          /* on every rank */
    weft_options *options;       /* of the command train, for this model */
    char scratch[FILE_PATH_MAX]; /* name of a folder for generated data; whoever needs the folder makes it */
    int first;                   /* arguments of the command from this one on are places of the data */
    const char **path;           /* [paths] places of the data; NULL: --data alone */
    int paths;
    int64_t *only; /* [work->only_count] rows of predictor_select */
    /* [known_count] set by the caller before predictor_load: workload.known. */
    const item_origin *known;
    int64_t known_count;
} predictor;

/* work: built; it lives as long as the predictor. Local. */
void predictor_on(workload *work, predictor *p);
/* The model of --checkpoint, on every rank. asked: options of eval or predict. WEFT_ERR_USAGE, _NOINPUT, _DATA: there
 * is none, or the options contradict it. Close also after a failure. Collective. */
weft_status predictor_open(app_context *context, const weft_options *asked, predictor *p);
/* The argument of eval or predict from which on arguments are places of the data: without --checkpoint the first is the
 * model. */
int predictor_data_from(const weft_options *asked);
/* The model at `path`, for commands that name it by another option. first: the argument of the command from which on
 * arguments are places of the data. */
weft_status predictor_open_model(app_context *context, const weft_options *asked, const char *path, int first,
                                 predictor *p);
/* The data of --data, with the model built for them; context->options are those of the model until predictor_close.
 * answers: they are wanted also where the data have no labels, and there are no scores. WEFT_ERR_USAGE, _NOINPUT,
 * _DATA: the data are missing, or are not what the model was made for. Once. Collective. */
weft_status predictor_load(predictor *p, bool answers);
/* From now on the model answers for these rows alone: ids [count] of 0 .. held.total - 1, ascending, the same on every
 * rank; copied. The data stay open; batches are made anew. count > 0.
 * WEFT_ERR_UNSUPPORTED: the kind answers for all of its data at once. Collective. */
weft_status predictor_select(predictor *p, const int64_t *row, int64_t count);
/* Removes what was generated and not given back, for a job that ends; the message of an earlier failure stays.
 * Local. */
void predictor_abandon(predictor *p);
/* Does what predictor_abandon does, frees what the predictor holds, and gives context->options the options of the
 * command again. Local. */
void predictor_close(predictor *p);

/* Rows of this rank that a step answered. */
typedef struct predicted_rows {
    int64_t step, steps;
    int64_t first, rows;       /* rows [first, first + rows) of work->held and work->targets */
    const weft_tensor *logits; /* [rows, outputs] on the backend, valid until the next step */
} predicted_rows;

/* Forward passes over the evaluation, without dropout. A `take` that fails ends them. Collective; the status is this
 * rank's. */
weft_status predictor_run(const predictor *p, weft_status (*take)(void *self, const predicted_rows *rows), void *self);
/*
 * All rows of this rank, smoothed where work->smooths asks for it. [out] view: [rows, outputs] on the backend, for
 * tensor_destroy, valid until the next pass. [out] host: the same numbers, which the caller may change. [out] own: for
 * weft_free; NULL where the host sees the model's own matrix, which `host` is then until the next pass. Collective.
 */
weft_status predictor_answers(const predictor *p, weft_tensor *view, float **host, float **own);

/* Contributions of the inputs to the answers of a step (workload_ops.explain). */
typedef struct explained_rows {
    int64_t step, steps, first, rows;
    int64_t outputs, inputs;
    const float *contribution; /* as workload_ops.explain gives it, valid until the next step */
} explained_rows;

/* WEFT_ERR_UNSUPPORTED: this kind of model does not say. Collective; otherwise the status is this rank's. */
weft_status predictor_explain(const predictor *p, const explain_request *how,
                              weft_status (*take)(void *self, const explained_rows *rows), void *self);
