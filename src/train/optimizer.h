/*
 * train/optimizer.h: how a gradient moves the parameters: one row of a table for each rule.
 *
 * A rule names the arrays that it keeps beside the parameters, its slots, and updates a run of elements through
 * operations of the backend (hal/ops.def). Neighbouring blocks of a group are one run; a rule whose rate depends on a
 * tensor's norm, such as LARS, gets each block by itself.
 *
 *   D. Kingma, J. Ba: Adam: a method for stochastic optimization. ICLR 2015, arXiv 1412.6980.
 *   Y. Nesterov's momentum as I. Sutskever et al. write it, ICML 2013; in the form of torch.optim.SGD.
 */
#ifndef WEFT_TRAIN_OPTIMIZER_H
#define WEFT_TRAIN_OPTIMIZER_H

#include "base/option_words.h"
#include "train/param.h"

#define OPTIMIZER_KINDS(X)                                                                                             \
    X(OPTIMIZER_ADAM, "adam")                                                                                          \
    X(OPTIMIZER_SGD, "sgd")
typedef enum optimizer_kind { OPTIMIZER_KINDS(CHOICE_VALUE) } optimizer_kind;

/* The layers whose parameters decay. */
#define DECAY_CHOICES(X)                                                                                               \
    X(DECAY_ALL, "all")                                                                                                \
    X(DECAY_FIRST, "first")
typedef enum decay_layers { DECAY_CHOICES(CHOICE_VALUE) } decay_layers;

typedef struct optimizer_options {
    optimizer_kind kind;
    double weight_decay; /* on groups that decay */
    double momentum;     /* sgd */
    bool nesterov;
    double beta1, beta2, epsilon; /* adam */
} optimizer_options;

enum { OPTIMIZER_SLOTS = 2 };

/* One run of elements, all tensors [1, n]. */
typedef struct optimizer_run {
    double lr, weight_decay;
    int64_t step;                      /* from 1 */
    weft_tensor w, g;                  /* parameters, and their gradient */
    weft_tensor slot[OPTIMIZER_SLOTS]; /* the rule's; the others are zeroed */
} optimizer_run;

typedef struct optimizer_rule {
    const char *name;                               /* as --optimizer spells it */
    bool by_block;                                  /* a run is one whole block */
    int (*slots)(const optimizer_options *options); /* how many it uses: zeroed when a run of training begins */
    weft_status (*update)(const optimizer_options *options, optimizer_run *run);
} optimizer_rule;

/* The row of the table. */
const optimizer_rule *optimizer_rule_of(optimizer_kind kind);

typedef struct train_optimizer {
    const optimizer_rule *rule;
    optimizer_options options;
    param_store *store;
    int64_t step;
    int slots;
    weft_tensor slot[OPTIMIZER_SLOTS];     /* [slots] of [1, trained] */
    weft_tensor own_slot[OPTIMIZER_SLOTS]; /* [slots] of [1, own] */
} train_optimizer;

weft_status optimizer_create(param_store *store, const optimizer_rule *rule, const optimizer_options *options,
                             train_optimizer *optimizer);
/* Forget all state: the start of a run. */
weft_status optimizer_reset(train_optimizer *optimizer);
/* An update: optimizer_begin, then every replicated trained element once, from the store's gradients, in ranges
 * [begin, end) with borders on multiples of 16 elements, or of blocks for a rule by block, and this rank's own. The
 * bits do not depend on the ranges. */
void optimizer_begin(train_optimizer *optimizer);
weft_status optimizer_step_range(train_optimizer *optimizer, double lr, int64_t begin, int64_t end);
weft_status optimizer_step_own(train_optimizer *optimizer, double lr);
void optimizer_destroy(train_optimizer *optimizer);

#endif
