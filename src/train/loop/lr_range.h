/*
 * train/loop/lr_range.h: which learning rate a range test speaks for: a short training whose rate grows by the same
 * factor from step to step, until the loss blows up.
 *
 * The loss of each step is smoothed over its neighbours; steps at both ends, which have none on one side, are left
 * out. A fall that is within the noise of single losses gives no rate. Before its least value lies the stretch on
 * which it falls; the rate taken is that at which it falls by the largest share from step to step. (The largest
 * difference would lie at the beginning wherever data are easy.) At the least value itself steps are already too
 * long: what the last ones gained makes up for what they lose.
 *
 * L. Smith: Cyclical learning rates for training neural networks. WACV 2017, arXiv:1506.01186, section 3.3; the rule is
 * that of its users since.
 */
#pragma once

#include <stdbool.h>

typedef struct lr_choice {
    double rate;  /* to two digits */
    double least; /* rate of the least smoothed loss */
    int step;     /* of `rate`; -1: the loss does not fall, or by no more than its noise, and no rate is taken */
    bool falling; /* the loss is least at the end of the test */
} lr_choice;

/* lr, loss [steps]: ascending rates, finite losses above 0. smooth [steps]: out, the smoothed losses. */
lr_choice lr_range_choose(const double *lr, const double *loss, int steps, double *smooth);
/* Returns true if the loss of the last of `steps` steps has blown up: it is NaN, or far above the first one, by
 * several times what was gained. */
bool lr_range_blew_up(const double *loss, int steps);
