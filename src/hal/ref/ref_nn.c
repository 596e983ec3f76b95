/*
 * hal/ref/ref_nn.c: scaled rows and neural-network operations as they are defined; see hal/hal.h.
 *
 * Batch norm: S. Ioffe, C. Szegedy, ICML 2015, arXiv:1502.03167. What reads and writes rows for it is in ref_cells.c.
 */
#include <assert.h>
#include <math.h>

#include "hal/ref/ref_backend.h"

#define REF_REALS
#define REF_BODY "hal/ref/ref_nn_body.h"
#include "hal/ref/ref_typed.h"
