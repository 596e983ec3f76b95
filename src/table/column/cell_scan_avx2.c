/*
 * table/column/cell_scan_avx2.c: the kernel of table/column/cell_scan.h. For each cell its bytes become masks and two
 * numbers of eight digits; what follows is done for CELL_GROUP cells at once.
 */
#include "table/column/cell_scan.h"

#include <immintrin.h>
#include <math.h>
#include <string.h>

/* CELL_GROUP cells on their way through the kernel. Bit k of a mask stands for byte k of the 16 bytes that end where
 * the cell ends. */
typedef struct cell_group {
    _Alignas(32) uint64_t halves[CELL_GROUP]; /* its digits: the first eight in the low 32 bits */
    double scale[CELL_GROUP];                 /* power of ten to divide by */
    uint16_t bytes[CELL_GROUP];               /* length of the cell; CELL_SHORT + 1 stands for all longer ones */
    uint16_t inside[CELL_GROUP];              /* mask of the cell's bytes */
    uint16_t digits[CELL_GROUP], points[CELL_GROUP];
    uint16_t marked[CELL_GROUP]; /* mask of blanks, control characters and quotes */
    uint16_t first[CELL_GROUP];  /* first byte */
} cell_group;

typedef struct cell_vectors {
    __m256i point, quote;
} cell_vectors;

/* 1 where a cell has no point, else 10^(16 - q) where byte q - 1 is the point. */
static const double scale_of[17] = {1,   1e15, 1e14, 1e13, 1e12, 1e11, 1e10, 1e9, 1e8,
                                    1e7, 1e6,  1e5,  1e4,  1e3,  1e2,  1e1,  1e0};

/* From byte n on: a vector of which the last n bytes are set. */
static const uint8_t ramp[32] = {[16] = 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255};

static inline uint32_t bits_of(__m256i bytes)
{
    return (uint32_t)_mm256_movemask_epi8(bytes);
}

static inline __m256i join(__m128i low, __m128i high)
{
    return _mm256_inserti128_si256(_mm256_castsi128_si256(low), high, 1);
}

static inline __m128i load(const void *bytes)
{
    return _mm_loadu_si128(bytes);
}

/* Shifts the bytes before the point by one towards it, in both halves. q: 0 if there is no point, else 1 + its byte. */
static inline __m256i close_points(__m256i digits, uint32_t low_q, uint32_t high_q)
{
    const __m256i lane = _mm256_setr_epi8(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 0, 1, 2, 3, 4, 5, 6, 7,
                                          8, 9, 10, 11, 12, 13, 14, 15);
    const __m256i q = join(_mm_set1_epi8((char)low_q), _mm_set1_epi8((char)high_q));
    const __m256i before = _mm256_sub_epi8(lane, _mm256_set1_epi8(1));
    return _mm256_shuffle_epi8(
        digits, _mm256_sub_epi8(before, _mm256_cmpgt_epi8(lane, _mm256_add_epi8(q, _mm256_set1_epi8(-1)))));
}

/* Sixteen digits in each half, each a byte 0 to 9, to two numbers of eight. */
static inline __m256i add_digits(__m256i digits)
{
    const __m256i two = _mm256_maddubs_epi16(digits, _mm256_set1_epi16(256 + 10));
    const __m256i four = _mm256_madd_epi16(two, _mm256_set1_epi32(65536 + 100));
    return _mm256_madd_epi16(_mm256_packus_epi32(four, four), _mm256_set1_epi32(65536 + 10000));
}

/* Notes the length and the first byte. Returns the number of bytes that are looked at. */
static inline size_t note_length(const char *begin, const char *end, size_t i, cell_group *g)
{
    const size_t bytes = (size_t)(end - begin), held = bytes < CELL_SHORT ? bytes : CELL_SHORT;
    g->bytes[i] = (uint16_t)(bytes <= CELL_SHORT ? bytes : CELL_SHORT + 1);
    g->inside[i] = (uint16_t)(0xffff0000U >> held);
    g->first[i] = (uint8_t)*begin;
    return held;
}

