/* clicks/model/click_kernels_base.c: click_kernels.h for the instruction set of its name. */
#define KERNELS click_kernels_base
#define LANES   4
#include "clicks/model/click_kernels_body.h"
