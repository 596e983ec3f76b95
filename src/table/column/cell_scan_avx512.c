/*
 * table/column/cell_scan_avx512.c: the kernel of table/column/cell_scan.h for processors with AVX-512.
 *
 * A vector holds four cells, each in the 16 bytes that end where the cell ends; bytes before the cell become 0. A
 * comparison gives 16 bits a cell, so that sixteen cells are judged at once, and no digit passes through a general
 * register:
 *
 *   cell       0 0 0 - 1 2 . 5
 *   closed     0 0 0 0 - 1 2 5      each byte up to the point is the byte before it
 *   digits     0 0 0 0 0 1 2 5      a byte below '0' becomes 0
 *
 * Each step is done for many cells before the next, because a vector cannot be loaded soon after its parts are stored.
 */
#include "table/column/cell_scan.h"

#include <immintrin.h>
#include <math.h>
#include <string.h>

enum { LANES = 4, BATCH = 64 /* cells that go through a step together */ };

/* Masks have bit k for byte k of the 16 bytes that end where the cell ends. */
typedef struct cell_batch {
    _Alignas(64) uint8_t cells[BATCH][CELL_SHORT];
    uint16_t inside[BATCH]; /* bytes of the cell */
    uint16_t digits[BATCH], points[BATCH], dashes[BATCH];
    uint16_t marked[BATCH]; /* blanks, control characters, quotes */
    uint16_t closed[BATCH]; /* bytes up to the point; 0 if there is none */
    uint32_t scale[BATCH];  /* the last four bits select the power of ten to divide by */
    uint16_t empty[BATCH / CELL_GROUP], longer[BATCH / CELL_GROUP]; /* a bit for each cell */
    uint16_t minus[BATCH / CELL_GROUP], number[BATCH / CELL_GROUP];
} cell_batch;

/* Sixteen cells: their lengths. */
static inline void measure_cells(const int32_t *before, const int32_t *end, size_t i, cell_batch *b)
{
    const __m512i most = _mm512_set1_epi32(CELL_SHORT), all = _mm512_set1_epi32(0xffff);
    const __m512i behind = _mm512_sub_epi32(_mm512_loadu_si512(end + i), _mm512_loadu_si512(before + i));
    const __m512i bytes = _mm512_sub_epi32(behind, _mm512_set1_epi32(1));
    const __m512i left = _mm512_sub_epi32(most, _mm512_min_epu32(bytes, most));
    b->empty[i / CELL_GROUP] = _mm512_testn_epi32_mask(bytes, bytes);
    b->longer[i / CELL_GROUP] = _mm512_cmpgt_epu32_mask(bytes, most);
    _mm256_storeu_si256((__m256i *)(void *)&b->inside[i], _mm512_cvtepi32_epi16(_mm512_sllv_epi32(all, left)));
}

static inline __m128i load(const char *text, int32_t end)
{
    return _mm_loadu_si128((const __m128i *)(const void *)(text + end - CELL_SHORT));
}

static inline __m512i load_four(const char *text, const int32_t *end)
{
    const __m256i low = _mm256_inserti128_si256(_mm256_castsi128_si256(load(text, end[0])), load(text, end[1]), 1);
    const __m256i high = _mm256_inserti128_si256(_mm256_castsi128_si256(load(text, end[2])), load(text, end[3]), 1);
    return _mm512_inserti64x4(_mm512_castsi256_si512(low), high, 1);
}

static inline void look_at_cells(const cell_marks *marks, const char *text, const int32_t *end, size_t i, cell_batch *b)
{
    __mmask64 inside;
    memcpy(&inside, &b->inside[i], sizeof inside);
    const __m512i cells = _mm512_maskz_mov_epi8(inside, load_four(text, end + i));
    const __m512i low = _mm512_sub_epi8(cells, _mm512_set1_epi8('0'));
    const __mmask64 digits = _mm512_cmple_epu8_mask(low, _mm512_set1_epi8(9));
    const __mmask64 points = _mm512_cmpeq_epi8_mask(cells, _mm512_set1_epi8(marks->point));
    const __mmask64 dashes = _mm512_cmpeq_epi8_mask(cells, _mm512_set1_epi8('-'));
    const __mmask64 marked = _mm512_mask_cmple_epu8_mask(inside, cells, _mm512_set1_epi8(' ')) |
                             _mm512_mask_cmpeq_epi8_mask(inside, cells, _mm512_set1_epi8(marks->quote));
    memcpy(&b->digits[i], &digits, sizeof digits);
    memcpy(&b->points[i], &points, sizeof points);
    memcpy(&b->dashes[i], &dashes, sizeof dashes);
    memcpy(&b->marked[i], &marked, sizeof marked);
    _mm512_store_si512(b->cells[i], cells);
}