/* Cells 0 and `next` of a list become cells i and i + 1 of the group, one in each half of the vectors. */
static inline void look_at_cells(cell_vectors of, const char *text, const int32_t *before, const int32_t *end,
                                 size_t next, size_t i, cell_group *g)
{
    const char *first = text + before[0] + 1, *second = text + before[next] + 1;
    const char *first_end = text + end[0], *second_end = text + end[next];
    const size_t first_held = note_length(first, first_end, i, g),
                 second_held = note_length(second, second_end, i + 1, g);
    const __m256i cells = join(load(first_end - 16), load(second_end - 16));
    const __m256i mask = join(load(ramp + first_held), load(ramp + second_held));
    const __m256i low = _mm256_sub_epi8(cells, _mm256_set1_epi8('0')), blank = _mm256_set1_epi8(' ');
    const __m256i digit = _mm256_and_si256(mask, _mm256_cmpeq_epi8(_mm256_min_epu8(low, _mm256_set1_epi8(9)), low));
    const __m256i marked =
        _mm256_or_si256(_mm256_cmpeq_epi8(_mm256_min_epu8(cells, blank), cells), _mm256_cmpeq_epi8(cells, of.quote));
    const uint32_t points = bits_of(_mm256_and_si256(mask, _mm256_cmpeq_epi8(cells, of.point)));
    const uint32_t first_q = 31 - (uint32_t)__builtin_clz(2 * (points & 0xffff) + 1);
    const uint32_t second_q = 31 - (uint32_t)__builtin_clz(2 * (points >> 16) + 1);
    const __m256i halves = add_digits(close_points(_mm256_and_si256(low, digit), first_q, second_q));
    const uint32_t digits = bits_of(digit), marks = bits_of(marked);
    _mm_storel_epi64((__m128i *)(void *)&g->halves[i], _mm256_castsi256_si128(halves));
    _mm_storel_epi64((__m128i *)(void *)&g->halves[i + 1], _mm256_extracti128_si256(halves, 1));
    g->scale[i] = scale_of[first_q];
    g->scale[i + 1] = scale_of[second_q];
    memcpy(&g->digits[i], &digits, sizeof digits);
    memcpy(&g->points[i], &points, sizeof points);
    memcpy(&g->marked[i], &marks, sizeof marks);
}

static inline __m256i load16(const uint16_t *of)
{
    return _mm256_load_si256((const __m256i *)(const void *)of);
}

/* The bits of a group. [out] number: 16 bits a cell, set if it is a number. Returns 16 bits a cell, set if it begins
 * with a minus sign. */
static inline __m256i judge_cells(const cell_group *g, __m256i *number, uint8_t *found)
{
    const __m256i none = _mm256_setzero_si256(), one = _mm256_set1_epi16(1);
    const __m256i bytes = load16(g->bytes), inside = load16(g->inside), points = load16(g->points);
    const __m256i digits = load16(g->digits), marked = _mm256_and_si256(load16(g->marked), inside);
    const __m256i empty = _mm256_cmpeq_epi16(bytes, none);
    const __m256i other = _mm256_or_si256(empty, _mm256_cmpgt_epi16(bytes, _mm256_set1_epi16(CELL_SHORT)));
    const __m256i minus = _mm256_cmpeq_epi16(load16(g->first), _mm256_set1_epi16('-'));
    const __m256i lowest = _mm256_and_si256(inside, _mm256_sub_epi16(none, inside)); /* the first byte */
    const __m256i used = _mm256_or_si256(_mm256_or_si256(digits, points), _mm256_and_si256(minus, lowest));
    const __m256i twice = _mm256_and_si256(points, _mm256_sub_epi16(points, one));
    const __m256i no_point = _mm256_cmpeq_epi16(points, none);
    /* No digit; or sixteen, which may be more than a double holds. */
    const __m256i no_number = _mm256_or_si256(_mm256_or_si256(other, _mm256_cmpeq_epi16(digits, none)),
                                              _mm256_cmpeq_epi16(digits, _mm256_set1_epi16(-1)));
    const __m256i good = _mm256_andnot_si256(
        no_number, _mm256_and_si256(_mm256_cmpeq_epi16(used, inside), _mm256_cmpeq_epi16(twice, none)));
    const __m256i bare = _mm256_andnot_si256(other, _mm256_cmpeq_epi16(marked, none));
    const __m256i bits = _mm256_or_si256(
        _mm256_or_si256(_mm256_and_si256(good, _mm256_set1_epi16(CELL_NUMBER)),
                        _mm256_and_si256(_mm256_and_si256(good, no_point), _mm256_set1_epi16(CELL_WHOLE))),
        _mm256_or_si256(_mm256_and_si256(bare, _mm256_set1_epi16(CELL_BARE)),
                        _mm256_and_si256(empty, _mm256_set1_epi16(CELL_EMPTY | CELL_NUMBER | CELL_WHOLE | CELL_BARE))));
    const __m256i packed = _mm256_permute4x64_epi64(_mm256_packus_epi16(bits, bits), 8);
    _mm_storeu_si128((__m128i *)(void *)found, _mm256_castsi256_si128(packed));
    *number = good;
    return minus;
}

