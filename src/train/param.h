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

enum { PARAM_RANK_MAX = 8, PARAM_NAME_BYTES = 96 };

/* How a parameter is drawn: uniform in [-spread, spread), normal with deviation spread, or a constant. */
typedef enum param_draw { PARAM_CONSTANT, PARAM_UNIFORM, PARAM_NORMAL } param_draw;

typedef struct param_init {
    param_draw draw;
    double spread; /* of a constant: its value */
} param_init;

/* The usual ones; fan_in and fan_out: inputs that an output sums over, outputs that an input reaches. */
param_init param_constant(double value);
param_init param_glorot(int64_t fan_in, int64_t fan_out); /* +-sqrt(6 / (in + out)); X. Glorot, Y. Bengio, 2010 */
param_init param_kaiming(int64_t fan_in);     /* deviation sqrt(2 / in): K. He et al., ICCV 2015, 1502.01852 */
param_init param_fan_uniform(int64_t fan_in); /* +-1 / sqrt(in): PyTorch's default for layers and biases */

/* A parameter: `rows` rows of `cols` elements, `ld` apart. As a tensor its first dimension is the rows. */
typedef struct param_entry {
    char name[PARAM_NAME_BYTES];
    int64_t offset, rows, cols, ld; /* elements in the flat buffer */
    int rank;
    int64_t shape[PARAM_RANK_MAX]; /* shape[0] = rows, the others multiply to cols */
    param_init init;
} param_entry;

typedef struct param_block {
    int64_t offset, rows, cols;
    bool decays; /* weight decay applies */
} param_block;

typedef struct param_store {
    weft_hal *hal;
    weft_dtype dtype;
    int blocks, entries, block_capacity, entry_capacity;
    param_block *block; /* [blocks] */
    param_entry *entry; /* [entries] */
    int64_t trained;    /* elements with gradients, padding included */
    int64_t elements;   /* plus state */
    int64_t weights;    /* trained elements without padding */
    weft_comm *comm;    /* whose buffers value and grad are, or NULL */
    weft_tensor value;  /* [1, elements] */
    weft_tensor grad;   /* [1, trained] */
} param_store;

void param_store_begin(param_store *store, weft_hal *hal, weft_dtype dtype);
/* Add a block of trained weights, or of state once all trained blocks are there. Its number, or -1 without memory, which
 * param_add then reports. */
int param_add_block(param_store *store, int64_t rows, int64_t cols, bool trained, bool decays);
/* Name a sub-matrix of a block. */
weft_status param_add(param_store *store, int block, int64_t row, int64_t col, int64_t rows, int64_t cols,
                      param_init init, const char *format, ...) __attribute__((format(printf, 8, 9)));
/* Name a whole block as a tensor of `rank` dimensions, such as [out, in, height, width]: shape[0] = its rows. */
weft_status param_add_tensor(param_store *store, int block, int rank, const int64_t *shape, param_init init,
                             const char *format, ...) __attribute__((format(printf, 6, 7)));
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

/* Write the named parameters as an .npz (float32, in their shapes); train/weights.h reads them. */
weft_status param_save(const param_store *store, const char *path);

#endif
