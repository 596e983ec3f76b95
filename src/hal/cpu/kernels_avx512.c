/* hal/cpu/kernels_avx512.c: the kernels compiled for AVX512; see kernels.h. */
#include <float.h>
#include <immintrin.h>
#include <math.h>
#include <string.h>

#include "base/philox.h"
#include "hal/cpu/kernels.h"

enum { DRAW_LANES = 8 };
typedef __m512i draw_vec;

static inline draw_vec draw_set(uint64_t value)
{
    return _mm512_set1_epi64((long long)value);
}

static inline draw_vec draw_load(const uint64_t *from)
{
    return _mm512_loadu_si512((const draw_vec *)from);
}

static inline draw_vec draw_add(draw_vec a, draw_vec b)
{
    return _mm512_add_epi64(a, b);
}

static inline draw_vec draw_multiply(draw_vec a, draw_vec b)
{
    return _mm512_mul_epu32(a, b);
}

static inline draw_vec draw_high(draw_vec a)
{
    return _mm512_srli_epi64(a, 32);
}

static inline draw_vec draw_xor(draw_vec a, draw_vec b, draw_vec c)
{
    return _mm512_ternarylogic_epi64(a, b, c, 0x96);
}

/* purpose | bits 32..47 of the id */
static inline draw_vec draw_or_id(draw_vec purpose, draw_vec id)
{
    return _mm512_or_si512(purpose, _mm512_and_si512(draw_high(id), draw_set(0xffff)));
}

/* Eight blocks in order: words 0 and 1 of a block make its first 64 bits, words 2 and 3 the second. */
static inline void draw_store(uint16_t *lane, draw_vec c0, draw_vec c1, draw_vec c2, draw_vec c3)
{
    draw_vec a = _mm512_mask_blend_epi32(0xaaaa, c0, _mm512_slli_epi64(c1, 32));
    draw_vec b = _mm512_mask_blend_epi32(0xaaaa, c2, _mm512_slli_epi64(c3, 32));
    draw_vec low = _mm512_setr_epi64(0, 8, 1, 9, 2, 10, 3, 11);
    draw_vec high = _mm512_setr_epi64(4, 12, 5, 13, 6, 14, 7, 15);
    _mm512_storeu_si512(lane, _mm512_permutex2var_epi64(a, low, b));
    _mm512_storeu_si512(lane + 32, _mm512_permutex2var_epi64(a, high, b));
}

/* The first lanes of a vector of floats from memory, the others zero, and to memory; and lane k from[index[k]], of
 * LANES floats. */
static inline __m512 vec_load_first(const float *from, int64_t lanes)
{
    return _mm512_maskz_loadu_ps((__mmask16)((1u << lanes) - 1u), from);
}

static inline void vec_store_first(float *to, __m512 value, int64_t lanes)
{
    _mm512_mask_storeu_ps(to, (__mmask16)((1u << lanes) - 1u), value);
}

static inline __m512 vec_pick(const float *from, const int32_t *index)
{
    return _mm512_permutexvar_ps(_mm512_loadu_si512(index), _mm512_loadu_ps(from));
}

/* Where x > 0 lanes of `positive`, else of `other`. */
static inline __m512 vec_if_positive(__m512 x, __m512 positive, __m512 other)
{
    return _mm512_mask_blend_ps(_mm512_cmp_ps_mask(x, _mm512_setzero_ps(), _CMP_GT_OQ), other, positive);
}

/* Sums of lanes 0 and 1, 2 and 3 .. of a, then of b. */
static inline __m512 vec_add_neighbours(__m512 a, __m512 b)
{
    const __m512i even = _mm512_setr_epi32(0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22, 24, 26, 28, 30);
    const __m512i odd = _mm512_setr_epi32(1, 3, 5, 7, 9, 11, 13, 15, 17, 19, 21, 23, 25, 27, 29, 31);
    return _mm512_add_ps(_mm512_permutex2var_ps(a, even, b), _mm512_permutex2var_ps(a, odd, b));
}

/* Registers: 32 of 16 floats, 24 of them sums. */
#define LANES         16
#define PANEL         4
#define TILE(vectors) ((vectors) == 1 ? 12 : 24 / (vectors))

#define KERNELS cpu_kernels_avx512
#include "hal/cpu/kernels_table.h"
