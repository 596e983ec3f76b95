/* comm/codec/fp16_avx2.c: fp16, eight at a time, by the processor's own conversions. */
#include <immintrin.h>

#include "comm/codec/codec_kernels.h"
#include "comm/codec/fp16.h"

enum { LANES = 8 };

static void encode_fp16(const float *restrict from, uint16_t *restrict to, int64_t count)
{
    int64_t i = 0;
    for (; i + LANES <= count; i += LANES) {
        _mm_storeu_si128((__m128i *)(void *)(to + i),
                         _mm256_cvtps_ph(_mm256_loadu_ps(from + i), _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC));
    }
    for (; i < count; ++i) {
        to[i] = fp16_from_float(from[i]);
    }
}

static void decode_fp16(const uint16_t *restrict from, float *restrict to, int64_t count)
{
    int64_t i = 0;
    for (; i + LANES <= count; i += LANES) {
        _mm256_storeu_ps(to + i, _mm256_cvtph_ps(_mm_loadu_si128((const __m128i *)(const void *)(from + i))));
    }
    for (; i < count; ++i) {
        to[i] = fp16_to_float(from[i]);
    }
}

static void decode_add_fp16(const uint16_t *restrict from, float *restrict to, int64_t count)
{
    int64_t i = 0;
    for (; i + LANES <= count; i += LANES) {
        __m256 decoded = _mm256_cvtph_ps(_mm_loadu_si128((const __m128i *)(const void *)(from + i)));
        _mm256_storeu_ps(to + i, _mm256_add_ps(_mm256_loadu_ps(to + i), decoded));
    }
    for (; i < count; ++i) {
        to[i] += fp16_to_float(from[i]);
    }
}

const codec_kernels codec_fp16_kernels_avx2 = {encode_fp16, decode_fp16, decode_add_fp16};
