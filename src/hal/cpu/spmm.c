/* hal/cpu/spmm.c: no aggregation kernels of this backend: the reference operations fill the group. */
#include "hal/cpu/cpu_backend.h"

void cpu_sparse_ops(hal_sparse_ops *ops)
{
    *ops = (hal_sparse_ops){0};
}
