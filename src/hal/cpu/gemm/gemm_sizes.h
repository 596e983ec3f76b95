/* hal/cpu/gemm/gemm_sizes.h: what the ways to a product share. */
#pragma once

#include "base/integer/integers.h"

enum { OWN_C = 1 << 18 }; /* elements of C (1 MiB) up to which every thread may have its own */
