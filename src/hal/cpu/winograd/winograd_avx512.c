/* hal/cpu/winograd/winograd_avx512.c: tiles of float32 compiled for AVX512; see winograd_body.h. */
#define LANES   16
#define KERNELS cpu_winograd_avx512
#include "hal/cpu/winograd/winograd_body.h"
