/*
 * hal/cpu/pack/pack_avx512.c: the kernels in 16 lanes. Selection: a mask of the lanes that pass compresses indices and
 * values to the front of a register; the whole register is stored and the next store overwrites what was too much
 * (compressing straight to memory is slow on some processors).
 */
#include <immintrin.h>

#include "hal/cpu/pack/pack_internal.h"

#define VECTOR        __m512
#define VECTOR_LOAD   _mm512_loadu_ps
#define VECTOR_ADD    _mm512_add_ps
#define VECTOR_STORE  _mm512_storeu_ps
#define FP16_LANES    16
#define FP16_LOAD(at) _mm512_cvtph_ps(_mm256_loadu_si256((const __m256i *)(const void *)(at)))
/* The conversion without a mask is a macro that warns of its own mask in unoptimised builds. */
#define FP16_STORE(at, x)                                                                                              \
    _mm256_storeu_si256((__m256i *)(void *)(at),                                                                       \
                        _mm512_maskz_cvtps_ph(0xffff, x, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC))

enum { LANES_512 = 16 };

static __mmask16 tail_mask(int64_t rest)
{
    return (__mmask16)((1u << rest) - 1u);
}

/* The lanes that pass go to the front of index and value; returns how many. */
static inline int64_t compress(__m512i raw, int64_t i, __mmask16 pass, int32_t *index, float *value)
{
    const __m512i lane = _mm512_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
    __m512i at = _mm512_add_epi32(_mm512_set1_epi32((int)i), lane);
    _mm512_storeu_si512(index, _mm512_maskz_compress_epi32(pass, at));
    _mm512_storeu_si512(value, _mm512_maskz_compress_epi32(pass, raw));
    return __builtin_popcount(pass);
}

static int64_t compact(const float *x, int64_t begin, int64_t end, uint32_t floor, int64_t capacity, int32_t *index,
                       float *value, uint32_t *top)
{
    const __m512i magnitude = _mm512_set1_epi32((int)HAL_MAGNITUDE_BITS);
    const __m512i bound = _mm512_set1_epi32((int)floor);
    __m512i most = _mm512_setzero_si512();
    int64_t found = 0;
    int64_t i = begin;
    for (; end - i >= LANES_512; i += LANES_512) {
        __m512i raw = _mm512_loadu_si512(x + i);
        __m512i bits = _mm512_and_si512(raw, magnitude);
        __mmask16 pass = _mm512_cmpge_epu32_mask(bits, bound);
        most = _mm512_max_epu32(most, bits);
        if (pass != 0) {
            found += compress(raw, i, pass, index + found, value + found);
            if (found > capacity) {
                return -1;
            }
        }
    }
    if (i < end) {
        __m512i raw = _mm512_maskz_loadu_epi32(tail_mask(end - i), x + i);
        __m512i bits = _mm512_and_si512(raw, magnitude);
        most = _mm512_max_epu32(most, bits);
        found += compress(raw, i, _mm512_mask_cmpge_epu32_mask(tail_mask(end - i), bits, bound), index + found,
                          value + found);
    }
    *top = _mm512_reduce_max_epu32(most);
    return found > capacity ? -1 : found;
}

static int64_t count_from(const float *x, int64_t begin, int64_t end, uint32_t floor)
{
    const __m512i magnitude = _mm512_set1_epi32((int)HAL_MAGNITUDE_BITS);
    const __m512i bound = _mm512_set1_epi32((int)floor);
    int64_t found = 0;
    int64_t i = begin;
    for (; end - i >= 4 * LANES_512; i += 4 * LANES_512) {
        uint64_t pass = 0;
        for (int u = 0; u < 4; ++u) {
            __m512i bits = _mm512_and_si512(_mm512_loadu_si512(x + i + u * LANES_512), magnitude);
            pass = pass << LANES_512 | _mm512_cmpge_epu32_mask(bits, bound);
        }
        found += __builtin_popcountll(pass);
    }
    for (; i < end; ++i) {
        found += hal_magnitude(x[i]) >= floor;
    }
    return found;
}

#define PACK pack_avx512
#include "hal/cpu/pack/pack_table.h"
