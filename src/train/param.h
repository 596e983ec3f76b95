/*
 * train/param.h: the parameters of a model, in one flat buffer.
 *
 * Values and gradients each lie in one contiguous array, so that the gradient all-reduce is one operation and the
 * optimiser one sweep. A *block* is a matrix in that array; named parameters are blocks or sub-matrices of a block:
 * two weights that multiply the same rows share a block, so that one GEMM does for both. Blocks start on 64-byte
 * borders; the padding between them stays zero.
 *
 *     value | block 0 ......... pad | block 1 ... pad | ... | state blocks |      own_value | blocks |
 *     grad  | block 0 ......... pad | block 1 ... pad | ... |                     own_grad  | blocks |
 *
 * Blocks belong to groups, which say how they are trained. State blocks (running statistics of batch norm) have values
 * but no gradients. Blocks of a group that is not replicated are a rank's own, such as its share of a table: they lie
 * apart, so that what keeps replicas together never sees them.
 */
#pragma once

#include "comm/comm.h"
#include "tensor/tensor.h"

extern weft_mem_tag WEFT_MEM_PARAMETER[1]; /* parameters, their gradients and moments */

enum { PARAM_RANK_MAX = 8, PARAM_NAME_BYTES = 96 };

/* The first values of a parameter: uniform in [-spread, spread), normal with deviation spread, or a constant. */
typedef enum param_draw { PARAM_CONSTANT, PARAM_UNIFORM, PARAM_NORMAL } param_draw;

typedef struct param_init {
    param_draw draw;
    double spread; /* PARAM_CONSTANT: the value */
} param_init;

/* The usual ones; fan_in and fan_out: inputs that an output sums over, outputs that an input reaches. */
param_init param_constant(double value);
param_init param_glorot(int64_t fan_in, int64_t fan_out); /* +-sqrt(6 / (in + out)); X. Glorot, Y. Bengio, 2010 */
param_init param_kaiming(int64_t fan_in);     /* deviation sqrt(2 / in): K. He et al., ICCV 2015, 1502.01852 */
param_init param_fan_uniform(int64_t fan_in); /* +-1 / sqrt(in): PyTorch's default for layers and biases */

/* A parameter: `rows` rows of `cols` elements, `ld` apart. As a tensor its first dimension is the rows; a vector is one
 * row. */
typedef struct param_entry {
    char name[PARAM_NAME_BYTES];
    int64_t offset, rows, cols, ld; /* elements in the flat buffer */
    int rank;
    int64_t shape[PARAM_RANK_MAX]; /* of a vector: cols; else shape[0] = rows, the others multiply to cols */
    param_init init;
} param_entry;

/* Properties that all blocks of a group share. */
typedef struct param_group {
    bool trained;    /* has gradients; else state */
    bool replicated; /* the same on all ranks, kept so by synchronisation; else this rank's own, always trained: its
                        gradient is whole where it is computed, it has no name, and of files only checkpoints hold it */
    bool local;      /* state that each rank moves by itself: evaluation and files have its mean over ranks */
    bool decays;     /* weight decay applies */
    double lr_scale; /* times the learning rate */
} param_group;

/* The groups that every store has. */
enum {
    PARAM_GROUP_DECAY,    /* trained with weight decay */
    PARAM_GROUP_NO_DECAY, /* trained without weight decay, which is usual for biases and norms */
    PARAM_GROUP_STATE,
    PARAM_GROUP_LOCAL_STATE,
    PARAM_GROUPS_GIVEN
};

typedef struct param_block {
    int group;
    int64_t offset, rows, cols; /* offset: in value and grad, or in own_value and own_grad */
    double rate;                /* times the learning rate of its group; 0: stands still (train/param_patterns.h) */
} param_block;

typedef struct param_store {
    weft_hal *hal;
    weft_dtype dtype;
    int groups, blocks, entries, group_capacity, block_capacity, entry_capacity;
    param_group *group;   /* [groups] */
    param_block *block;   /* [blocks] */
    param_entry *entry;   /* [entries] */
    bool short_of_memory; /* for groups or blocks */
    int trained_blocks;   /* the first ones: replicated, with gradients */
    int64_t trained;      /* their elements, padding included */
    int64_t elements;     /* plus state */
    int64_t weights;      /* trained elements without padding, this rank's own included */
    int64_t own;          /* elements of this rank's own */
    bool has_local_state;
    weft_comm *comm;       /* whose buffers value and grad are, or NULL */
    weft_tensor value;     /* [1, elements] */
    weft_tensor grad;      /* [1, trained] */
    weft_tensor own_value; /* [1, own] */
    weft_tensor own_grad;  /* [1, own] */
} param_store;

void param_store_begin(param_store *store, weft_hal *hal, weft_dtype dtype);
/* Add a group. Its number, or -1 without memory, which param_store_commit then reports. */
int param_add_group(param_store *store, const param_group *group);
/* Add a block to a group: replicated trained blocks first, then the others. Its number, or -1 without memory, which
 * param_add and param_store_commit then report. */
int param_add_block(param_store *store, int group, int64_t rows, int64_t cols);
/* Name a sub-matrix of a replicated block. */
weft_status param_add(param_store *store, int block, int64_t row, int64_t col, int64_t rows, int64_t cols,
                      param_init init, const char *format, ...) __attribute__((format(printf, 8, 9)));
/* Name a whole replicated block as a tensor of `rank` dimensions, such as [out, in, height, width]: shape[0] = its
 * rows; of a block of one row as a vector. */
weft_status param_add_tensor(param_store *store, int block, int rank, const int64_t *shape, param_init init,
                             const char *format, ...) __attribute__((format(printf, 6, 7)));
/* Allocate the buffers, zeroed. comm: the ranks that will synchronise them, so that they lie where ranks of a node can
 * reduce them in place (comm_buffer_alloc; memory that the host sees only); NULL: one rank. Collective with a comm, and
 * so is param_store_destroy then; comm must live until it. */
weft_status param_store_commit(param_store *store, weft_comm *comm);
/* Instead of commit: the values of a store of the same blocks serve `store` too, on its own backend, to be read. `from`
 * must outlive it, and no block is a rank's own. */
void param_store_borrow(param_store *store, const param_store *from);
void param_store_destroy(param_store *store);

/* Draw every named parameter: a pure function of the seed and the parameter's number, equal on all ranks. A rank's own
 * blocks stay as they are. */
weft_status param_initialise(param_store *store, uint64_t seed);
/* values [elements]: the whole of `value`, padding included, from the host. */
weft_status param_set_values(param_store *store, const double *values);
weft_tensor param_value(const param_store *store, int block);
weft_tensor param_grad(const param_store *store, int block);

/* Write the named parameters as an .npz (float32, in their shapes), and the moments of the inputs beside them unless
 * `moments` is NULL; train/weights.h reads them. */
struct input_moments;
weft_status param_save(const param_store *store, const struct input_moments *moments, const char *path);
/* [out] mark: a hash of rank 0's named parameters as param_save writes them, 0 where there are none: what stands in
 * files beside them tells by it which parameters it belongs to. Collective. */
weft_status param_mark(const param_store *store, weft_comm *comm, uint64_t *mark);
/* The mark of parameters, which is 0 before the first of them, with one more; never 0. */
uint64_t param_mark_more(uint64_t mark, const float *values, int64_t count);
