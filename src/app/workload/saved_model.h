/*
 * app/workload/saved_model.h: a trained model on disk, in any of its forms, and what is known about its making.
 *
 *   a run folder          weights.npz of the best epoch, options from run.json; before its end, the best of its newest
 *                         checkpoint
 *   a checkpoint          parameters after its epoch, options from its manifest (train/checkpoint/checkpoint.h)
 *   a file .npz           the same, with run.json beside it if there is one
 *   a file .safetensors   names of another program; options from its metadata, "weft.NAME"
 *   a file of a kind's own  in the place of weights.npz, where a model is no set of weights (workload_ops.model_file)
 *
 * Layers and widths are read from the weights themselves, by the workload of the model (app/workload/workload.h), and a
 * description must agree with them. One rank opens the model; saved_model_share hands it to the other ranks.
 */
#pragma once

#include "app/options/app_options.h"
#include "app/workload/class_names.h"
#include "base/file.h"
#include "comm/comm.h"
#include "train/weights.h"

typedef struct saved_model {
    char path[FILE_PATH_MAX]; /* file of the model */
    train_weights weights;    /* none where `own` is the model */
    char *own;                /* [own_bytes] bytes of a model_file (workload_ops); NULL: the model is its weights */
    size_t own_bytes;
    weft_options *known; /* options of the command train; option_is_set says which of them are known */
    int layers;          /* layers that the weights show; 0: nobody looked */
    int64_t inputs;      /* figures of a row that the model reads; 0: any number, or nobody looked */
    int64_t outputs;     /* figures of an answer; 0: nobody looked */
    name_list classes;   /* on the rank that opened the model */
} saved_model;

/*
 * `given`: options of the command, which takes the model section: used where the files do not describe the model, and
 * may not contradict them. WEFT_ERR_NOINPUT: nothing there; WEFT_ERR_DATA: malformed, or weights and description
 * contradict each other; WEFT_ERR_USAGE: an option of `given` contradicts the model (both are named). Free with
 * saved_model_close, also after a failure.
 */
weft_status saved_model_open(const char *path, const weft_options *given, saved_model **model);
/* Reads the weights, the names of their classes, and how the inputs of their model were scaled (inputs of its workload,
 * weights.moments); descriptions beyond that are left out, but `known` also holds what names of another
 * program tell. given: options of the command train; --model says whose names the file may have; NULL: the file alone
 * says it, and nothing is checked of inputs. Codes and ownership are those of saved_model_open. */
weft_status saved_model_open_weights(const char *path, const weft_options *given, saved_model **model);
void saved_model_close(saved_model *model); /* NULL is allowed */

/* [out] folder: where the model's file stands, and what belongs to it; best: the file is a checkpoint's of its best
 * parameters. */
weft_status saved_model_folder(const saved_model *model, char folder[FILE_PATH_MAX], bool *best);

/* Returns true if a run gives the file of its model this name: what stands beside it is that run's. */
bool saved_model_has_run_name(const char *path);

/* Copies rank 0's model (NULL on the others) to every rank. Collective. */
weft_status saved_model_share(weft_comm *comm, saved_model **model);

/* [out] options: of the command train, for this model: known ones, then those of `given`. Loosely recorded options
 * (workload_ops.of_data) are decided (OPTION_DATA) unless `given` names them. Free with option_destroy. */
weft_status saved_model_options(const saved_model *model, const weft_options *given, weft_options **options);

/* Returns true if nothing that is known contradicts these options of the command train; the scaling of inputs aside,
 * which the caller looks at. */
bool saved_model_agrees(const saved_model *model, const weft_options *options);
/* The weights show this value: it becomes known. WEFT_ERR_DATA: the description says another. */
weft_status saved_model_show(saved_model *model, option_id id, const char *text);

/* Writes the weights as safetensors, with known options as metadata. --model must be known. WEFT_ERR_UNSUPPORTED: the
 * kind has no such files (workload_ops.write_named). */
weft_status saved_model_export(const saved_model *model, const char *path);
