/*
 * comm/codec/codec_kernels.h: the conversions of one instruction set, serial. The plain ones (bf16.c, fp16.c) define them;
 * the others give the same bits.
 */
#ifndef WEFT_COMM_CODEC_CODEC_KERNELS_H
#define WEFT_COMM_CODEC_CODEC_KERNELS_H

#include <stdint.h>

typedef struct codec_kernels {
    void (*encode)(const float *restrict from, uint16_t *restrict to, int64_t count);
    void (*decode)(const uint16_t *restrict from, float *restrict to, int64_t count);
    void (*decode_add)(const uint16_t *restrict from, float *restrict to, int64_t count);
} codec_kernels;

/* By hal_isa. */
extern const codec_kernels codec_bf16_kernels, codec_bf16_kernels_avx2, codec_bf16_kernels_avx512;
extern const codec_kernels codec_fp16_kernels, codec_fp16_kernels_avx2, codec_fp16_kernels_avx512;

#endif
