/* embed/pool/pool_kernels_avx512.c: sums of rows for AVX-512. */
#define POOL_KERNELS pool_kernels_avx512
#include "embed/pool/pool_kernels_body.h"
