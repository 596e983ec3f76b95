/* hal/cpu/pack/pack_base.c: the kernels for every x86-64 processor: 4 lanes. */
#include <immintrin.h>

#include "hal/cpu/pack/pack_internal.h"

#define VECTOR       __m128
#define VECTOR_LOAD  _mm_loadu_ps
#define VECTOR_ADD   _mm_add_ps
#define VECTOR_STORE _mm_storeu_ps
#define FP16_LANES   0

#define PACK pack_base
#include "hal/cpu/pack/pack_select_body.h"
#include "hal/cpu/pack/pack_table.h"
