/* embed/rows/row_kernels_avx512.c: loops over the numbers of rows for AVX-512. */
#define ROW_KERNELS row_kernels_avx512
#include "embed/rows/row_kernels_body.h"