static inline __m128i bit_of(__mmask16 cells, int bit)
{
    return _mm_maskz_set1_epi8(cells, (char)bit);
}

static inline __m256i load16(const uint16_t *of)
{
    return _mm256_loadu_si256((const __m256i *)(const void *)of);
}

/* The place of the lowest bit of sixteen masks, plus EXPONENT, which is the exponent of the bit as a float32; that of
 * the last byte where a mask is 0: a cell without a point is divided by 1, as if its last byte were one. */
enum { EXPONENT = 127 };
static inline __m512i lowest_bits(__m256i masks, __mmask16 set)
{
    const __m512i wide = _mm512_cvtepu16_epi32(masks);
    const __m512i lowest = _mm512_and_si512(wide, _mm512_sub_epi32(_mm512_setzero_si512(), wide));
    return _mm512_mask_srli_epi32(_mm512_set1_epi32(EXPONENT + CELL_SHORT - 1), set,
                                  _mm512_castps_si512(_mm512_cvtepi32_ps(lowest)), 23);
}

/* The bits of cells i to i + CELL_GROUP - 1, and how their numbers are to be made. */
static inline void judge_cells(cell_batch *b, size_t i, uint8_t *found)
{
    const __m256i none = _mm256_setzero_si256(), all = _mm256_set1_epi16(-1);
    const __m256i inside = load16(&b->inside[i]), digits = load16(&b->digits[i]), points = load16(&b->points[i]);
    const __m256i lowest = _mm256_and_si256(inside, _mm256_sub_epi16(none, inside)); /* the first byte */
    const __m256i sign = _mm256_and_si256(load16(&b->dashes[i]), lowest);
    const __m256i used = _mm256_or_si256(_mm256_or_si256(digits, points), sign);
    const __m256i below = _mm256_add_epi16(points, all);
    const __mmask16 empty = b->empty[i / CELL_GROUP], longer = b->longer[i / CELL_GROUP];
    const __mmask16 point = _mm256_test_epi16_mask(points, points);
    /* No digit; or sixteen, which may be more than a double holds. */
    const __mmask16 few = _mm256_test_epi16_mask(digits, digits) & _mm256_cmpneq_epi16_mask(digits, all);
    const __mmask16 number =
        (__mmask16)(few & ~longer & _mm256_cmpeq_epi16_mask(used, inside) & _mm256_testn_epi16_mask(points, below));
    const __m256i marked = load16(&b->marked[i]);
    const __mmask16 bare = (__mmask16)(~(empty | longer) & _mm256_testn_epi16_mask(marked, marked));
    const __m128i kinds = _mm_or_si128(
        _mm_or_si128(bit_of(number, CELL_NUMBER), bit_of(number & (__mmask16)~point, CELL_WHOLE)),
        _mm_or_si128(bit_of(bare, CELL_BARE), bit_of(empty, CELL_EMPTY | CELL_NUMBER | CELL_WHOLE | CELL_BARE)));
    _mm_storeu_si128((__m128i *)(void *)found, kinds);
    b->number[i / CELL_GROUP] = number;
    b->minus[i / CELL_GROUP] = _mm256_test_epi16_mask(sign, sign);
    _mm256_storeu_si256((__m256i *)(void *)&b->closed[i],
                        _mm256_maskz_mov_epi16(point, _mm256_or_si256(points, below)));
    _mm512_storeu_si512(&b->scale[i], lowest_bits(points, point));
}

/* Four cells to numbers of four digits, the first in the lowest 32 bits. */
static inline __m512i add_four(const cell_batch *b, size_t i)
{
    __mmask64 shifted;
    const __m512i cells = _mm512_load_si512(b->cells[i]);
    memcpy(&shifted, &b->closed[i], sizeof shifted);
    const __m512i closed = _mm512_mask_mov_epi8(cells, shifted, _mm512_bslli_epi128(cells, 1));
    const __m512i digits = _mm512_subs_epu8(closed, _mm512_set1_epi8('0'));
    return _mm512_madd_epi16(_mm512_maddubs_epi16(digits, _mm512_set1_epi16(256 + 10)), _mm512_set1_epi32(65536 + 100));
}

