/* hal/cpu/pack/pack_avx2.c: the kernels in 8 lanes. */
#include <immintrin.h>

#include "hal/cpu/pack/pack_internal.h"

#define VECTOR        __m256
#define VECTOR_LOAD   _mm256_loadu_ps
#define VECTOR_ADD    _mm256_add_ps
#define VECTOR_STORE  _mm256_storeu_ps
#define FP16_LANES    8
#define FP16_LOAD(at) _mm256_cvtph_ps(_mm_loadu_si128((const __m128i *)(const void *)(at)))
#define FP16_STORE(at, x)                                                                                              \
    _mm_storeu_si128((__m128i *)(void *)(at), _mm256_cvtps_ph(x, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC))

#define PACK pack_avx2
#include "hal/cpu/pack/pack_select_body.h"
#include "hal/cpu/pack/pack_table.h"
