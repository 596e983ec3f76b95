/*
 * hal/ref/ref_attention.c: attention over edges as it is defined: every weight is worked out where it is needed, one
 * column strip of a head at a time.
 */
#include <assert.h>
#include <float.h>
#include <math.h>

#include "base/philox.h"
#include "hal/ref/ref_backend.h"

enum { STRIP = 64 };

/* The edges of row r, the one to itself last. */
typedef struct row_edges {
    const int32_t *column;
    int64_t row, count, listed;
} row_edges;

static row_edges edges_of(const hal_mat *offset, const hal_mat *column, int64_t row, const hal_attention *how)
{
    const int64_t *at = offset->source;
    const int32_t *columns = column->source;
    const int64_t listed = at[row + 1] - at[row];
    return (row_edges){.column = listed > 0 ? columns + at[row] : NULL,
                       .row = row,
                       .count = listed + (row < how->self ? 1 : 0),
                       .listed = listed};
}

static int64_t other_end(const row_edges *edges, int64_t e)
{
    return e < edges->listed ? edges->column[e] : edges->row;
}

/* 0, or what a kept weight is multiplied by. */
static double kept(const hal_attention *how, int64_t source, int64_t target, int head)
{
    const hal_dropout *dropout = &how->dropout;
    if (dropout->probability <= 0.0F) {
        return 1.0;
    }
    const int64_t *id = dropout->row_id.source;
    const philox_block block = philox_edge((uint32_t)(head / 8), (uint64_t)id[source], (uint64_t)id[target],
                                           dropout->purpose, dropout->epoch, dropout->seed);
    const bool keeps = philox_lane16(block, (unsigned)(head % 8)) >= philox_dropout_threshold(dropout->probability);
    return keeps ? 1.0 / (1.0 - (double)dropout->probability) : 0.0;
}

static double leaky(double x, double slope)
{
    return x > 0.0 ? x : slope * x;
}

#define LOWEST (sizeof(real) == sizeof(float) ? (real)-FLT_MAX : (real)-DBL_MAX)
#define REF_REALS
#define REF_BODY "hal/ref/ref_attention_body.h"
#include "hal/ref/ref_typed.h"

#define REF_BODY "hal/ref/ref_dynamic_body.h"
#include "hal/ref/ref_typed.h"
