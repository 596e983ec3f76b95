/* hal/cpu/kernels_avx2.c: the kernels compiled for AVX2; see kernels.h. */
#include <float.h>
#include <immintrin.h>
#include <math.h>
#include <string.h>

#include "base/philox.h"
#include "hal/cpu/kernels.h"

enum { DRAW_LANES = 4 };
typedef __m256i draw_vec;

static inline draw_vec draw_set(uint64_t value)
{
    return _mm256_set1_epi64x((long long)value);
}

static inline draw_vec draw_load(const uint64_t *from)
{
    return _mm256_loadu_si256((const draw_vec *)from);
}

static inline draw_vec draw_add(draw_vec a, draw_vec b)
{
    return _mm256_add_epi64(a, b);
}

static inline draw_vec draw_multiply(draw_vec a, draw_vec b)
{
    return _mm256_mul_epu32(a, b);
}

static inline draw_vec draw_high(draw_vec a)
{
    return _mm256_srli_epi64(a, 32);
}

static inline draw_vec draw_xor(draw_vec a, draw_vec b, draw_vec c)
{
    return _mm256_xor_si256(_mm256_xor_si256(a, b), c);
}

/* purpose | bits 32..47 of the id */
static inline draw_vec draw_or_id(draw_vec purpose, draw_vec id)
{
    return _mm256_or_si256(purpose, _mm256_and_si256(draw_high(id), draw_set(0xffff)));
}

/* Four blocks in order: words 0 and 1 of a block make its first 64 bits, words 2 and 3 the second. */
static inline void draw_store(uint16_t *lane, draw_vec c0, draw_vec c1, draw_vec c2, draw_vec c3)
{
    draw_vec a = _mm256_blend_epi32(c0, _mm256_slli_epi64(c1, 32), 0xaa);
    draw_vec b = _mm256_blend_epi32(c2, _mm256_slli_epi64(c3, 32), 0xaa);
    draw_vec even = _mm256_unpacklo_epi64(a, b); /* blocks 0 and 2 */
    draw_vec odd = _mm256_unpackhi_epi64(a, b);
    _mm256_storeu_si256((draw_vec *)lane, _mm256_permute2x128_si256(even, odd, 0x20));
    _mm256_storeu_si256((draw_vec *)(lane + 16), _mm256_permute2x128_si256(even, odd, 0x31));
}

/* The first lanes of a vector of floats from memory, the others zero; and lane k from[index[k]], of LANES floats. */
static inline __m256 vec_load_first(const float *from, int64_t lanes)
{
    const __m256i lane = _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7);
    return _mm256_maskload_ps(from, _mm256_cmpgt_epi32(_mm256_set1_epi32((int)lanes), lane));
}

static inline void vec_store_first(float *to, __m256 value, int64_t lanes)
{
    const __m256i lane = _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7);
    _mm256_maskstore_ps(to, _mm256_cmpgt_epi32(_mm256_set1_epi32((int)lanes), lane), value);
}

static inline __m256 vec_pick(const float *from, const int32_t *index)
{
    return _mm256_permutevar8x32_ps(_mm256_loadu_ps(from), _mm256_loadu_si256((const draw_vec *)index));
}

/* Where x > 0 lanes of `positive`, else of `other`. */
static inline __m256 vec_if_positive(__m256 x, __m256 positive, __m256 other)
{
    return _mm256_blendv_ps(other, positive, _mm256_cmp_ps(x, _mm256_setzero_ps(), _CMP_GT_OQ));
}

/* Sums of lanes 0 and 1, 2 and 3 .. of a, then of b. */
static inline __m256 vec_add_neighbours(__m256 a, __m256 b)
{
    const __m256d halves = _mm256_castps_pd(_mm256_hadd_ps(a, b)); /* a b | a b */
    return _mm256_castpd_ps(_mm256_permute4x64_pd(halves, 0xd8));
}

/* Registers: 16 of 8 floats, 12 of them sums. */
#define LANES         8
#define PANEL         2
#define TILE(vectors) ((vectors) == 1 ? 12 : 6)

#define KERNELS cpu_kernels_avx2
#include "hal/cpu/kernels_table.h"
