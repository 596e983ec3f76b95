/*
 * trees/grow/divide_rows_avx512.c: divide_rows.h, 16 rows at a time.
 *
 * Which bins go left are 256 bits in one register. Whole vectors are stored and overlap: what is behind the rows that
 * belong there is overwritten by the next ones, and never reaches a row that is not read yet. Bins of rows to come are
 * fetched ahead: those of a small node lie a line of the cache each.
 */
#include <immintrin.h>

#include "trees/grow/divide_rows.h"

enum { LANES = 16, AHEAD = 128 /* rows */ };

static __m512i bits_of(const uint8_t *goes_left)
{
    __mmask64 word[DIVIDE_BINS / 64];
    for (int i = 0; i < DIVIDE_BINS / 64; ++i) {
        const __m512i bytes = _mm512_loadu_si512(goes_left + 64 * i);
        word[i] = _mm512_test_epi8_mask(bytes, bytes);
    }
    return _mm512_castsi256_si512(_mm256_loadu_si256((const __m256i *)word));
}

int64_t divide_rows_avx512(const int32_t *row, int64_t count, const uint8_t *bin, const uint8_t *goes_left,
                           int32_t *left, int32_t *right)
{
    const __m512i bits = bits_of(goes_left), low = _mm512_set1_epi32(31), byte = _mm512_set1_epi32(UINT8_MAX);
    const __m512i one = _mm512_set1_epi32(1);
    int64_t l = 0, r = 0, i = 0;
    for (; i + LANES <= count; i += LANES) {
        const int32_t *next = row + (i + AHEAD + LANES <= count ? i + AHEAD : 0);
        for (int lane = 0; lane < LANES; ++lane) {
            _mm_prefetch(bin + next[lane], _MM_HINT_T0);
        }
        const __m512i own = _mm512_loadu_si512(row + i);
        const __m512i at = _mm512_and_si512(_mm512_i32gather_epi32(own, bin, 1), byte);
        const __m512i word = _mm512_permutexvar_epi32(_mm512_srli_epi32(at, 5), bits);
        const __mmask16 goes = _mm512_test_epi32_mask(_mm512_srlv_epi32(word, _mm512_and_si512(at, low)), one);
        const int64_t lefts = __builtin_popcount(goes);
        _mm512_storeu_si512(right + r, _mm512_maskz_compress_epi32((__mmask16)~goes, own));
        _mm512_storeu_si512(left + l, _mm512_maskz_compress_epi32(goes, own));
        l += lefts;
        r += LANES - lefts;
    }
    return l + divide_rows_base(row + i, count - i, bin, goes_left, left + l, right + r);
}
