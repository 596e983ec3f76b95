/* clicks/model/click_kernels_avx2.c: click_kernels.h for the instruction set of its name. */
#define KERNELS click_kernels_avx2
#define LANES   8
#include "clicks/model/click_kernels_body.h"
