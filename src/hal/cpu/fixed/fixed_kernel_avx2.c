/* hal/cpu/fixed/fixed_kernel_avx2.c: sums in fixed point with AVX2. */
#include "hal/cpu/fixed/fixed.h"

#define FIXED_TABLE  fixed_kernels_avx2
#define FIXED_LANES  8
#define FIXED_NARROW 8

#include "hal/cpu/fixed/fixed_kernel_body.h"
