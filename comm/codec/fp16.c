/* comm/codec/fp16.c: fp16 on any processor. */
#include "comm/codec/fp16.h"

#include "comm/codec/codec_kernels.h"

static void encode_fp16(const float *restrict from, uint16_t *restrict to, int64_t count)
{
    for (int64_t i = 0; i < count; ++i) {
        to[i] = fp16_from_float(from[i]);
    }
}

static void decode_fp16(const uint16_t *restrict from, float *restrict to, int64_t count)
{
    for (int64_t i = 0; i < count; ++i) {
        to[i] = fp16_to_float(from[i]);
    }
}

static void decode_add_fp16(const uint16_t *restrict from, float *restrict to, int64_t count)
{
    for (int64_t i = 0; i < count; ++i) {
        to[i] += fp16_to_float(from[i]);
    }
}

const codec_kernels codec_fp16_kernels = {encode_fp16, decode_fp16, decode_add_fp16};
