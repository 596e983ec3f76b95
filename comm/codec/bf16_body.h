/* comm/codec/bf16_body.h: loops over bf16.h, compiled once for each instruction set. BF16_KERNELS: the table's name. */
#include "comm/codec/bf16.h"
#include "comm/codec/codec_kernels.h"

static void encode_bf16(const float *restrict from, uint16_t *restrict to, int64_t count)
{
#pragma omp simd
    for (int64_t i = 0; i < count; ++i) {
        to[i] = bf16_from_float(from[i]);
    }
}

static void decode_bf16(const uint16_t *restrict from, float *restrict to, int64_t count)
{
#pragma omp simd
    for (int64_t i = 0; i < count; ++i) {
        to[i] = bf16_to_float(from[i]);
    }
}

static void decode_add_bf16(const uint16_t *restrict from, float *restrict to, int64_t count)
{
#pragma omp simd
    for (int64_t i = 0; i < count; ++i) {
        to[i] += bf16_to_float(from[i]);
    }
}

const codec_kernels BF16_KERNELS = {encode_bf16, decode_bf16, decode_add_bf16};
