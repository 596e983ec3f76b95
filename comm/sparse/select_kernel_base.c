/* comm/sparse/select_kernel_base.c: the passes for every x86-64 processor, and the choice among the tables. */
#include "comm/sparse/select_kernel.h"

#define SELECT_COMPACT compact_base
#define SELECT_COUNT   count_base
#define SELECT_SUM     sum_base
#include "comm/sparse/select_kernel_body.h"
#include "comm/sparse/select_kernel_sum.h"

const select_kernels select_kernels_base = {compact_base, count_base, sum_base};

const select_kernels *select_kernels_of_cpu(void)
{
    __builtin_cpu_init();
    if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512vl") &&
        __builtin_cpu_supports("avx512dq")) {
        return &select_kernels_avx512;
    }
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) {
        return &select_kernels_avx2;
    }
    return &select_kernels_base;
}
