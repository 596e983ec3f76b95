/* clicks/model/click_kernels_avx512.c: click_kernels.h for the instruction set of its name. */
#define KERNELS click_kernels_avx512
#define LANES   16
#include "clicks/model/click_kernels_body.h"
