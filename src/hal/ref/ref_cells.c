/*
 * hal/ref/ref_cells.c: operations on rows of float32, float64, bfloat16 or float16 as they are defined: sums and
 * scaling, packed rows, activation, and what reads and writes rows for batch norm (S. Ioffe, C. Szegedy, ICML 2015,
 * arXiv:1502.03167). Dropout: N. Srivastava et al., JMLR 15, 2014.
 */
#include <assert.h>
#include <math.h>

#include "base/half.h"
#include "hal/ref/ref_backend.h"

#define REF_BODY "hal/ref/ref_cells_body.h"
#define REF_F16
#include "hal/ref/ref_typed.h"
