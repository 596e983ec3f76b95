/*
 * comm/codec/codec.c: picks the conversion for the wire's type and this processor, and divides long vectors among
 * threads. Memory-bound: 6 bytes an element, 10 with the addition.
 */
#include "comm/codec/codec.h"

#include <assert.h>
#include <stddef.h>

#include "base/isa.h"
#include "comm/codec/codec_kernels.h"

enum { BLOCK = 1 << 15, PARALLEL_BLOCKS = 8 };

int64_t codec_bytes(comm_wire wire)
{
    return wire == COMM_WIRE_SAME ? (int64_t)sizeof(float) : (int64_t)sizeof(uint16_t);
}

const char *codec_name(comm_wire wire)
{
    switch (wire) {
    case COMM_WIRE_SAME:
        return "float32";
    case COMM_WIRE_BF16:
        return "bf16";
    case COMM_WIRE_FP16:
        return "fp16";
    }
    return "unknown";
}

static const codec_kernels *kernels_of(comm_wire wire)
{
    static const codec_kernels *const bf16[HAL_ISAS] = {&codec_bf16_kernels, &codec_bf16_kernels_avx2,
                                                        &codec_bf16_kernels_avx512};
    static const codec_kernels *const fp16[HAL_ISAS] = {&codec_fp16_kernels, &codec_fp16_kernels_avx2,
                                                        &codec_fp16_kernels_avx512};
    assert(wire != COMM_WIRE_SAME);
    return (wire == COMM_WIRE_BF16 ? bf16 : fp16)[hal_isa_best()];
}

static int64_t block_length(int64_t count, int64_t block)
{
    int64_t rest = count - block * BLOCK;
    return rest < BLOCK ? rest : BLOCK;
}

void codec_encode(comm_wire wire, const float *from, void *to, int64_t count)
{
    const codec_kernels *kernels = kernels_of(wire);
    uint16_t *out = to;
    int64_t blocks = (count + BLOCK - 1) / BLOCK;
#pragma omp parallel for schedule(static) if (blocks >= PARALLEL_BLOCKS)
    for (int64_t b = 0; b < blocks; ++b) {
        kernels->encode(from + b * BLOCK, out + b * BLOCK, block_length(count, b));
    }
}

static void decode_by(void (*decode)(const uint16_t *restrict, float *restrict, int64_t), const uint16_t *from,
                      float *to, int64_t count)
{
    int64_t blocks = (count + BLOCK - 1) / BLOCK;
#pragma omp parallel for schedule(static) if (blocks >= PARALLEL_BLOCKS)
    for (int64_t b = 0; b < blocks; ++b) {
        decode(from + b * BLOCK, to + b * BLOCK, block_length(count, b));
    }
}

void codec_decode(comm_wire wire, const void *from, float *to, int64_t count)
{
    decode_by(kernels_of(wire)->decode, from, to, count);
}

void codec_decode_add(comm_wire wire, const void *from, float *to, int64_t count)
{
    decode_by(kernels_of(wire)->decode_add, from, to, count);
}
