/* embed/rows/row_kernels_base.c: loops over the numbers of rows for the baseline. */
#define ROW_KERNELS row_kernels_base
#include "embed/rows/row_kernels_body.h"
