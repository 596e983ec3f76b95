/*
 * hal/ref/ref_cells.c: operations on rows of float32, float64 or bfloat16 as they are defined: sums and scaling, packed
 * rows, activation, and what reads and writes rows for batch norm (S. Ioffe, C. Szegedy, ICML 2015, arXiv:1502.03167).
 * Dropout: N. Srivastava et al., JMLR 15, 2014.
 */
#include <assert.h>
#include <math.h>

#include "base/half.h"
#include "base/philox.h"
#include "hal/ref/ref_backend.h"

/* Whether dropout keeps element (row, column); the definition stands in base/philox.h. */
static bool dropout_keeps(const hal_dropout *dropout, int64_t row, int64_t column)
{
    const int64_t *row_id = dropout->row_id.source;
    int64_t id = row_id != NULL ? row_id[row] : dropout->row_base + row;
    philox_block block = philox4x32(
        philox_counter((uint32_t)(column / 8), (uint64_t)id, dropout->purpose, dropout->epoch), dropout->seed);
    return philox_lane16(block, (unsigned)(column % 8)) >= philox_dropout_threshold(dropout->probability);
}

static bool dropout_is_on(const hal_dropout *dropout)
{
    return dropout->probability > 0.0F;
}

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
