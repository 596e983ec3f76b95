/* hal/cpu/sparse/spmm_kernel_avx512.c: the aggregation kernels in 16 lanes; tails are masks. */
#include <immintrin.h>
#include <string.h>

#include "hal/cpu/sparse/spmm.h"

#define VEC         __m512
#define TAIL        __mmask16
#define LANES       16
#define MAX_VECTORS 16
#define SPMM_TABLE  spmm_kernels_avx512

typedef uint16_t halves __attribute__((vector_size(2 * LANES)));
typedef uint16_t halves_unaligned __attribute__((vector_size(2 * LANES), aligned(2), may_alias));

typedef uint32_t words __attribute__((vector_size(4 * LANES)));

/* By one instruction each, which the compiler does not find by itself. */
static inline words words_of_halves(halves value)
{
    return (words)_mm512_cvtepu16_epi32((__m256i)value);
}

static inline halves halves_of_words(words value)
{
    return (halves)_mm512_cvtepi32_epi16((__m512i)value);
}

static inline VEC vec_set1(float value)
{
    return _mm512_set1_ps(value);
}

static inline VEC vec_load(const float *p)
{
    return _mm512_loadu_ps(p);
}

static inline void vec_store(float *p, VEC value)
{
    _mm512_storeu_ps(p, value);
}

static inline void vec_stream(float *p, VEC value)
{
    _mm512_stream_ps(p, value);
}

static inline TAIL tail_of(int lanes)
{
    return (TAIL)((1U << lanes) - 1U);
}

static inline VEC vec_load_tail(const float *p, TAIL tail)
{
    return _mm512_maskz_loadu_ps(tail, p);
}

static inline void vec_store_tail(float *p, TAIL tail, VEC value)
{
    _mm512_mask_storeu_ps(p, tail, value);
}

static inline halves halves_load_tail(const uint16_t *p, TAIL tail)
{
    return (halves)_mm256_maskz_loadu_epi16(tail, p);
}

static inline void halves_store_tail(uint16_t *p, TAIL tail, halves value)
{
    _mm256_mask_storeu_epi16(p, tail, (__m256i)value);
}

#include "hal/cpu/sparse/spmm_kernel_body.h"
