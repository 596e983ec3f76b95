/*
 * hal/cpu/kernels_lanes.h: up to LANES cells of a row as floats, for bodies that compute on vectors; included once by
 * each kernels_*.c. Cells of float32 are floats, and stay where they are; those of bfloat16 pass through memory of the
 * caller's, `own`, which the compiler keeps in registers where the number of lanes is LANES.
 *   lanes_in     cells, to read             lanes_out    where floats go that lanes_put then stores in `to`
 *   add_lanes    sums, rounded to cells
 */

BY_FORM const float *lanes_in_f32(int64_t lanes, const float *from, float *own)
{
    (void)lanes;
    (void)own;
    return from;
}

BY_FORM float *lanes_out_f32(float *to, float *own)
{
    (void)own;
    return to;
}

BY_FORM void lanes_put_f32(int64_t lanes, const float *value, float *to)
{
    (void)lanes;
    (void)value;
    (void)to;
}

BY_FORM void add_lanes_f32(int64_t lanes, const float *a, const float *b, float *sum)
{
#pragma omp simd
    for (int64_t k = 0; k < lanes; ++k) {
        sum[k] = a[k] + b[k];
    }
}

BY_FORM const float *lanes_in_bf16(int64_t lanes, const uint16_t *from, float *own)
{
#pragma omp simd
    for (int64_t k = 0; k < lanes; ++k) {
        own[k] = bf16_to_float(from[k]);
    }
    return own;
}

BY_FORM float *lanes_out_bf16(const uint16_t *to, float *own)
{
    (void)to;
    return own;
}

BY_FORM void lanes_put_bf16(int64_t lanes, const float *value, uint16_t *to)
{
#pragma omp simd
    for (int64_t k = 0; k < lanes; ++k) {
        to[k] = bf16_from_float(value[k]);
    }
}

BY_FORM void add_lanes_bf16(int64_t lanes, const float *a, const float *b, float *sum)
{
#pragma omp simd
    for (int64_t k = 0; k < lanes; ++k) {
        sum[k] = bf16_to_float(bf16_from_float(a[k] + b[k]));
    }
}
