/* train/second/second_damping.c: rho; rho times the mean eigenvalue of a factor is added to its eigenvalues. */
#include "train/second/second_internal.h"

#define SECOND_DAMPING 0.1

weft_status second_find_damping(train_second *s, second_layer *layer)
{
    layer->damping = s->options.damping > 0.0 ? s->options.damping : SECOND_DAMPING;
    return WEFT_OK;
}
