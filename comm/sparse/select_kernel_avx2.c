/* comm/sparse/select_kernel_avx2.c: the passes compiled for 8 lanes. */
#include "comm/sparse/select_kernel.h"

#define SELECT_COMPACT compact_avx2
#define SELECT_COUNT   count_avx2
#define SELECT_SUM     sum_avx2
#include "comm/sparse/select_kernel_body.h"
#include "comm/sparse/select_kernel_sum.h"

const select_kernels select_kernels_avx2 = {compact_avx2, count_avx2, sum_avx2};
