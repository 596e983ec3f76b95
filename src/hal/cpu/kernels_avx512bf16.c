/*
 * hal/cpu/kernels_avx512bf16.c: batch norm of bfloat16 where the processor rounds to it (AVX512_BF16: Cooper Lake, Zen
 * 4 and later); see kernels.h. A third of its time is rounding by integer arithmetic elsewhere.
 *
 * The bits are those of base/half.h. The instruction takes denormals for zeros, which is seen to: there are none in
 * practice.
 */
#include <immintrin.h>
#include <math.h>

#include "base/half.h"
#include "hal/cpu/kernels.h"
#include "hal/cpu/kernels_cells.h"

#define LANES 16
#include "hal/cpu/kernels_lanes.h"

/* Cells of bfloat16, LANES of which are brought in and out by instructions; what is left of a row by the plain
 * functions. */
#include "hal/cpu/kernels_cells_bf16.h"
#undef CELL
#define CELL(name) name##_native

enum { DENORMALS = 0x20 }; /* of vfpclassps */

BY_FORM __m256i bf16_of_lanes(__m512 x)
{
    if (__builtin_expect(_mm512_fpclass_ps_mask(x, DENORMALS) != 0, 0)) {
        const __m512i bits = _mm512_castps_si512(x);
        const __m512i odd = _mm512_and_si512(_mm512_srli_epi32(bits, 16), _mm512_set1_epi32(1));
        const __m512i up = _mm512_add_epi32(bits, _mm512_add_epi32(odd, _mm512_set1_epi32(0x7fff)));
        const __m512i quiet = _mm512_or_si512(bits, _mm512_set1_epi32(0x400000));
        const __mmask16 nan = _mm512_cmp_ps_mask(x, x, _CMP_UNORD_Q);
        return _mm512_cvtepi32_epi16(_mm512_srli_epi32(_mm512_mask_mov_epi32(up, nan, quiet), 16));
    }
    return (__m256i)_mm512_cvtneps_pbh(x);
}

BY_FORM __m512 lanes_of_bf16(__m256i cells)
{
    return _mm512_castsi512_ps(_mm512_slli_epi32(_mm512_cvtepu16_epi32(cells), 16));
}

BY_FORM const float *lanes_in_native(int64_t lanes, const uint16_t *from, float *own)
{
    if (lanes == LANES) {
        _mm512_storeu_ps(own, lanes_of_bf16(_mm256_loadu_si256((const __m256i *)from)));
        return own;
    }
    return lanes_in_bf16(lanes, from, own);
}

BY_FORM float *lanes_out_native(const uint16_t *to, float *own)
{
    return lanes_out_bf16(to, own);
}

BY_FORM void lanes_put_native(int64_t lanes, const float *value, uint16_t *to)
{
    if (lanes == LANES) {
        _mm256_storeu_si256((__m256i *)to, bf16_of_lanes(_mm512_loadu_ps(value)));
        return;
    }
    lanes_put_bf16(lanes, value, to);
}

BY_FORM void add_lanes_native(int64_t lanes, const float *a, const float *b, float *sum)
{
    if (lanes == LANES) {
        const __m512 whole = _mm512_add_ps(_mm512_loadu_ps(a), _mm512_loadu_ps(b));
        _mm512_storeu_ps(sum, lanes_of_bf16(bf16_of_lanes(whole)));
        return;
    }
    add_lanes_bf16(lanes, a, b, sum);
}

#include "hal/cpu/kernels_norm_body.h"

const cpu_norm_kernels cpu_norm_avx512bf16 = NORM_OF(native);
