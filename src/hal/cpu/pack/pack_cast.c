/*
 * hal/cpu/pack/pack_cast.c: the tables of kernels, and conversions of long vectors on several threads. Memory-bound:
 * 6 bytes an element, 10 with the addition.
 */
#include <assert.h>

#include "hal/cpu/pack/pack_internal.h"

enum { BLOCK = 1 << 15, PARALLEL_BLOCKS = 8 };

const hal_pack *hal_pack_of(hal_isa isa)
{
    static const hal_pack *const tables[HAL_ISAS] = {&pack_base, &pack_avx2, &pack_avx512};
    assert(isa <= hal_isa_best());
    return tables[isa];
}

const hal_pack *hal_pack_best(void)
{
    return hal_pack_of(hal_isa_best());
}

const hal_pack_cast *pack_cast_of(const hal_pack *pack, weft_dtype dtype)
{
    assert(dtype == WEFT_DTYPE_BF16 || dtype == WEFT_DTYPE_F16);
    return dtype == WEFT_DTYPE_BF16 ? &pack->bf16 : &pack->fp16;
}

static int64_t block_length(int64_t count, int64_t block)
{
    int64_t rest = count - block * BLOCK;
    return rest < BLOCK ? rest : BLOCK;
}

void hal_pack_encode(weft_dtype dtype, const float *from, void *to, int64_t count)
{
    const hal_pack_cast *cast = pack_cast_of(hal_pack_best(), dtype);
    uint16_t *out = to;
    int64_t blocks = (count + BLOCK - 1) / BLOCK;
#pragma omp parallel for schedule(static) if (blocks >= PARALLEL_BLOCKS)
    for (int64_t b = 0; b < blocks; ++b) {
        cast->encode(from + b * BLOCK, out + b * BLOCK, block_length(count, b));
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

void hal_pack_decode(weft_dtype dtype, const void *from, float *to, int64_t count)
{
    decode_by(pack_cast_of(hal_pack_best(), dtype)->decode, from, to, count);
}

void hal_pack_decode_add(weft_dtype dtype, const void *from, float *to, int64_t count)
{
    decode_by(pack_cast_of(hal_pack_best(), dtype)->decode_add, from, to, count);
}
