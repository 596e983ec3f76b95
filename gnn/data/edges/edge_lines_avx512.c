/* gnn/data/edges/edge_lines_avx512.c: see gnn/data/edges/edge_lines_body.h; sixteen numbers at once. */
#define VECTOR     16
#define EDGE_LINES edge_lines_avx512
#include "gnn/data/edges/edge_lines_body.h"

static inline uint64_t equal_bytes(__m512i text, char byte)
{
    return _mm512_cmpeq_epi8_mask(text, _mm512_set1_epi8(byte));
}

static int64_t find_ends(const char *text, int64_t bytes, int32_t *place)
{
    const __m512i lanes = _mm512_set_epi32(15, 14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0);
    int64_t found = 0;
    int inside = 0; /* 1: the next end is that of a second number */
    for (int64_t at = 0; at < bytes; at += STEP) {
        const __m512i part = _mm512_loadu_si512(text + at);
        const uint64_t held = bytes - at < STEP ? ((uint64_t)1 << (bytes - at)) - 1 : ~(uint64_t)0;
        const uint64_t separators = equal_bytes(part, ' ') | equal_bytes(part, '\t') | equal_bytes(part, ',');
        const uint64_t lines = equal_bytes(part, '\n');
        uint64_t ends =
            _mm512_cmpgt_epu8_mask(_mm512_sub_epi8(part, _mm512_set1_epi8('0')), _mm512_set1_epi8(9)) & held;
        const uint64_t first = _pdep_u64(UINT64_C(0x5555555555555555) << inside, ends); /* those of first numbers */
        const uint64_t wrong = ends & ~((first & separators) | (~first & lines));
        ends &= wrong == 0 ? ends : (wrong & -wrong) - 1;
        inside ^= (int)_mm_popcnt_u64(ends) & 1;
        for (int quarter = 0; quarter < STEP; quarter += VECTOR) {
            const __mmask16 here = (__mmask16)(ends >> quarter);
            const __m512i places = _mm512_add_epi32(lanes, _mm512_set1_epi32((int32_t)at + quarter));
            _mm512_storeu_si512(place + found, _mm512_maskz_compress_epi32(here, places));
            found += _mm_popcnt_u32(here);
        }
        if (wrong != 0) {
            break;
        }
    }
    return found;
}

/* Eight times eight bytes of text, of which the first digits[] are a number -> each as two numbers of four digits. */
static inline __m512i join_digits(__m512i text, __m256i digits)
{
    const __m512i unused = _mm512_sub_epi64(_mm512_set1_epi64(64), _mm512_slli_epi64(_mm512_cvtepi32_epi64(digits), 3));
    text = _mm512_sllv_epi64(_mm512_sub_epi8(text, _mm512_set1_epi8('0')), unused);
    text = _mm512_maddubs_epi16(text, _mm512_set1_epi16(1 << 8 | 10));
    return _mm512_madd_epi16(text, _mm512_set1_epi32(1 << 16 | 100));
}

static bool read_vector(const edge_ids *ids, const char *text, const int32_t *place, int32_t *out)
{
    const __m512i one = _mm512_set1_epi32(1);
    const __m512i begins = _mm512_add_epi32(_mm512_loadu_si512(place - 1), one);
    const __m512i digits = _mm512_sub_epi32(_mm512_loadu_si512(place), begins);
    /* Every second pair, and the others: packing 128 bits at a time puts them into order. */
    const __m512i pairs = _mm512_permutexvar_epi64(_mm512_set_epi64(7, 5, 3, 1, 6, 4, 2, 0), digits);
    const char *after = text + 1;
    __m512i even =
        _mm512_set_epi64(eight_bytes(after + place[12]), eight_bytes(after + place[11]), eight_bytes(after + place[8]),
                         eight_bytes(after + place[7]), eight_bytes(after + place[4]), eight_bytes(after + place[3]),
                         eight_bytes(after + place[0]), eight_bytes(after + place[-1]));
    __m512i odd =
        _mm512_set_epi64(eight_bytes(after + place[14]), eight_bytes(after + place[13]), eight_bytes(after + place[10]),
                         eight_bytes(after + place[9]), eight_bytes(after + place[6]), eight_bytes(after + place[5]),
                         eight_bytes(after + place[2]), eight_bytes(after + place[1]));
    even = join_digits(even, _mm512_castsi512_si256(pairs));
    odd = join_digits(odd, _mm512_extracti64x4_epi64(pairs, 1));
    const __m512i joined = _mm512_madd_epi16(_mm512_packus_epi32(even, odd), _mm512_set1_epi32(1 << 16 | 10000));
    const __m512i number = _mm512_sub_epi32(joined, _mm512_set1_epi32((int32_t)ids->first));
    /* Unsigned, so that what is too small is too large. */
    const __mmask16 bad = _mm512_cmpgt_epu32_mask(_mm512_sub_epi32(digits, one), _mm512_set1_epi32(EIGHT - 1)) |
                          _mm512_cmpgt_epu32_mask(number, _mm512_set1_epi32((int32_t)(ids->last - ids->first)));
    _mm512_storeu_si512(out, number);
    return bad == 0;
}
