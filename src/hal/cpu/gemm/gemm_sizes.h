/* hal/cpu/gemm/gemm_sizes.h: what the ways to a product share. */
#ifndef WEFT_HAL_CPU_GEMM_SIZES_H
#define WEFT_HAL_CPU_GEMM_SIZES_H

#include <stdint.h>

enum { OWN_C = 1 << 18 }; /* elements of C (1 MiB) up to which every thread may have its own */

static inline int64_t smaller(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

/* count, rounded up to whole units. */
static inline int64_t whole(int64_t count, int64_t unit)
{
    return (count + unit - 1) / unit * unit;
}

#endif
