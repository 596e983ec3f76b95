/*
 * gnn/data/edge_lines_avx2.c: see gnn/data/edge_lines.h.
 *
 * A span of text is looked at twice. First for where its numbers end, 64 bytes at a time: what is no digit must be a
 * separator and the end of a line in turn. Then eight numbers at a time: the bytes that follow each beginning are
 * shifted so that its digits are the low end of a number of eight digits, and neighbours are put together three times.
 * (The two steps as in Langdale and Lemire, Parsing Gigabytes of JSON per Second, VLDB Journal 2019.)
 */
#include <immintrin.h>
#include <stdbool.h>
#include <string.h>

#include "gnn/data/edge_lines.h"
#include "gnn/data/text_source.h"

/* SPAN: bytes looked at before their numbers are computed, both in the first-level cache. A line has four bytes or
 * more. USUAL: of 64 bytes, numbers that end there; more are possible. */
enum { SPAN = 4096, STEP = 64, USUAL = 12, EIGHT = 8, DIGITS_MOST = 18, BASE_LINES = 64 };
_Static_assert((int)STEP <= (int)TEXT_PAD, "what is read past the end may be read");
_Static_assert(SPAN / 4 + BASE_LINES <= (int)EDGE_LINES_ROOM, "the pairs of a span find room");

/* ---- where numbers end ------------------------------------------------------------------------------------------- */

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

/* Bit i: whether an odd number of bits 0 .. i are set. */
static inline uint64_t odd_so_far(uint64_t bits)
{
    for (int by = 1; by < 64; by *= 2) {
        bits ^= bits << by;
    }
    return bits;
}

/* place[] = where the numbers of common lines in text[0 .. bytes) end, and so their lines; up to the first byte that
 * does not belong into one. Writes up to USUAL places too many. */
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

/* ---- numbers ----------------------------------------------------------------------------------------------------- */

static inline int64_t eight_bytes(const char *text)
{
    int64_t bytes;
    memcpy(&bytes, text, sizeof bytes);
    return bytes;
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

/* Eight numbers of more or fewer digits, or out of range: one by one. False: one is not good. */
static bool read_closely(const edge_ids *ids, const char *text, const int32_t *place, int32_t *out)
{
    for (int i = 0; i < EIGHT; ++i) {
        int64_t number = 0;
        const int32_t begin = place[i - 1] + 1;
        if (place[i] - begin < 1 || place[i] - begin > DIGITS_MOST) {
            return false;
        }
        for (int32_t at = begin; at < place[i]; ++at) {
            number = 10 * number + (text[at] - '0');
        }
        if (number < ids->first || number > ids->last) {
            return false;
        }
        out[i] = (int32_t)(number - ids->first);
    }
    return true;
}

/* The eight numbers that end at place[0 .. 7]; place[-1] is where the one before them ends. */
static inline bool read_eight(const edge_ids *ids, const char *text, const int32_t *place, int32_t *out)
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
    if (__builtin_expect(!_mm256_testz_si256(bad, bad), 0)) {
        return read_closely(ids, text, place, out);
    }
    _mm256_storeu_si256((__m256i *)out, _mm256_sub_epi32(number, first));
    return true;
}

/* Common lines of one place, four at a time, while a span's pairs find room. */
static int64_t read_lines(const edge_ids *ids, const char **text, const char *end, int32_t *pairs, int64_t room)
{
    int32_t held[EIGHT + SPAN + STEP];
    int32_t *const place = held + EIGHT;
    int64_t count = 0;
    place[-1] = -1;
    for (bool more = true; more && room - count >= SPAN / 4;) {
        const char *from = *text;
        const int64_t found = find_ends(from, end - from < SPAN ? end - from : SPAN, place);
        int64_t done = 0;
        while (done + EIGHT <= found && read_eight(ids, from, place + done, pairs + 2 * count + done)) {
            done += EIGHT;
        }
        *text = from + place[done - 1] + 1;
        count += done / 2;
        more = done > 0;
    }
    return count;
}

int64_t edge_lines_avx2(const edge_ids *ids, const char *text[2], const char *const end[2], int32_t *pairs,
                        int64_t room)
{
    int64_t count = 0;
    for (int i = 0; i < 2; ++i) {
        count += read_lines(ids, &text[i], end[i], pairs + 2 * count, room - BASE_LINES - count);
    }
    /* What is left here is another kind of line, or fewer than four. */
    return count + edge_lines_base(ids, text, end, pairs + 2 * count, BASE_LINES);
}
