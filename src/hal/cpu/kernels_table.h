/* hal/cpu/kernels_table.h: the bodies and the table KERNELS made of them. Included once by each kernels_*.c. */
#include "base/half.h"
#include "hal/cpu/kernels_act_body.h"
#include "hal/cpu/kernels_dense_body.h"
#include "hal/cpu/kernels_gemm_body.h"
#include "hal/cpu/kernels_nn_body.h"
#include "hal/cpu/kernels_pool.h"

/* A structure's initialiser must be constant: names, not copies of a table. */
#define CELLS_OF(type)                                                                                                 \
    {                                                                                                                  \
        .axpby = axpby_##type, .col_sum = col_sum_##type, .relu_forward = relu_forward_##type,                         \
        .relu_backward = relu_backward_##type, .bn_stats = bn_stats_##type, .bn_apply = bn_apply_##type,               \
        .bn_backward_stats = bn_backward_stats_##type, .bn_backward_apply = bn_backward_apply_##type,                  \
        .pool_max = pool_max_##type, .pool_average = pool_average_##type, .pool_backward = pool_backward_##type        \
    }

#define BY_FORM static inline __attribute__((always_inline))

#define cell       float
#define LOAD(x)    (x)
#define STORE(x)   (x)
#define CELL(name) name##_f32
#include "hal/cpu/kernels_cell_body.h"
#undef cell
#undef LOAD
#undef STORE
#undef CELL

#define cell       uint16_t
#define LOAD(x)    bf16_to_float(x)
#define STORE(x)   bf16_from_float(x)
#define CELL(name) name##_bf16
#include "hal/cpu/kernels_cell_body.h"

const cpu_kernels KERNELS = {.f32 = CELLS_OF(f32),
                             .bf16 = CELLS_OF(bf16),
                             .scale_rows = scale_rows,
                             .gather_rows = gather_rows,
                             .scatter_rows = scatter_rows,
                             .gemm_columns = gemm_columns,
                             .gemm_pack = gemm_pack,
                             .gemm_multiply = gemm_multiply,
                             .gemm_multiply_transposed = gemm_multiply_transposed,
                             .act_forward = act_forward,
                             .ln_forward = ln_forward,
                             .ln_backward = ln_backward,
                             .softmax_xent = softmax_xent,
                             .bce_logits = bce_logits,
                             .accuracy = accuracy,
                             .adam = adam,
                             .sgd = sgd,
                             .sum_squares = sum_squares,
                             .lars = lars};
