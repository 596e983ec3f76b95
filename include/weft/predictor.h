/*
 * weft/predictor.h: a trained model, asked: what `weft eval` and `weft predict` do, and the numbers of its weights.
 *
 *     weft_options *options = NULL;
 *     weft_answers *answers = NULL;
 *     weft_scores scores;
 *     ...weft_options_create("predict", &options), weft_options_set(options, "checkpoint", "weft-run-0001"), "data"...
 *     if (weft_predict(options, &answers) == WEFT_OK) {
 *         weft_answers_scores(answers, &scores);
 *         printf("%s of test: %.4f\n", scores.metric, scores.test);
 *     }
 *     weft_answers_destroy(answers);
 *
 * A program that calls more than one of weft_train, weft_predict and weft_eval under a launcher holds a weft_context
 * open around all of them (weft/context.h): MPI cannot start a second time. docs/examples/04_predict.c shows it.
 *
 * Nothing goes to standard output; the log is on stderr (option quiet silences it).
 */
#ifndef WEFT_PREDICTOR_H
#define WEFT_PREDICTOR_H

#include <stdbool.h>
#include <stdint.h>

#include "weft/options.h"
#include "weft/status.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct weft_answers weft_answers;

/*
 * Answer for all rows of some data by a trained model. Collective over all processes of the job; opens a context that
 * the answers keep (weft/context.h tells what that changes).
 *   options  [in]   of the command "predict"; checkpoint and data are needed. They must live as long as the answers
 *   answers  [out]  the caller's, for weft_answers_destroy; NULL on failure
 * Data without labels are answered for, and have no scores.
 * WEFT_ERR_USAGE, WEFT_ERR_NOINPUT, WEFT_ERR_DATA: the model or the data are missing, malformed, or not made for each
 * other; WEFT_ERR_RESOURCE: memory is short; WEFT_ERR_LAUNCH: see weft_context_create.
 */
weft_status weft_predict(const weft_options *options, weft_answers **answers);

/*
 * Score a trained model on some data, as `weft eval` does: weft_predict() for those who want weft_answers_scores() alone.
 *   options  [in]   of the command "eval"; otherwise as those of weft_predict
 *   answers  [out]  as of weft_predict, but weft_answers_write refuses them
 * WEFT_ERR_DATA: also labels of which the model knows none; all else as weft_predict.
 */
weft_status weft_eval(const weft_options *options, weft_answers **answers);

/* Rows that this rank answered for, and those of all ranks. Not collective. */
int64_t weft_answers_rows(const weft_answers *answers);
int64_t weft_answers_total(const weft_answers *answers);
/* Numbers of an answer: classes, tasks, or 1. Not collective. */
int64_t weft_answers_width(const weft_answers *answers);
/* The number, from 0 to total - 1, of row i of this rank. Not collective. */
int64_t weft_answers_id(const weft_answers *answers, int64_t i);
/* [rows, width], row-major, of this rank: logits of classes and tasks, or the numbers themselves. Valid as long as the
 * answers. Not collective. */
const float *weft_answers_values(const weft_answers *answers);

/* Scores of each split, the same on every rank: fractions from 0 to 1, or errors of numbers. NaN: no labelled row. */
typedef struct weft_scores {
    char metric[16]; /* "acc", "rocauc", "rmse", ... */
    bool labelled;   /* the data have labels and a split */
    double train, valid, test;
} weft_scores;

/* [out] scores. Not collective. */
void weft_answers_scores(const weft_answers *answers, weft_scores *scores);

/*
 * Write the files of `weft predict` (predictions.npy, probabilities.npy, scores.json, and what the options ask for) into
 * a new folder. Collective.
 * WEFT_ERR_USAGE: the folder exists, or the answers are weft_eval's; WEFT_ERR_UNSUPPORTED: an option asks for what the
 * model has not; WEFT_ERR_IO, WEFT_ERR_PERMISSION: it cannot be written.
 */
weft_status weft_answers_write(weft_answers *answers, const char *folder);

/* Close and free; NULL is allowed. Collective. */
void weft_answers_destroy(weft_answers *answers);

/* The parameters of a trained model, in the memory of one process. None of these functions is collective. */
typedef struct weft_weights weft_weights;

/*
 * Read the parameters of a run folder, a checkpoint, a weights.npz or a .safetensors file.
 *   weights  [out]  the caller's, for weft_weights_destroy; NULL on failure
 * WEFT_ERR_NOINPUT: there is nothing; WEFT_ERR_DATA: it is malformed, or a model that has no parameters, such as trees.
 */
weft_status weft_weights_open(const char *path, weft_weights **weights);
int weft_weights_count(const weft_weights *weights);
/* Name of array i, such as "layer0.weight"; valid as long as the weights. */
const char *weft_weights_name(const weft_weights *weights, int i);
/* [out] shape: valid as long as the weights. Returns the number of dimensions. */
int weft_weights_shape(const weft_weights *weights, int i, const int64_t **shape);
/* The numbers of array i, row-major; valid as long as the weights. */
const float *weft_weights_values(const weft_weights *weights, int i);
/* Frees; NULL is allowed. */
void weft_weights_destroy(weft_weights *weights);

#ifdef __cplusplus
}
#endif
#endif
