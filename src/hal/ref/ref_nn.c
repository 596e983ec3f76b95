/*
 * hal/ref/ref_nn.c: neural-network operations as they are defined; see hal/hal.h.
 *
 * Batch norm: S. Ioffe, C. Szegedy, ICML 2015, arXiv:1502.03167. Layer norm: J. Ba, J. Kiros, G. Hinton, 2016,
 * arXiv:1607.06450 (variance over n, epsilon inside the root). Dropout: N. Srivastava et al., JMLR 15, 2014.
 */
#include <assert.h>
#include <math.h>

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

#define real        float
#define TYPED(name) name##_f32
#include "hal/ref/ref_nn_body.h"
#undef real
#undef TYPED

#define real        double
#define TYPED(name) name##_f64
#include "hal/ref/ref_nn_body.h"
#undef real
#undef TYPED
