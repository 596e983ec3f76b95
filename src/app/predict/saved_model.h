/*
 * app/predict/saved_model.h: a trained model on disk, in any of its forms, and what is known about its making.
 *
 *   a run folder          weights.npz of the best epoch, options from run.json; before its end, the best of its newest
 *                         checkpoint
 *   a checkpoint          parameters after its epoch, options from its manifest (train/checkpoint/checkpoint.h)
 *   a file .npz           the same, with run.json beside it if there is one
 *   a file .safetensors   names of PyTorch Geometric (gnn/pyg.h); options from its metadata, "weft.NAME"
 *
 * Layers, widths and normalisation always follow from the weights themselves; what a description says must agree with
 * them. One rank opens, saved_model_share hands it to the others.
 */
#ifndef WEFT_APP_PREDICT_SAVED_MODEL_H
#define WEFT_APP_PREDICT_SAVED_MODEL_H

#include "base/file.h"
#include "gnn/layers/layer_plan.h"
#include "option/option.h"
#include "train/weights.h"

typedef struct saved_model {
    char path[FILE_PATH_MAX]; /* the file of the weights */
    train_weights weights;
    gnn_config config;   /* kind, aggregator, layers, inputs, hidden, outputs, norm */
    bool kind_known;     /* kind and aggregator are the model's own, not a default */
    weft_options *known; /* of the command train; option_is_set tells which are known */
} saved_model;

/*
 * `given`: options of the command, which takes the model section: used where the files do not describe the model, and
 * may not contradict them. NULL: the weights alone are wanted; config and kind_known are set for .safetensors only.
 * WEFT_ERR_NOINPUT: nothing there; WEFT_ERR_DATA: malformed, or weights and description contradict each other;
 * WEFT_ERR_USAGE: an option of `given` contradicts the model (both are named). Free with saved_model_close, also after
 * a failure.
 */
weft_status saved_model_open(const char *path, const weft_options *given, saved_model **model);
void saved_model_close(saved_model *model); /* NULL is allowed */

/* Rank 0's model (NULL on the others) on every rank. Collective. */
weft_status saved_model_share(weft_comm *comm, saved_model **model);

/* Options of the command train for this model: what is known of its making, and what else `given` says. The caller's,
 * for option_destroy. */
weft_status saved_model_options(const saved_model *model, const weft_options *given, weft_options **options);

/* Write the model as safetensors, with what is known as metadata. */
weft_status saved_model_export(const saved_model *model, const char *path);

#endif
