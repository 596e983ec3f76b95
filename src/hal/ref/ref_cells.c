/*
 * hal/ref/ref_cells.c: operations on rows of float32, float64 or bfloat16 as they are defined: sums and scaling, packed
 * rows, activation, and what reads and writes rows for batch norm (S. Ioffe, C. Szegedy, ICML 2015, arXiv:1502.03167).
 * Dropout: N. Srivastava et al., JMLR 15, 2014.
 */
#include <assert.h>
#include <math.h>

#include "base/half.h"
#include "hal/ref/ref_backend.h"

#define cell        float
#define real        float
#define LOAD(x)     (x)
#define STORE(x)    (x)
#define TYPED(name) name##_f32
#include "hal/ref/ref_cells_body.h"
#undef cell
#undef real
#undef TYPED

#define cell        double
#define real        double
#define TYPED(name) name##_f64
#include "hal/ref/ref_cells_body.h"
#undef cell
#undef real
#undef LOAD
#undef STORE
#undef TYPED

#define cell        uint16_t
#define real        float
#define LOAD(x)     bf16_to_float(x)
#define STORE(x)    bf16_from_float(x)
#define TYPED(name) name##_bf16
#include "hal/ref/ref_cells_body.h"
#undef cell
#undef real
#undef LOAD
#undef STORE
#undef TYPED
