/* hal/cpu/sparse/spmm_kernel_avx2.c: the aggregation kernels in 8 lanes; tails are vectors of masks. */
#include <immintrin.h>
#include <string.h>

#include "hal/cpu/sparse/spmm.h"

#define VEC         __m256
#define TAIL        __m256i
#define LANES       8
#define MAX_VECTORS 8
#define SPMM_TABLE  spmm_kernels_avx2

typedef uint16_t halves __attribute__((vector_size(2 * LANES)));
typedef uint16_t halves_unaligned __attribute__((vector_size(2 * LANES), aligned(2), may_alias));

typedef uint32_t words __attribute__((vector_size(4 * LANES)));

static inline words words_of_halves(halves value)
{
    return (words)_mm256_cvtepu16_epi32((__m128i)value);
}

static inline halves halves_of_words(words value)
{
    return __builtin_convertvector(value, halves);
}

static inline VEC vec_set1(float value)
{
    return _mm256_set1_ps(value);
}

static inline VEC vec_load(const float *p)
{
    return _mm256_loadu_ps(p);
}

static inline void vec_store(float *p, VEC value)
{
    _mm256_storeu_ps(p, value);
}

static inline void vec_stream(float *p, VEC value)
{
    _mm256_stream_ps(p, value);
}

static inline TAIL tail_of(int lanes)
{
    return _mm256_cmpgt_epi32(_mm256_set1_epi32(lanes), _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7));
}

static inline VEC vec_load_tail(const float *p, TAIL tail)
{
    return _mm256_maskload_ps(p, tail);
}

static inline void vec_store_tail(float *p, TAIL tail, VEC value)
{
    _mm256_maskstore_ps(p, tail, value);
}

static inline int lanes_of(TAIL tail)
{
    return __builtin_popcount((unsigned)_mm256_movemask_ps((VEC)tail));
}

static inline halves halves_load_tail(const uint16_t *p, TAIL tail)
{
    const int lanes = lanes_of(tail);
    if (lanes == LANES) {
        return *(const halves_unaligned *)p;
    }
    uint16_t lane[LANES] = {0};
    memcpy(lane, p, (size_t)lanes * sizeof *p);
    return *(const halves_unaligned *)lane;
}

static inline void halves_store_tail(uint16_t *p, TAIL tail, halves value)
{
    memcpy(p, &value, (size_t)lanes_of(tail) * sizeof *p);
}

#include "hal/cpu/sparse/spmm_kernel_body.h"
