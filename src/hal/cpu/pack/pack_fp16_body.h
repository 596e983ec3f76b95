/*
 * hal/cpu/pack/pack_fp16_body.h: fp16 by the processor's own conversions, included once an instruction set with
 *   FP16_LANES            numbers at a time; 0: there are no such conversions
 *   FP16_STORE(to, x)     a vector of floats to fp16
 *   FP16_LOAD(from)       a vector of fp16 as floats
 * and what pack_sum_body.h takes. No include guard.
 */
static void encode_fp16(const float *restrict from, uint16_t *restrict to, int64_t count)
{
    int64_t i = 0;
#if FP16_LANES > 0
    for (; i + FP16_LANES <= count; i += FP16_LANES) {
        FP16_STORE(to + i, VECTOR_LOAD(from + i));
    }
#endif
    for (; i < count; ++i) {
        to[i] = fp16_from_float(from[i]);
    }
}

static void decode_fp16(const uint16_t *restrict from, float *restrict to, int64_t count)
{
    int64_t i = 0;
#if FP16_LANES > 0
    for (; i + FP16_LANES <= count; i += FP16_LANES) {
        VECTOR_STORE(to + i, FP16_LOAD(from + i));
    }
#endif
    for (; i < count; ++i) {
        to[i] = fp16_to_float(from[i]);
    }
}

static void decode_add_fp16(const uint16_t *restrict from, float *restrict to, int64_t count)
{
    int64_t i = 0;
#if FP16_LANES > 0
    for (; i + FP16_LANES <= count; i += FP16_LANES) {
        VECTOR_STORE(to + i, VECTOR_ADD(VECTOR_LOAD(to + i), FP16_LOAD(from + i)));
    }
#endif
    for (; i < count; ++i) {
        to[i] += fp16_to_float(from[i]);
    }
}
