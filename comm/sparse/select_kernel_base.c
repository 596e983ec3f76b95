/* comm/sparse/select_kernel_base.c: the passes for every x86-64 processor, and the choice among the tables. */
#include "base/isa.h"
#include "comm/sparse/select_kernel.h"

#define SELECT_COMPACT compact_base
#define SELECT_COUNT   count_base
#define SELECT_SUM     sum_base
#include "comm/sparse/select_kernel_body.h"
#include "comm/sparse/select_kernel_sum.h"

const select_kernels select_kernels_base = {compact_base, count_base, sum_base};

const select_kernels *select_kernels_of_cpu(void)
{
    static const select_kernels *const kernels[HAL_ISAS] = {&select_kernels_base, &select_kernels_avx2,
                                                            &select_kernels_avx512};
    return kernels[hal_isa_best()];
}
