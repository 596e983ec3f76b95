/*
 * train/weights.h: named tensors outside of a model: what a file of weights holds, on the host, in float32.
 *
 * Names and shapes are those of the parameter store (train/param.h); files with other names are translated by whoever
 * reads them (gnn/pyg.h). One rank reads, weights_share hands them to the others.
 */
#pragma once

#include "comm/comm.h"
#include "train/input_moments.h"
#include "train/param.h"

typedef struct train_weight {
    char name[PARAM_NAME_BYTES];
    int rank;
    int64_t shape[PARAM_RANK_MAX];
    int64_t rows, cols; /* as a matrix: a vector is one row, otherwise shape[0] rows */
    float *values;      /* [shape], row-major */
} train_weight;

/* All zero = empty. */
typedef struct train_weights {
    int count, capacity;
    train_weight *item;    /* [count] */
    input_moments moments; /* of the model's inputs, where the file has them; no weight */
} train_weights;

/* Add a tensor of 1 to PARAM_RANK_MAX dimensions, none of them empty; [out] values  its memory, to be filled. `origin`
 * names the file in messages. */
weft_status weights_add(train_weights *weights, const char *origin, const char *name, int rank, const int64_t *shape,
                        float **values);
const train_weight *weights_find(const train_weights *weights, const char *name); /* NULL when absent */
/* Tensors of an .npz, any type of number; arrays of input moments (train/input_moments.h) become `moments`. */
weft_status weights_read_npz(const char *path, train_weights *weights);
/* The mark of param_mark, of parameters in the order of the file; 0 where there are none. */
uint64_t weights_mark(const train_weights *weights);
/* items[weights->count]: the tensors for safetensors_write, which point into the weights. */
void weights_items(const train_weights *weights, safetensors_item *items);
/* Rank 0's weights on every rank. Collective. */
weft_status weights_share(weft_comm *comm, train_weights *weights);
/* "[3, 5]", written into text, which is returned. */
enum { SHAPE_TEXT_BYTES = 160 };
const char *weights_shape_text(int rank, const int64_t *shape, char text[SHAPE_TEXT_BYTES]);
/* Set every parameter of the store; names and shapes must agree, leading ones aside ([1, 7] is [7]). WEFT_ERR_DATA
 * names the first that does not.
 */
weft_status weights_assign(const train_weights *weights, const char *origin, param_store *store);
/* As weights_assign, for a training that begins: where parameters of the last layer (those whose names have the last
 * trained one's beginning up to its last dot) have another shape, all of the layer's stay as they are in the store.
 * [out] head: that beginning, "" where every parameter was set; room for PARAM_NAME_BYTES. */
weft_status weights_start(const train_weights *weights, const char *origin, param_store *store, char *head);
void weights_destroy(train_weights *weights);
