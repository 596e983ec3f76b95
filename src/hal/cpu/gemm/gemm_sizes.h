/* hal/cpu/gemm/gemm_sizes.h: what the ways to a product share. */
#ifndef WEFT_HAL_CPU_GEMM_SIZES_H
#define WEFT_HAL_CPU_GEMM_SIZES_H

#include "base/integer/integers.h"

enum { OWN_C = 1 << 18 }; /* elements of C (1 MiB) up to which every thread may have its own */

#endif
