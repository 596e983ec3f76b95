/* hal/cpu/fixed/fixed_kernel_base.c: sums in fixed point with x86-64 alone. */
#include "hal/cpu/fixed/fixed.h"

#define FIXED_TABLE  fixed_kernels_base
#define FIXED_LANES  4
#define FIXED_NARROW 4

#include "hal/cpu/fixed/fixed_kernel_body.h"
