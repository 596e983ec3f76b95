/*
 * gnn/layers/fixed_sums.h: sums of gnn/layers/aggregate.h in fixed point, asked for by matrices of the form
 * HAL_SPMM_I16: rows of sources as 16-bit integers with a quantum a column, sums as 32-bit integers. They are exact,
 * so they have the same bits for any partition, number of ranks and threads, and order of messages.
 *
 *     begin      largest |pre * x| of each column over the roots of all ranks  ->  quanta, powers of two, the same
 *                everywhere  ->  owned rows of `rows` = pre * x / quanta, rounded to the nearest
 *     legs       rows travel as int16, partial sums of replicas return as int32 and are added
 *     product    `sums` = A rows, part by part, in int32
 *     finish     out = post * quanta * sums + beta * out + diag * x, of owned rows whose sums are complete
 *
 * One rank alone rounds rows as it packs them and finishes them as it sums, with the same bits and without `rows` and
 * `sums`.
 *
 * A quantum is at most 2^-14 of its column's largest magnitude, and a rounded element is off by half of it: a mean over
 * neighbours is within 2^-15 of the largest magnitude in its column. |q| is at most 32767, or less where the longest
 * row of the graph, in the direction of the sum, has more than 65538 edges, so that no sum leaves 32 bits.
 */
#pragma once

#include "gnn/layers/aggregate.h"
#include "tensor/tensor_fixed.h"

struct gnn_fixed_sums {
    tensor_quanta quanta;
    int32_t most[2];        /* the largest |q|: of forward and transposed sums */
    bool travels;           /* several ranks: through the two matrices below */
    weft_tensor rows, sums; /* [n_local, max_width] int16 and int32, read as [n_local, d] without gaps */
};

/* Of an aggregator whose matrices and halos are made; `part` still has its edges. WEFT_ERR_UNSUPPORTED: rows of weights
 * or of another type than float32, halos that are not exact, or a vertex of more than 2^31 - 1 edges. On failure
 * gnn_fixed_destroy frees what there is. Collective. */
weft_status gnn_fixed_create(gnn_aggregator *aggregator, const weft_part *part, const gnn_aggregator_options *options);
void gnn_fixed_destroy(gnn_aggregator *aggregator);

/* What travels and is summed in the aggregation under way. */
weft_tensor gnn_fixed_rows(const gnn_aggregator *aggregator);
weft_tensor gnn_fixed_sums_of(const gnn_aggregator *aggregator);

/* Scales of the aggregation under way, in its direction; NULL as in gnn_scales. */
gnn_scales gnn_scales_under_way(const gnn_aggregator *aggregator);

/* Quanta and, where rows travel, rounded owned rows of x, which is complete. Collective. */
weft_status gnn_fixed_begin(gnn_aggregator *aggregator);
/* Rows [first, end) of out, where sums travel; nothing otherwise. */
weft_status gnn_fixed_finish(gnn_aggregator *aggregator, int64_t first, int64_t end);
