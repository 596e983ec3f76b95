/*
 * hal/ref/ref_optim.c: optimiser steps, those of Adam, SGD and Adadelta as torch.optim defines them.
 *
 * Adam: D. Kingma, J. Ba: Adam: a method for stochastic optimization. ICLR 2015, arXiv:1412.6980. The decay is L2
 * (added to the gradient), not decoupled; epsilon is added after the bias correction of the second moment.
 *
 * Adadelta: M. Zeiler: ADADELTA: an adaptive learning rate method. 2012, arXiv:1212.5701.
 *
 * LARS: Y. You, I. Gitman, B. Ginsburg: Large batch training of convolutional networks. 2017, arXiv:1708.03888. The
 * learning rate is inside the velocity, as there.
 */
#include <assert.h>
#include <math.h>

#include "hal/ref/ref_backend.h"

#define REF_REALS
#define REF_BODY "hal/ref/ref_optim_body.h"
#include "hal/ref/ref_typed.h"
