/*
 * hal/ref/ref_optim.c: optimiser steps as torch.optim defines them.
 *
 * Adam: D. Kingma, J. Ba: Adam: a method for stochastic optimization. ICLR 2015, arXiv:1412.6980. The decay is L2
 * (added to the gradient), not decoupled; epsilon is added after the bias correction of the second moment.
 */
#include <math.h>

#include "hal/ref/ref_backend.h"

#define real        float
#define TYPED(name) name##_f32
#include "hal/ref/ref_optim_body.h"
#undef real
#undef TYPED

#define real        double
#define TYPED(name) name##_f64
#include "hal/ref/ref_optim_body.h"
#undef real
#undef TYPED

static weft_status ref_adam(weft_hal *hal, weft_dtype dtype, int64_t n, const hal_adam *adam, void *w, const void *g,
                            void *m, void *v)
{
    (void)hal;
    WEFT_CHECK(adam->step >= 1, WEFT_ERR_INTERNAL, "adam: step %ld; the first step is 1", (long)adam->step);
    REF_DISPATCH(adam, dtype, n, adam, w, g, m, v);
}

static weft_status ref_sgd(weft_hal *hal, weft_dtype dtype, int64_t n, const hal_sgd *sgd, void *w, const void *g,
                           void *momentum)
{
    (void)hal;
    WEFT_CHECK(sgd->step >= 1, WEFT_ERR_INTERNAL, "sgd: step %ld; the first step is 1", (long)sgd->step);
    REF_DISPATCH(sgd, dtype, n, sgd, w, g, momentum);
}

void ref_optim_ops(hal_optim_ops *ops)
{
    *ops = (hal_optim_ops){.adam = ref_adam, .sgd = ref_sgd};
}
