/* hal/cpu/kernels_table.h: the bodies and the table KERNELS made of them. Included once by each kernels_*.c. */
#include "base/half.h"
#include "hal/cpu/kernels_vec.h"

#include "hal/cpu/kernels_act_body.h"
#include "hal/cpu/kernels_cells.h"
#include "hal/cpu/kernels_dense_body.h"
#include "hal/cpu/kernels_exp.h"
#include "hal/cpu/kernels_gemm_body.h"
#include "hal/cpu/kernels_lanes.h"
#include "hal/cpu/kernels_nn_body.h"
#include "hal/cpu/kernels_pool.h"

#include "hal/cpu/kernels_edges_body.h"

#include "hal/cpu/kernels_attention_body.h"

#include "hal/cpu/kernels_dynamic_body.h"

/* A structure's initialiser must be constant: names, not copies of a table. */
#define CELLS_OF(type)                                                                                                 \
    {                                                                                                                  \
        .axpby = axpby_##type, .col_sum = col_sum_##type, .relu_forward = relu_forward_##type,                         \
        .relu_backward = relu_backward_##type, .curve_forward = curve_forward_##type,                                  \
        .curve_backward = curve_backward_##type, .gate_forward = gate_forward_##type,                                  \
        .gate_backward = gate_backward_##type, .norm = NORM_OF(type), .gather_rows = gather_rows_##type,               \
        .scatter_rows = scatter_rows_##type, .act_forward = act_forward_##type, .ln_forward = ln_forward_##type,       \
        .ln_backward = ln_backward_##type, .pool_max = pool_max_##type, .pool_average = pool_average_##type,           \
        .pool_backward = pool_backward_##type, .max_forward = max_forward_##type, .max_ties = max_ties_##type,         \
        .max_share = max_share_##type, .max_backward = max_backward_##type                                             \
    }

/* Rows that a copy asks for ahead of time: their addresses are random, no hardware prefetcher guesses them. */
enum { ROWS_AHEAD = 12, LINES_AHEAD = 4 };
enum { EDGE_STRIP = 64 };

/* Runs strip(a, row, col, columns) over the `cols` columns of a row, the last time for fewer than EDGE_STRIP. */
#define IN_STRIPS(strip, a, row, cols)                                                                                 \
    {                                                                                                                  \
        int64_t col = 0;                                                                                               \
        for (; col + EDGE_STRIP <= (cols); col += EDGE_STRIP) {                                                        \
            CELL(strip)(a, row, col, EDGE_STRIP);                                                                      \
        }                                                                                                              \
        CELL(strip)(a, row, col, (cols)-col);                                                                          \
    }

/* A row without edges, where no other rank has one of it. */
static bool is_lone(const hal_max_forward_args *a, int64_t row)
{
    const int64_t *offset = a->offset.source;
    const uint8_t *elsewhere = a->elsewhere.source;
    return offset[row] == offset[row + 1] && (elsewhere == NULL || elsewhere[row] == 0);
}

#define cell       float
#define LOAD(x)    (x)
#define STORE(x)   (x)
#define PASSES(x)  ((x) > 0.0F)
#define CELL(name) name##_f32
#include "hal/cpu/kernels_cell_body.h"
#include "hal/cpu/kernels_norm_body.h"
#include "hal/cpu/kernels_row_body.h"

#include "hal/cpu/kernels_max_body.h"
#undef cell
#undef LOAD
#undef STORE
#undef PASSES
#undef CELL

#include "hal/cpu/kernels_cells_bf16.h"

#include "hal/cpu/kernels_cell_body.h"
#include "hal/cpu/kernels_norm_body.h"
#include "hal/cpu/kernels_row_body.h"

#include "hal/cpu/kernels_max_body.h"

const cpu_kernels KERNELS = {.f32 = CELLS_OF(f32),
                             .bf16 = CELLS_OF(bf16),
                             .scale_rows = scale_rows,
                             .gemm_columns = gemm_columns,
                             .gemm_pack = gemm_pack,
                             .gemm_multiply = gemm_multiply,
                             .gemm_multiply_transposed = gemm_multiply_transposed,
                             .softmax_rows = softmax_rows,
                             .softmax_slopes = softmax_slopes,
                             .elu_forward = elu_forward,
                             .elu_backward = elu_backward,
                             .softmax_xent = softmax_xent,
                             .bce_logits = bce_logits,
                             .accuracy = accuracy,
                             .head_dot = head_dot,
                             .head_scale = head_scale,
                             .attention_highest = attention_highest,
                             .attention_forward = attention_forward,
                             .attention_backward_targets = attention_backward_targets,
                             .attention_backward_sources = attention_backward_sources,
                             .dynamic_highest = dynamic_highest,
                             .dynamic_forward = dynamic_forward,
                             .dynamic_backward_targets = dynamic_backward_targets,
                             .dynamic_backward_sources = dynamic_backward_sources,
                             .adam = adam,
                             .adadelta = adadelta,
                             .sgd = sgd,
                             .sum_squares = sum_squares,
                             .lars = lars};