/* Four numbers, cells i to i + 3: halves below 10^8, together below 2^52. minus, number: 16 bits a cell. */
static inline __m256d number_of(const cell_group *g, int i, __m128i minus, __m128i number)
{
    const __m256i halves = _mm256_load_si256((const __m256i *)(const void *)&g->halves[i]);
    const __m256i whole =
        _mm256_add_epi64(_mm256_mul_epu32(halves, _mm256_set1_epi64x(100000000)), _mm256_srli_epi64(halves, 32));
    const __m256d shift = _mm256_set1_pd(0x1p52);
    const __m256d real = _mm256_sub_pd(_mm256_or_pd(_mm256_castsi256_pd(whole), shift), shift);
    const __m256i sign = _mm256_slli_epi64(_mm256_cvtepi16_epi64(minus), 63);
    const __m256d value = _mm256_xor_pd(_mm256_div_pd(real, _mm256_load_pd(&g->scale[i])), _mm256_castsi256_pd(sign));
    return _mm256_blendv_pd(_mm256_set1_pd(NAN), value, _mm256_castsi256_pd(_mm256_cvtepi16_epi64(number)));
}

static inline void finish_group(const cell_group *g, double *value, uint8_t *found)
{
    __m256i number;
    const __m256i minus = judge_cells(g, &number, found);
    for (int half = 0; half < 2; half++) {
        const __m128i sign = half == 0 ? _mm256_castsi256_si128(minus) : _mm256_extracti128_si256(minus, 1);
        const __m128i good = half == 0 ? _mm256_castsi256_si128(number) : _mm256_extracti128_si256(number, 1);
        const int first = 8 * half;
        _mm256_storeu_pd(value + first, number_of(g, first, sign, good));
        _mm256_storeu_pd(value + first + 4, number_of(g, first + 4, _mm_srli_si128(sign, 8), _mm_srli_si128(good, 8)));
    }
}

void cell_scan_avx2(const cell_marks *marks, const char *text, const int32_t *before, const int32_t *end, size_t count,
                    double *value, uint8_t *found)
{
    const cell_vectors of = {_mm256_set1_epi8(marks->point), _mm256_set1_epi8(marks->quote)};
    cell_group group = {.scale = {0}};
    for (size_t i = 0; i < count; i += CELL_GROUP) {
        const size_t cells = count - i < CELL_GROUP ? count - i : CELL_GROUP;
        for (size_t k = 0; k < cells; k += 2) {
            const size_t next = k + 1 < cells; /* the last cell of an odd number is looked at twice */
            look_at_cells(of, text, before + i + k, end + i + k, next, k, &group);
        }
        finish_group(&group, value + i, found + i);
    }
}
