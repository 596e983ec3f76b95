/* embed/pool/pool_kernels_avx2.c: sums of rows for AVX2. */
#define POOL_KERNELS pool_kernels_avx2
#include "embed/pool/pool_kernels_body.h"
