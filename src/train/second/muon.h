/*
 * train/second/muon.h: orthogonalised momentum for the hidden matrices of a model.
 *
 * The step of an optimiser on a weight matrix is usually long in a few directions and short in all others. Muon gives
 * every direction about the same length: it replaces the momentum by the orthogonal matrix next to it.
 *
 *      velocity = 0.95 velocity + g
 *      O = orthogonalise(g + 0.95 velocity)                    Nesterov's form; train/second/orthogonal.h
 *      W = (1 - rate decay) W - rate max(1, out / in)^0.5 O
 *
 * Its matrices are the maps of the model (train_model.map) without the first and the last: each named matrix of a block
 * by itself, kernels as out x (in height width). The first layer, the last one, biases and norms keep the optimiser's
 * rule, and so do convolutions in groups, which are no maps. The velocity is the optimiser's first slot, so
 * checkpoints hold it and nothing else needs to be kept.
 *
 * An O has singular values near 1 whatever the size of the gradient, so its rate does not depend on the loss, the batch
 * or the optimiser of the other parameters. It is therefore a number of its own (--muon-lr), and takes from --lr only
 * its course: warm-up and schedule.
 *
 * Ranks with equal replicas share the matrices where the work is worth a message: each orthogonalises some of them, and
 * a planned all-gather brings the O's of the others. The bits are those of a rank that does everything by itself with
 * as many threads. Memory: the elements of these matrices once (twice on the host where ranks share), and the
 * workspace of the largest shape.
 *
 *   K. Jordan et al.: Muon: an optimizer for hidden layers in neural networks. 2024.
 */
#pragma once

#include "train/model.h"
#include "train/optimizer.h"
#include "train/second/orthogonal.h"

typedef struct muon_options {
    double rate;         /* of these matrices over the learning rate of the step */
    double momentum;     /* muon_options_default: 0.95 */
    double weight_decay; /* of blocks whose group decays; decoupled: times the rate of these matrices */
    bool half;           /* products of bfloat16 */
    double share_from;   /* operations of a step from which ranks share them */
} muon_options;

/* The usual ones for a backend; the caller sets rate and weight_decay. */
muon_options muon_options_default(const weft_hal *hal);

/* A matrix: `rows` rows and `cols` columns of a block, from (row, col) on. */
typedef struct muon_matrix {
    int block;
    int64_t row, rows, col, cols;
    double factor; /* max(1, out / in)^0.5 */
    int owner;     /* the rank that orthogonalises it; 0 where every rank does so by itself */
    int64_t at;    /* its first element in `step` */
} muon_matrix;

/* Seconds since muon_create. */
typedef struct muon_seconds {
    double velocity, products, share, update;
} muon_seconds;

typedef struct train_muon {
    muon_options options;
    param_store *store;
    bool *takes; /* [blocks] */
    int matrices;
    muon_matrix *matrix; /* [matrices] in the order of owner and shape */
    int batches;
    orthogonal_shape *batch; /* [batches] runs of matrices of one owner and shape */
    orthogonal_work work;
    weft_tensor step;  /* [1, elements of all matrices], in the order of `matrix` */
    weft_comm *comm;   /* the ranks that share the matrices; NULL: none do */
    void *step_host;   /* `step` on its way between ranks, where they share */
    comm_plan *gather; /* an all-gather of step_host */
    muon_seconds seconds;
    /* For train_preconditioner.matrices; valid while *muon stays where it is. */
    optimizer_matrices rule;
} train_muon;

/* model: its parameters are committed; it lives as long as *muon. equal: the ranks whose replicas and gradients are
 * equal in every step; NULL: this rank alone. Collective over `equal`. Free with muon_destroy, also after a failure.
 * WEFT_ERR_USAGE: the model has no hidden matrix. */
weft_status muon_create(const train_model *model, const muon_options *options, weft_comm *equal, train_muon *muon);
void muon_destroy(train_muon *muon);
/* Returns in *bytes what muon_bytes will return on each of so many ranks with equal replicas; the outline's store needs
 * no memory. */
weft_status muon_plan_bytes(const train_model *outline, const muon_options *options, int ranks, uint64_t *bytes);
/* Returns the bytes that muon holds beside the optimiser's slot. */
uint64_t muon_bytes(const train_muon *muon);
