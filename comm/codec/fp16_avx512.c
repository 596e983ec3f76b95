/* comm/codec/fp16_avx512.c: fp16, sixteen at a time, by the processor's own conversions. */
#include <immintrin.h>

#include "comm/codec/codec_kernels.h"
#include "comm/codec/fp16.h"

/* The conversion without a mask is a macro that warns of its own mask in unoptimised builds. */
enum { LANES = 16, ALL = 0xffff };

static void encode_fp16(const float *restrict from, uint16_t *restrict to, int64_t count)
{
    int64_t i = 0;
    for (; i + LANES <= count; i += LANES) {
        _mm256_storeu_si256(
            (__m256i *)(void *)(to + i),
            _mm512_maskz_cvtps_ph(ALL, _mm512_loadu_ps(from + i), _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC));
    }
    for (; i < count; ++i) {
        to[i] = fp16_from_float(from[i]);
    }
}

static void decode_fp16(const uint16_t *restrict from, float *restrict to, int64_t count)
{
    int64_t i = 0;
    for (; i + LANES <= count; i += LANES) {
        _mm512_storeu_ps(to + i, _mm512_cvtph_ps(_mm256_loadu_si256((const __m256i *)(const void *)(from + i))));
    }
    for (; i < count; ++i) {
        to[i] = fp16_to_float(from[i]);
    }
}

static void decode_add_fp16(const uint16_t *restrict from, float *restrict to, int64_t count)
{
    int64_t i = 0;
    for (; i + LANES <= count; i += LANES) {
        __m512 decoded = _mm512_cvtph_ps(_mm256_loadu_si256((const __m256i *)(const void *)(from + i)));
        _mm512_storeu_ps(to + i, _mm512_add_ps(_mm512_loadu_ps(to + i), decoded));
    }
    for (; i < count; ++i) {
        to[i] += fp16_to_float(from[i]);
    }
}

const codec_kernels codec_fp16_kernels_avx512 = {encode_fp16, decode_fp16, decode_add_fp16};
