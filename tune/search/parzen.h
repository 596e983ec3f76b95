/*
 * tune/search/parzen.h: a density over configurations, from configurations: one kernel each, and one of the prior.
 *
 *      density(x) = sum over kernels i of weight_i prod over dimensions d of k_id(x_d)
 *
 *      range, log           normal, cut off at 0 and 1, in coordinates
 *      integers, and        the share of that normal that falls into the cell
 *      ordered choices
 *      other choices        1 / (n + 1) for each choice and 1 more for the kernel's own, divided by their sum
 *
 * The deviation of a normal is the larger gap to its neighbours in that dimension; the first and the last have one
 * gap only, or, where there is one kernel, those to 0 and 1. It is at least 1 / min(100, n + 2) and at most 1. The
 * prior is a normal at 0.5 with the deviation 1, and even for choices.
 *
 * Coordinates are those of tune/space/space.h: in units of an option, densities of dimensions without cells are
 * divided by the width of its range. Deviations that stay keep their constants, so that one more kernel costs little.
 */
#pragma once

#include "tune/search/searcher_internal.h"

typedef struct parzen {
    const search_space *space;
    int count, room;                               /* kernels of trials; the prior's comes after them */
    int *trial;                                    /* [count] ascending */
    double *log_weight, *until;                    /* [count + 1]: of weights of sum 1; their sums up to each */
    double *mean, *deviation, *inverse, *constant; /* [dimensions, room + 1]: the logarithm of a kernel at its mean */
    int *rank;   /* [dimensions, room]: kernels by their mean, where the dimension has an order */
    double *sum; /* [room + 1] scratch */
} parzen;

/* Room for `count` trials. */
weft_status parzen_reserve(parzen *p, const search_space *space, int count);
void parzen_free(parzen *p);
/*
 * The density of p->count trials p->trial, whose newest 25 weigh as much as the prior, older ones less.
 * order [dimensions, stride]: trials by their coordinate, `ordered` of them; place [trials]: which kernel each is, or
 * -1.
 */
void parzen_build(parzen *p, const search_history *history, const int *order, int stride, int ordered,
                  const int *place);
/* Draws values of dimensions first to end - 1 from one kernel, which is drawn by weight. */
void parzen_draw(const parzen *p, search_draws *draws, int first, int end, double *values);
/* The logarithm of the density of dimensions first to end - 1. */
double parzen_log_density(parzen *p, const double *values, int first, int end);
