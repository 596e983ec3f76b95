/*
 * train/second/second_damping.c: rho; rho times the mean eigenvalue of a factor is added to its eigenvalues.
 *
 * Training rows say little about directions that few of them have: a factor of n columns is as uncertain, relative to
 * its mean eigenvalue, as n over the rows that the loss reads. So rho is twice that, within bounds. Absolute damping
 * gamma is the rho for which rho a b is gamma.
 */
#include "train/second/second_internal.h"

#include <math.h>

#define LEAST    0.1
#define MOST     10.0
#define A_COLUMN 2.0

void second_find_damping(train_second *s, second_layer *layer)
{
    const double product = layer->side[SECOND_IN].mean * layer->side[SECOND_OUT].mean;
    if (s->options.absolute > 0.0) {
        layer->damping = product > 0.0 ? s->options.absolute / product : MOST;
        return;
    }
    const double found = A_COLUMN * (double)layer->side[SECOND_IN].n / (double)s->terms;
    layer->damping = s->options.damping > 0.0 ? s->options.damping : fmin(fmax(found, LEAST), MOST);
}
