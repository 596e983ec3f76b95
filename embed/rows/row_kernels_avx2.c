/* embed/rows/row_kernels_avx2.c: loops over the numbers of rows for AVX2. */
#define ROW_KERNELS row_kernels_avx2
#include "embed/rows/row_kernels_body.h"
