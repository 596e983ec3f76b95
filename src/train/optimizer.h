/*
 * train/optimizer.h: Adam and SGD over a parameter store (definitions: hal_optim_ops).
 *
 * D. Kingma, J. Ba: Adam: a method for stochastic optimization. ICLR 2015, arXiv 1412.6980.
 */
#ifndef WEFT_TRAIN_OPTIMIZER_H
#define WEFT_TRAIN_OPTIMIZER_H

#include "train/param.h"

typedef enum optimizer_kind { OPTIMIZER_ADAM, OPTIMIZER_SGD } optimizer_kind; /* order of --optimizer's choices */

typedef struct optimizer_options {
    optimizer_kind kind;
    double weight_decay; /* on blocks that decay */
    double momentum;     /* sgd */
    bool nesterov;
    double beta1, beta2, epsilon; /* adam */
} optimizer_options;

typedef struct train_optimizer {
    optimizer_options options;
    param_store *store;
    int64_t step;
    weft_tensor first, second; /* moments [1, trained]; `first` is the momentum of sgd */
} train_optimizer;

weft_status optimizer_create(param_store *store, const optimizer_options *options, train_optimizer *optimizer);
/* Forget all moments: the start of a run. */
weft_status optimizer_reset(train_optimizer *optimizer);
/* One update of every trained parameter from the store's gradients. */
weft_status optimizer_step(train_optimizer *optimizer, double lr);
/* The same in pieces: optimizer_begin, then every element once in ranges [begin, end) with borders on multiples of 16
 * elements. The bits are those of optimizer_step. */
void optimizer_begin(train_optimizer *optimizer);
weft_status optimizer_step_range(train_optimizer *optimizer, double lr, int64_t begin, int64_t end);
void optimizer_destroy(train_optimizer *optimizer);

#endif
