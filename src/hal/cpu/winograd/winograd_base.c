/* hal/cpu/winograd/winograd_base.c: tiles of float32 compiled for any processor; see winograd_body.h. */
#define LANES   4
#define KERNELS cpu_winograd_base
#include "hal/cpu/winograd/winograd_body.h"
