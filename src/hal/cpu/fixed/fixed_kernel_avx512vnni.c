/* hal/cpu/fixed/fixed_kernel_avx512vnni.c: sums in fixed point with AVX-512 and its products of pairs (VNNI: Ice Lake,
 * Zen 4), which add one half of every word at once. */
#include <immintrin.h>

#include "hal/cpu/fixed/fixed.h"

#define FIXED_TABLE  fixed_kernels_avx512vnni
#define FIXED_LANES  16
#define FIXED_NARROW 8
#define FIXED_PAIRS

#include "hal/cpu/fixed/fixed_kernel_body.h"
