/* table/rows/csv_scan_avx512.c: see table/rows/csv_scan_body.h. */
#include "table/rows/csv_scan.h"

#include <immintrin.h>

#define CSV_NAME(name) name##_avx512
#define CSV_PUT        csv_put_sixteen

typedef __m512i csv_vector;

static inline csv_vector csv_load(const char *text)
{
    return _mm512_loadu_si512(text);
}

static inline uint64_t csv_equal(csv_vector part, char byte)
{
    return _mm512_cmpeq_epi8_mask(part, _mm512_set1_epi8(byte));
}

/* Sixteen bits at a time, without a branch on how many are set. */
static inline size_t csv_put_sixteen(uint64_t bits, uint32_t at, uint32_t *place)
{
    const __m512i lane = _mm512_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
    size_t found = 0;
    for (uint32_t part = 0; part < CSV_STEP; part += 16) {
        const __mmask16 mask = (__mmask16)(bits >> part);
        const __m512i places = _mm512_add_epi32(lane, _mm512_set1_epi32((int)(at + part)));
        _mm512_storeu_si512(place + found, _mm512_maskz_compress_epi32(mask, places));
        found += (size_t)__builtin_popcount(mask);
    }
    return found;
}

#include "table/rows/csv_scan_body.h"
