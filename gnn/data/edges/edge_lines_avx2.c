/* gnn/data/edges/edge_lines_avx2.c: see gnn/data/edges/edge_lines_body.h; eight numbers at once. */
#define VECTOR     8
#define EDGE_LINES edge_lines_avx2
#include "gnn/data/edges/edge_lines_body.h"

enum { USUAL = 12 }; /* numbers that end within 64 bytes; more are possible */

static inline uint64_t bits_of(__m256i low, __m256i high)
{
    return (uint64_t)(uint32_t)_mm256_movemask_epi8(high) << 32 | (uint32_t)_mm256_movemask_epi8(low);
}

static inline uint64_t equal_bytes(__m256i low, __m256i high, char byte)
{
    const __m256i wanted = _mm256_set1_epi8(byte);
    return bits_of(_mm256_cmpeq_epi8(low, wanted), _mm256_cmpeq_epi8(high, wanted));
}

static inline uint64_t no_digits(__m256i low, __m256i high)
{
    const __m256i shift = _mm256_set1_epi8((char)(0x80 - '0')); /* digits become the ten least bytes there are */
    const __m256i nine = _mm256_set1_epi8(-128 + 9);
    return bits_of(_mm256_cmpgt_epi8(_mm256_add_epi8(low, shift), nine),
                   _mm256_cmpgt_epi8(_mm256_add_epi8(high, shift), nine));
}

/* Bit i: whether an odd number of bits 0 .. i are set. (Depositing alternate bits would be one instruction, but a slow
 * one on the first two generations of Zen.) */
static inline uint64_t odd_so_far(uint64_t bits)
{
    for (int by = 1; by < 64; by *= 2) {
        bits ^= bits << by;
    }
    return bits;
}

static int64_t find_ends(const char *text, int64_t bytes, int32_t *place)
{
    int64_t found = 0;
    uint64_t inside = 0; /* all ones: the next end is that of a second number */
    for (int64_t at = 0; at < bytes; at += STEP) {
        const __m256i low = _mm256_loadu_si256((const __m256i *)(text + at));
        const __m256i high = _mm256_loadu_si256((const __m256i *)(text + at + STEP / 2));
        const uint64_t held = bytes - at < STEP ? ((uint64_t)1 << (bytes - at)) - 1 : ~(uint64_t)0;
        const uint64_t separators =
            equal_bytes(low, high, ' ') | equal_bytes(low, high, '\t') | equal_bytes(low, high, ',');
        const uint64_t lines = equal_bytes(low, high, '\n');
        uint64_t ends = no_digits(low, high) & held;
        const uint64_t first = odd_so_far(ends) ^ inside; /* at an end: it is that of a first number */
        const uint64_t wrong = ends & ~((first & separators) | (~first & lines));
        ends &= wrong == 0 ? ends : (wrong & -wrong) - 1;
        inside = (uint64_t)((int64_t)first >> 63);
        const int count = (int)_mm_popcnt_u64(ends);
        int32_t *out = place + found;
        for (int i = 0; i < USUAL; ++i, ends = _blsr_u64(ends)) {
            out[i] = (int32_t)at + (int32_t)_tzcnt_u64(ends);
        }
        for (int i = USUAL; i < count; ++i, ends = _blsr_u64(ends)) {
            out[i] = (int32_t)at + (int32_t)_tzcnt_u64(ends);
        }
        found += count;
        if (wrong != 0) {
            break;
        }
    }
    return found;
}

/* Four times eight bytes of text, of which the first digits[] are a number -> each as two numbers of four digits. */
static inline __m256i join_digits(__m256i text, __m128i digits)
{
    const __m256i unused =
        _mm256_sub_epi64(_mm256_set1_epi64x(64), _mm256_slli_epi64(_mm256_cvtepi32_epi64(digits), 3));
    text = _mm256_sllv_epi64(_mm256_sub_epi8(text, _mm256_set1_epi8('0')), unused);
    text = _mm256_maddubs_epi16(text, _mm256_set1_epi16(1 << 8 | 10));
    return _mm256_madd_epi16(text, _mm256_set1_epi32(1 << 16 | 100));
}

static bool read_vector(const edge_ids *ids, const char *text, const int32_t *place, int32_t *out)
{
    const __m256i one = _mm256_set1_epi32(1);
    const __m256i begins = _mm256_add_epi32(_mm256_loadu_si256((const __m256i *)(place - 1)), one);
    const __m256i digits = _mm256_sub_epi32(_mm256_loadu_si256((const __m256i *)place), begins);
    /* The first and third pair, the second and fourth: packing 128 bits at a time puts them into order. */
    const __m256i pairs = _mm256_permute4x64_epi64(digits, 0 | 2 << 2 | 1 << 4 | 3 << 6);
    const char *after = text + 1;
    __m256i even = _mm256_set_epi64x(eight_bytes(after + place[4]), eight_bytes(after + place[3]),
                                     eight_bytes(after + place[0]), eight_bytes(after + place[-1]));
    __m256i odd = _mm256_set_epi64x(eight_bytes(after + place[6]), eight_bytes(after + place[5]),
                                    eight_bytes(after + place[2]), eight_bytes(after + place[1]));
    even = join_digits(even, _mm256_castsi256_si128(pairs));
    odd = join_digits(odd, _mm256_extracti128_si256(pairs, 1));
    const __m256i number = _mm256_madd_epi16(_mm256_packus_epi32(even, odd), _mm256_set1_epi32(1 << 16 | 10000));
    const __m256i last = _mm256_set1_epi32((int32_t)ids->last);
    const __m256i first = _mm256_set1_epi32((int32_t)ids->first);
    const __m256i bad = _mm256_or_si256(
        _mm256_or_si256(_mm256_cmpgt_epi32(one, digits), _mm256_cmpgt_epi32(digits, _mm256_set1_epi32(EIGHT))),
        _mm256_or_si256(_mm256_cmpgt_epi32(number, last), _mm256_cmpgt_epi32(first, number)));
    _mm256_storeu_si256((__m256i *)out, _mm256_sub_epi32(number, first));
    return _mm256_testz_si256(bad, bad);
}
