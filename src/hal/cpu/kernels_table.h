/* hal/cpu/kernels_table.h: the bodies and the table KERNELS made of them. Included once by each kernels_*.c. */
#include "hal/cpu/kernels_act_body.h"
#include "hal/cpu/kernels_dense_body.h"
#include "hal/cpu/kernels_gemm_body.h"
#include "hal/cpu/kernels_nn_body.h"

const cpu_kernels KERNELS = {.axpby = axpby,
                             .scale_rows = scale_rows,
                             .gather_rows = gather_rows,
                             .scatter_rows = scatter_rows,
                             .col_sum = col_sum,
                             .gemm_columns = gemm_columns,
                             .gemm_pack = gemm_pack,
                             .gemm_multiply = gemm_multiply,
                             .gemm_multiply_transposed = gemm_multiply_transposed,
                             .act_forward = act_forward,
                             .act_backward = act_backward,
                             .bn_stats = bn_stats,
                             .bn_apply = bn_apply,
                             .bn_backward_stats = bn_backward_stats,
                             .bn_backward_apply = bn_backward_apply,
                             .ln_forward = ln_forward,
                             .ln_backward = ln_backward,
                             .softmax_xent = softmax_xent,
                             .bce_logits = bce_logits,
                             .accuracy = accuracy,
                             .adam = adam,
                             .sgd = sgd};
