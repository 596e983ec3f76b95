/* embed/pool/pool_kernels_base.c: sums of rows for the baseline. */
#define POOL_KERNELS pool_kernels_base
#include "embed/pool/pool_kernels_body.h"
