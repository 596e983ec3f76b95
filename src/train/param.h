/*
 * train/param.h: the parameters of a model, in one flat buffer.
 *
 * Values and gradients each lie in one contiguous array, so that the gradient all-reduce is one operation and the
 * optimiser one sweep. A *block* is a matrix in that array; named parameters are blocks or sub-matrices of a block:
 * GraphSAGE's two weights share a block so that one GEMM multiplies by both. Blocks start on 64-byte borders; the
 * padding between them stays zero.
 *
 *     value | block 0 ......... pad | block 1 ... pad | ... | state blocks |
 *     grad  | block 0 ......... pad | block 1 ... pad | ... |
 *
 * State blocks (running statistics of batch norm) have values but no gradients.
 */
#ifndef WEFT_TRAIN_PARAM_H
#define WEFT_TRAIN_PARAM_H

#include "comm/comm.h"
#include "tensor/tensor.h"

enum { PARAM_MAX = 512, PARAM_NAME_BYTES = 48 };

typedef enum param_init {
    PARAM_INIT_ZERO,
    PARAM_INIT_ONE,
    PARAM_INIT_GLOROT /* uniform in +-sqrt(6 / (rows + cols)); X. Glorot, Y. Bengio, AISTATS 2010 */
} param_init;

typedef struct param_entry {
    char name[PARAM_NAME_BYTES];
    int64_t offset, rows, cols, ld; /* elements in the flat buffer */
    param_init init;
} param_entry;

typedef struct param_block {
    int64_t offset, rows, cols;
    bool decays; /* weight decay applies */
} param_block;

typedef struct param_store {
    weft_hal *hal;
    weft_dtype dtype;
    int blocks, entries;
    param_block block[PARAM_MAX];
    param_entry entry[PARAM_MAX];
    int64_t trained;   /* elements with gradients, padding included */
    int64_t elements;  /* plus state */
    int64_t weights;   /* trained elements without padding */
    weft_comm *comm;   /* whose buffers value and grad are, or NULL */
    weft_tensor value; /* [1, elements] */
    weft_tensor grad;  /* [1, trained] */
} param_store;

void param_store_begin(param_store *store, weft_hal *hal, weft_dtype dtype);
/* Add a block of trained weights, or of state once all trained blocks are there. Its number, or -1 when full. */
int param_add_block(param_store *store, int64_t rows, int64_t cols, bool trained, bool decays);
/* Name a sub-matrix of a block. */
weft_status param_add(param_store *store, int block, int64_t row, int64_t col, int64_t rows, int64_t cols,
                      param_init init, const char *format, ...) __attribute__((format(printf, 8, 9)));
/* Allocate the buffers, zeroed. comm: the ranks that will synchronise them, so that they lie where ranks of a node can
 * reduce them in place (comm_buffer_alloc; memory that the host sees only); NULL: one rank. Collective with a comm, and
 * so is param_store_destroy then; comm must live until it. */
weft_status param_store_commit(param_store *store, weft_comm *comm);
void param_store_destroy(param_store *store);

/* Draw every parameter: a pure function of the seed and the parameter's number, equal on all ranks. */
weft_status param_initialise(param_store *store, uint64_t seed);
/* values [elements]: the whole of `value`, padding included, from the host. */
weft_status param_set_values(param_store *store, const double *values);
weft_tensor param_value(const param_store *store, int block);
weft_tensor param_grad(const param_store *store, int block);

/* Write the named parameters as an .npz (float32 [rows, cols]); train/weights.h reads them. */
weft_status param_save(const param_store *store, const char *path);

#endif
