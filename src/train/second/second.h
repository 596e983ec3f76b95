/*
 * train/second/second.h: second-order methods, which turn a gradient by what is known of the curvature before the
 * optimiser sees it.
 *
 * For a linear map z = u W let g = dL/dW be the gradient [in, out], u the input rows and d the gradients of the output
 * rows. Two symmetric matrices, the factors, say how rows vary:
 *
 *      A = mean of u^T u        [in, in]       input side
 *      G = |T| sum of d^T d     [out, out]     output side; d has the 1 / |T| of the mean loss over |T| terms
 *
 *      input     P = (A + rho a I)^-1 g / b                a = tr A / in, b = tr G / out
 *      kfac      P = Qa ((Qa^T g Qg) / (la lg^T + rho a b)) Qg^T   with A = Qa la Qa^T, G = Qg lg Qg^T
 *      kfac      P = (A + r a I)^-1 g (G + r b I)^-1                    r^2 = rho, by inverses (Martens and Grosse)
 *
 * A convolution is a linear map of patches: u are the patches that its kernel sees at each of S output pixels of B
 * images, so A is a mean over B S rows and G = B sum of d^T d. The product A (x) G is that of SC 2020, whose factors
 * are A / S and G S. Absolute damping gamma therefore means the same there, and stands for rho a b above.
 *
 * In the form `reduce` an image is one row: u is the mean of its patches, d the sum of its pixels' gradients, A a mean
 * over B rows and G = B sum of d^T d (Eschenhagen et al.). Rows of one linear map over all words of a text, or pixels
 * of an image, are reduced alike.
 *
 * The step is then P times min(1, sqrt(clip / (lr^2 sum of P . g))), so that the model's answers move by a bounded
 * amount (the KL clip). The bound may be larger in the first steps: answers that say nothing yet have far to go. A bias
 * that is added to the same rows is one more row of W, and a 1 in every u.
 *
 * Every row has one owner, so factors are sums over ranks: results depend on the number of ranks and on the partition
 * by rounding alone. Layers give their rows to a listener (train/tap.h) in one of --precondition-factors steps, and in
 * each of the first ones; of many rows a sample that is a function of row ids alone. If the input rows are constant,
 * their factor is made once a run. More than SECOND_WIDE constant columns are held as SECOND_WIDE_ROWS sampled rows U^T
 * (Woodbury's identity), and so are constant columns whose products are summed over edges: the model gives sums of its
 * input rows for the sample (train_map.sums).
 *
 *      (gamma I + U U^T)^-1 g = (g - U (gamma I + U^T U)^-1 U^T g) / gamma
 *
 * Cost with n inputs: 2 n^2 out flops a step, n^3 for an inverse, 2 r n^2 for a factor of r rows; memory 2 n^2 numbers,
 * 1.5 n^2 of constant inputs. second_place.h says which of many ranks invert and turn, second_cost.h what that costs.
 *
 *   J. Martens, R. Grosse: Optimizing neural networks with Kronecker-factored approximate curvature. ICML 2015,
 *   arXiv 1503.05671.  F. Benzing: Gradient descent on neurons and its link to approximate second-order optimization.
 *   ICML 2022, arXiv 2201.12250 (the input side alone).  J. Pauloski et al.: Convolutional neural network training with
 *   distributed K-FAC. SC 2020, arXiv 2007.00784 (the clip and the schedule of updates).
 *
 *   R. Eschenhagen, A. Immer, R. Turner, F. Schneider, P. Hennig: Kronecker-factored approximate curvature for modern
 *   neural network architectures. NeurIPS 2023, arXiv 2311.00636 (expand and reduce).
 *
 *      WEFT_TRY(second_create(comm, model, &options, &second));
 *      train.tap = second_tap(second);
 *      train.preconditioner = second_preconditioner(second);
 */
#pragma once

#include "base/option_words.h"
#include "train/precondition.h"
#include "train/second/muon.h"
#include "train/second/second_place.h"
#include "train/tap.h"

#define SECOND_KINDS(X)                                                                                                \
    X(SECOND_NONE, "none")                                                                                             \
    X(SECOND_INPUT, "input")                                                                                           \
    X(SECOND_KFAC, "kfac")                                                                                             \
    X(SECOND_MUON, "muon")                                                                                             \
    X(SECOND_AUTO, "auto")
typedef enum second_kind { SECOND_KINDS(CHOICE_VALUE) } second_kind;

#define SECOND_SOLVES(X)                                                                                               \
    X(SECOND_EIGEN, "eigen")                                                                                           \
    X(SECOND_INVERSE, "inverse")
typedef enum second_solve { SECOND_SOLVES(CHOICE_VALUE) } second_solve;

/* Rows that share weights, the output pixels of an image or the words of a text: each is a row of the factors (expand),
 * or u is the mean of an image's rows and d the sum of its gradients (reduce). */
#define SECOND_FORMS(X)                                                                                                \
    X(SECOND_EXPAND, "expand")                                                                                         \
    X(SECOND_REDUCE, "reduce")
typedef enum second_form { SECOND_FORMS(CHOICE_VALUE) } second_form;

/* Above this many columns a constant input side is held as so many sampled rows. */
enum { SECOND_WIDE = 4096, SECOND_WIDE_ROWS = 1024 };

typedef struct second_options {
    second_kind kind; /* input, kfac or muon */
    double damping;   /* rho; 0: found from the factors (second_damping.c) */
    double absolute;  /* gamma in the place of rho a b; 0: relative damping */
    double clip;      /* bound of the KL clip; 0: no clip */
    /* Bound of the first step over `clip`; halved from step to step, down to 1. 0: 1. */
    double first;
    double decay;     /* of the running averages of factors, 0 to less than 1 */
    int64_t factors;  /* steps from one update of the factors to the next, at least 1 */
    int64_t interval; /* steps from one inversion to the next, a multiple of `factors` */
    int64_t early;    /* number of early steps, in which factors change fastest */
    /* Steps from one update, and inversion, to the next in early steps. */
    int64_t early_every;
    second_solve solve; /* kfac alone */
    second_form form;   /* images and texts alone */
    uint64_t seed;      /* of the sample of rows */
    /* The most overhead, as a share of the rest of a step, and the seconds of a step from which it matters: above both
     * the method steps back (second_judge.c). 0: it never does. */
    double overhead, overhead_seconds;
    /* Ranks that invert and turn; not AUTO. Muon has its own (train/second/muon.h). */
    second_place place;
    muon_options muon; /* muon alone */
} second_options;

typedef struct train_second train_second;

/*
 * model: its maps (train_model.map) are what is preconditioned; it lives as long as *second. WEFT_ERR_USAGE: the model
 * names no maps, or the method is not built. Collective.
 */
weft_status second_create(weft_comm *comm, const train_model *model, const second_options *options,
                          train_second **second);
void second_destroy(train_second *second); /* NULL is fine */
const train_tap *second_tap(const train_second *second);
const train_preconditioner *second_preconditioner(const train_second *second);
/* Returns the bytes that factors, inverses and scratch take on this rank. */
uint64_t second_bytes(const train_second *second);
