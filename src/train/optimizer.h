/*
 * train/optimizer.h: how a gradient moves the parameters: one row of a table for each rule.
 *
 * A rule names the arrays that it keeps beside the parameters, its slots, and updates a run of elements through
 * operations of the backend (hal/ops.def). Neighbouring blocks of a group are one run; a rule whose rate depends on a
 * tensor's norm, such as LARS, gets each block by itself, with the sums of squares of its values and gradient.
 *
 * These sums of squares read every parameter and gradient once more: 8 bytes an element beside the 20 of an update with
 * momentum in float32. Ranks whose replicas are equal share the work (the parallel tensor operator): each measures the
 * blocks whose middle lies in its part of the elements, and one all-reduce of two numbers a block, to which the others
 * add zeros, tells all. The bits are those of a rank that measures everything by itself with as many threads. It pays
 * from about 2^16 elements, 512 KiB and some 50 us of reading: what a short all-reduce between nodes takes; below,
 * every rank measures everything.
 *
 *   D. Kingma, J. Ba: Adam: a method for stochastic optimization. ICLR 2015, arXiv 1412.6980.
 *   I. Loshchilov, F. Hutter: Decoupled weight decay regularization. ICLR 2019, arXiv 1711.05101 (AdamW).
 *   M. Zeiler: ADADELTA: an adaptive learning rate method. 2012, arXiv 1212.5701.
 *   Y. Nesterov's momentum as I. Sutskever et al. write it, ICML 2013; in the form of torch.optim.SGD.
 *   Y. You, I. Gitman, B. Ginsburg: Large batch training of convolutional networks. 2017, arXiv 1708.03888 (LARS).
 *   X. Jia et al.: Highly scalable deep learning training system with mixed-precision. 2018, arXiv 1807.11205: without
 *   weight decay on biases and norms.
 */
#pragma once

#include "base/option_words.h"
#include "train/param.h"

#define OPTIMIZER_KINDS(X)                                                                                             \
    X(OPTIMIZER_ADAM, "adam")                                                                                          \
    X(OPTIMIZER_SGD, "sgd")                                                                                            \
    X(OPTIMIZER_LARS, "lars")                                                                                          \
    X(OPTIMIZER_ADAMW, "adamw")                                                                                        \
    X(OPTIMIZER_ADADELTA, "adadelta")
typedef enum optimizer_kind { OPTIMIZER_KINDS(CHOICE_VALUE) } optimizer_kind;

typedef struct optimizer_options {
    optimizer_kind kind;
    double weight_decay;   /* on groups that decay */
    double momentum;       /* sgd, lars */
    double decay_momentum; /* sgd: of weight decay, where something else keeps the velocity of gradients */
    bool nesterov;         /* sgd */
    double trust;          /* lars */
    double beta1, beta2;   /* adam, adamw */
    double epsilon;        /* adam, adamw, lars */
    double clip_norm;      /* of a replica (train/gradient_clip.h); 0: off */
    double average;        /* of a replica (train/weight_average.h): the decay; 0: off */
} optimizer_options;

/* Returns the momentum that a mode of synchronisation may apply in place of this rule (decay_momentum); 0: none. */
static inline double optimizer_lent_momentum(optimizer_kind kind, double momentum)
{
    return kind == OPTIMIZER_SGD ? momentum : 0.0;
}

enum { OPTIMIZER_SLOTS = 2 };

/* One run of elements, all tensors [1, n]. */
typedef struct optimizer_run {
    double lr, weight_decay;
    int64_t step;                      /* from 1 */
    weft_tensor w, g;                  /* parameters, and their gradient */
    weft_tensor slot[OPTIMIZER_SLOTS]; /* slots that the rule uses; unused entries are zeroed */
    const weft_tensor *norms; /* by block: [1, 2] float64, sums of squares of w and g; NULL: no decaying group */
} optimizer_run;

typedef struct optimizer_rule {
    const char *name;                               /* as --optimizer spells it */
    bool by_block;                                  /* a run is one whole block, measured before */
    bool rescales;                                  /* steps have a length of their own, whatever the gradient's is */
    int (*slots)(const optimizer_options *options); /* how many it uses: zeroed when a run of training begins */
    weft_status (*update)(const optimizer_options *options, optimizer_run *run);
    const char *rate;   /* --lr where somebody names the rule and no rate; NULL: that of the recipe */
    int second_moments; /* slot of the second moments, whose root divides an update; 0: the rule has none */
} optimizer_rule;

/* Returns the rule's row of the table. */
const optimizer_rule *optimizer_rule_of(optimizer_kind kind);

/* A rule for whole matrices, which replaces the optimiser's rule for some blocks (train/second/muon.h). */
typedef struct optimizer_matrices {
    void *self;
    const bool *takes; /* [blocks] the blocks of this rule, all of them replicated */
    /* Updates the values of these blocks, once a step, from the gradients of the store. velocity [1, trained]: the
     * optimiser's first slot, which is zeroed when a run begins. Collective over `equal` of optimizer_create. */
    weft_status (*update)(void *self, const weft_tensor *velocity, double lr);
} optimizer_matrices;

typedef struct train_optimizer {
    const optimizer_rule *rule;
    optimizer_options options;
    param_store *store;
    const optimizer_matrices *matrices; /* NULL: none */
    int64_t step;
    int slots;
    weft_tensor slot[OPTIMIZER_SLOTS];     /* [slots] of [1, trained] */
    weft_tensor own_slot[OPTIMIZER_SLOTS]; /* [slots] of [1, own] */
    weft_comm *comm;                       /* shares the measuring; NULL: does not */
    weft_tensor norms;                     /* by block: [1, 2 * blocks] float64 */
    double *norms_host;                    /* copy of `norms` on the host */
    comm_plan *gather_norms;               /* exchanges norms_host, of which each rank measures a share; or NULL */
} train_optimizer;

/* equal: the ranks whose replicated parameters and gradients are the same at every update, of which there may be one;
 * NULL: nobody's need be. matrices: NULL, or a rule that lives as long as the optimiser. */
weft_status optimizer_create(param_store *store, const optimizer_rule *rule, const optimizer_options *options,
                             const optimizer_matrices *matrices, weft_comm *equal, train_optimizer *optimizer);
/* Forget all state: the start of a run. */
weft_status optimizer_reset(train_optimizer *optimizer);
/* An update: optimizer_begin, then every replicated trained element once, from the store's gradients, in ranges
 * [begin, end) with borders on multiples of 16 elements, or all of them at once (optimizer_is_whole), and this rank's
 * own. The bits do not depend on the ranges. An optimizer_step_range of all elements is collective over `equal`. */
void optimizer_begin(train_optimizer *optimizer);
/* Returns true if optimizer_step_range must be given all elements at once. */
bool optimizer_is_whole(const train_optimizer *optimizer);
weft_status optimizer_step_range(train_optimizer *optimizer, double lr, int64_t begin, int64_t end);
weft_status optimizer_step_own(train_optimizer *optimizer, double lr);
void optimizer_destroy(train_optimizer *optimizer);
