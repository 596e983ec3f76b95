/*
 * train/second/second_damping.c: rho; rho times the mean eigenvalue of a factor is added to its eigenvalues.
 *
 * The damping is a ridge. A map of n inputs that is fitted to T terms of a loss learns noise where an eigenvalue of its
 * factor is small beside n / T times the mean one. A run takes about ten steps of full length, each of which learns a
 * direction of eigenvalue e by the share e / (e + rho a), so a direction is left out if rho is ten times that.
 *
 * All maps of a model have the rho of the widest one: measured, hidden maps that are damped less learn the training
 * rows by heart. Scores change little while rho is within a factor of 3 (docs/notes/second-order.md).
 *
 * Absolute damping gamma is the rho for which rho a b is gamma.
 */
#include "train/second/second_internal.h"

#include <assert.h>
#include <math.h>

/* Fewer columns than rows: something is always added, because factors are of some rows. More than MOST is the plain
 * gradient. */
#define LEAST    1.0
#define MOST     30.0
#define A_COLUMN 10.0

void second_find_damping(train_second *s, second_layer *layer)
{
    int64_t widest = 0;
    const double product = layer->side[SECOND_IN].mean * layer->side[SECOND_OUT].mean;
    if (s->options.absolute > 0.0) {
        layer->damping = product > 0.0 ? s->options.absolute / product : MOST;
        return;
    }
    assert(s->terms > 0);
    for (int l = 0; l < s->layers; ++l) {
        const int64_t n = s->layer[l].side[SECOND_IN].n;
        widest = n > widest ? n : widest;
    }
    const double found = A_COLUMN * (double)widest / (double)s->terms;
    layer->damping = s->options.damping > 0.0 ? s->options.damping : fmin(fmax(found, LEAST), MOST);
}