/* Eight cells to two numbers of eight digits each. */
static inline __m512i add_digits(const cell_batch *b, size_t i)
{
    const __m512i four = _mm512_packus_epi32(add_four(b, i), add_four(b, i + LANES));
    const __m512i order = _mm512_setr_epi64(0, 2, 4, 6, 1, 3, 5, 7);
    return _mm512_permutexvar_epi64(order, _mm512_madd_epi16(four, _mm512_set1_epi32(65536 + 10000)));
}

/* number / power, correctly rounded, without a division: `one_over` is 1 / power, correctly rounded. The quotient is at
 * most 2 units in the last place away from number * one_over, and the rest of that product is exact, so that the sum is
 * rounded from the quotient but for 2^-52 units. A quotient of a number below 2^53 and 10^15 is farther than that from
 * the middle of two doubles (P. Markstein, Computation of Elementary Functions on the IBM RISC System/6000, 1990). */
static inline __m512d divide(__m512d number, __m512d power, __m512d one_over)
{
    const __m512d near = _mm512_mul_pd(number, one_over);
    return _mm512_fmadd_pd(_mm512_fnmadd_pd(near, power, number), one_over, near);
}

/* Eight numbers: halves below 10^8, together below 2^53; NaN where the cell is no number. */
static inline __m512d number_of(__m512i halves, __m512i scale, __mmask8 minus, __mmask8 number)
{
    const __m512i whole =
        _mm512_add_epi64(_mm512_mul_epu32(halves, _mm512_set1_epi64(100000000)), _mm512_srli_epi64(halves, 32));
    const __m512d low = _mm512_setr_pd(1e14, 1e13, 1e12, 1e11, 1e10, 1e9, 1e8, 1e7);
    const __m512d high = _mm512_setr_pd(1e6, 1e5, 1e4, 1e3, 1e2, 1e1, 1e0, 1e15);
    const __m512d over_low = _mm512_setr_pd(1e-14, 1e-13, 1e-12, 1e-11, 1e-10, 1e-9, 1e-8, 1e-7);
    const __m512d over_high = _mm512_setr_pd(1e-6, 1e-5, 1e-4, 1e-3, 1e-2, 1e-1, 1e0, 1e-15);
    const __m512d real = divide(_mm512_cvtepi64_pd(whole), _mm512_permutex2var_pd(low, scale, high),
                                _mm512_permutex2var_pd(over_low, scale, over_high));
    const __m512d sign = _mm512_maskz_mov_pd(minus, _mm512_set1_pd(-0.0));
    return _mm512_mask_xor_pd(_mm512_set1_pd(NAN), number, real, sign);
}

static inline void make_numbers(const cell_batch *b, size_t i, double *value)
{
    const __m512i scale = _mm512_cvtepu32_epi64(_mm256_loadu_si256((const __m256i *)(const void *)&b->scale[i]));
    const unsigned shift = i % CELL_GROUP;
    _mm512_storeu_pd(value, number_of(add_digits(b, i), scale, (__mmask8)(b->minus[i / CELL_GROUP] >> shift),
                                      (__mmask8)(b->number[i / CELL_GROUP] >> shift)));
}

void cell_scan_avx512(const cell_marks *marks, const char *text, const int32_t *before, const int32_t *end,
                      size_t count, double *value, uint8_t *found)
{
    cell_batch batch;
    for (size_t first = 0; first < count; first += BATCH) {
        const size_t left = count - first < BATCH ? count - first : BATCH;
        const size_t cells = (left + CELL_GROUP - 1) / CELL_GROUP * CELL_GROUP;
        for (size_t i = 0; i < cells; i += CELL_GROUP) {
            measure_cells(before + first, end + first, i, &batch);
        }
        for (size_t i = 0; i < cells; i += LANES) {
            look_at_cells(marks, text, end + first, i, &batch);
        }
        for (size_t i = 0; i < cells; i += CELL_GROUP) {
            judge_cells(&batch, i, found + first + i);
        }
        for (size_t i = 0; i < cells; i += 8) {
            make_numbers(&batch, i, value + first + i);
        }
    }
}
