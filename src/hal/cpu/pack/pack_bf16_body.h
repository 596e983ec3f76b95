/*
 * hal/cpu/pack/pack_bf16_body.h: loops over base/half.h that compilers turn into vectors; included once an instruction
 * set. (The processors' own conversion to bfloat16, where there is one, flushes denormals to zero.) No include guard.
 */
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
