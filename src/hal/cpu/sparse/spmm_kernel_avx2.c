/* hal/cpu/sparse/spmm_kernel_avx2.c: the aggregation kernels in 8 lanes; tails are vectors of masks. */
#include <immintrin.h>

#include "hal/cpu/sparse/spmm.h"

#define VEC         __m256
#define TAIL        __m256i
#define LANES       8
#define MAX_VECTORS 8
#define SPMM_TABLE  spmm_kernels_avx2

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

#include "hal/cpu/sparse/spmm_kernel_body.h"
