/* hal/cpu/winograd/winograd_avx2.c: tiles of float32 compiled for AVX2; see winograd_body.h. */
#define LANES   8
#define KERNELS cpu_winograd_avx2
#include "hal/cpu/winograd/winograd_body.h"
