/*
 * table/column/cell_scan_avx512.c: the kernel of table/column/cell_scan.h for processors with AVX-512.
 *
 * A vector holds four cells, each in the 16 bytes that end where the cell ends. A comparison gives 16 bits a cell, so
 * that one group of sixteen cells is judged at once, and no digit passes through a general register:
 *
 *   cell       . . . - 1 2 . 5      bytes that stand before the cell are outside its mask
 *   digits     0 0 0 0 1 2 0 5      everything else is 0
 *   closed     0 0 0 0 0 1 2 5      each byte up to the point is the byte before it
 */
#include "table/column/cell_scan.h"

#include <immintrin.h>
#include <math.h>
#include <string.h>

enum { LANES = 4, VECTORS = CELL_GROUP / LANES };

/* CELL_GROUP cells. Bit k of 16 bits stands for byte k of the 16 bytes that end where the cell ends. */
typedef struct cell_group {
    __m512i cells[VECTORS];
    __mmask16 empty, longer, last, ret;
    __m256i inside, digits, points, dashes, marked; /* 16 bits a cell; `marked`: blanks, control characters, quotes */
} cell_group;

static inline __m128i load(const char *text, uint32_t place)
{
    return _mm_loadu_si128((const __m128i *)(const void *)(text + (int32_t)place - CELL_SHORT));
}

static inline __m512i load_four(const char *text, const uint32_t *place)
{
    const __m256i low = _mm256_set_m128i(load(text, place[1]), load(text, place[0]));
    const __m256i high = _mm256_set_m128i(load(text, place[3]), load(text, place[2]));
    return _mm512_inserti64x4(_mm512_castsi256_si512(low), high, 1);
}

/* The last byte of a cell, and the byte behind it. */
static inline int16_t load_end(const char *text, uint32_t place)
{
    int16_t pair;
    memcpy(&pair, text + (int32_t)place - 1, sizeof pair);
    return pair;
}

static inline __m128i load_ends(const char *text, const uint32_t *place)
{
    return _mm_setr_epi16(load_end(text, place[0]), load_end(text, place[1]), load_end(text, place[2]),
                          load_end(text, place[3]), load_end(text, place[4]), load_end(text, place[5]),
                          load_end(text, place[6]), load_end(text, place[7]));
}

/* The masks of four vectors behind each other. */
static inline __m256i join(const __mmask64 *mask)
{
    return _mm256_set_epi64x((int64_t)mask[3], (int64_t)mask[2], (int64_t)mask[1], (int64_t)mask[0]);
}

/* Hands each byte of the four cells of a vector the byte of its cell in `of`. */
static inline __m512i spread(__m128i of, int vector)
{
    const __m512i cell =
        _mm512_setr_epi32(0, 0, 0, 0, 0x01010101, 0x01010101, 0x01010101, 0x01010101, 0x02020202, 0x02020202,
                          0x02020202, 0x02020202, 0x03030303, 0x03030303, 0x03030303, 0x03030303);
    return _mm512_shuffle_epi8(_mm512_broadcast_i32x4(of),
                               _mm512_add_epi8(cell, _mm512_set1_epi8((char)(LANES * vector))));
}

/* The place of each byte within its cell. */
static inline __m512i lanes(void)
{
    return _mm512_broadcast_i32x4(_mm_setr_epi8(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15));
}

static inline void look_at_cells(const cell_marks *marks, const char *text, const uint32_t *place, cell_group *g)
{
    uint32_t shorter[CELL_GROUP];
    __mmask64 digits[VECTORS], points[VECTORS], dashes[VECTORS], marked[VECTORS];
    __m512i ends = _mm512_loadu_si512(place);
    const __m512i begins = _mm512_add_epi32(_mm512_loadu_si512(place - 1), _mm512_set1_epi32(1));
    const __m512i most = _mm512_set1_epi32(CELL_SHORT), all = _mm512_set1_epi32((int)0xffff0000U);
    const __m256i pairs = _mm256_set_m128i(load_ends(text, place + 8), load_ends(text, place));
    g->last = _mm256_cmpeq_epi16_mask(_mm256_srli_epi16(pairs, 8), _mm256_set1_epi16('\n'));
    g->ret =
        _mm256_cmpeq_epi16_mask(pairs, _mm256_set1_epi16('\n' << 8 | '\r')) & _mm512_cmpneq_epi32_mask(ends, begins);
    if (g->ret != 0) {
        ends = _mm512_mask_sub_epi32(ends, g->ret, ends, _mm512_set1_epi32(1));
        _mm512_storeu_si512(shorter, ends);
        place = shorter;
    }
    const __m512i bytes = _mm512_sub_epi32(ends, begins), held = _mm512_min_epu32(bytes, most);
    const __m128i before = _mm512_cvtepi32_epi8(_mm512_sub_epi32(most, held));
    g->empty = _mm512_testn_epi32_mask(bytes, bytes);
    g->longer = _mm512_cmpgt_epu32_mask(bytes, most);
    g->inside = _mm512_cvtepi32_epi16(_mm512_srlv_epi32(all, held));
#pragma GCC unroll 4
    for (int i = 0; i < VECTORS; i++) {
        const __m512i cells = load_four(text, place + (ptrdiff_t)LANES * i);
        const __m512i low = _mm512_sub_epi8(cells, _mm512_set1_epi8('0')), from = spread(before, i);
        const __mmask64 inside = _mm512_cmpge_epu8_mask(lanes(), from);
        digits[i] = _mm512_mask_cmple_epu8_mask(inside, low, _mm512_set1_epi8(9));
        points[i] = _mm512_mask_cmpeq_epi8_mask(inside, cells, _mm512_set1_epi8(marks->point));
        dashes[i] = _mm512_mask_cmpeq_epi8_mask(inside, cells, _mm512_set1_epi8('-'));
        marked[i] = _mm512_mask_cmple_epu8_mask(inside, cells, _mm512_set1_epi8(' ')) |
                    _mm512_mask_cmpeq_epi8_mask(inside, cells, _mm512_set1_epi8(marks->quote));
        g->cells[i] = _mm512_maskz_mov_epi8(digits[i], low);
    }
    g->digits = join(digits);
    g->points = join(points);
    g->dashes = join(dashes);
    g->marked = (marked[0] | marked[1] | marked[2] | marked[3]) != 0 ? join(marked) : _mm256_setzero_si256();
}

static inline __m128i bit_of(__mmask16 cells, int bit)
{
    return _mm_maskz_set1_epi8(cells, (char)bit);
}

/* The bits of a group. [out] minus: which begin with a minus sign. Returns which are numbers. */
static inline __mmask16 judge_cells(const cell_group *g, __mmask16 *minus, uint8_t *found)
{
    const __m256i none = _mm256_setzero_si256(), one = _mm256_set1_epi16(1);
    const __m256i lowest = _mm256_and_si256(g->inside, _mm256_sub_epi16(none, g->inside)); /* the first byte */
    const __m256i sign = _mm256_and_si256(g->dashes, lowest);
    const __m256i used = _mm256_or_si256(_mm256_or_si256(g->digits, g->points), sign);
    const __m256i twice = _mm256_and_si256(g->points, _mm256_sub_epi16(g->points, one));
    const __mmask16 short_one = (__mmask16) ~(g->empty | g->longer);
    /* No digit; or sixteen, which may be more than a double holds. */
    const __mmask16 few =
        _mm256_test_epi16_mask(g->digits, g->digits) & _mm256_cmpneq_epi16_mask(g->digits, _mm256_set1_epi16(-1));
    const __mmask16 number =
        short_one & few & _mm256_cmpeq_epi16_mask(used, g->inside) & _mm256_testn_epi16_mask(twice, twice);
    const __mmask16 whole = number & _mm256_testn_epi16_mask(g->points, g->points);
    const __mmask16 bare = short_one & _mm256_testn_epi16_mask(g->marked, g->marked);
    const __m128i kinds = _mm_or_si128(
        _mm_or_si128(bit_of(number, CELL_NUMBER), bit_of(whole, CELL_WHOLE)),
        _mm_or_si128(bit_of(bare, CELL_BARE), bit_of(g->empty, CELL_EMPTY | CELL_NUMBER | CELL_WHOLE | CELL_BARE)));
    const __m128i ends = _mm_or_si128(bit_of(g->last, CELL_LAST), bit_of(g->ret, CELL_RETURN));
    _mm_storeu_si128((__m128i *)(void *)found, _mm_or_si128(kinds, ends));
    *minus = _mm256_test_epi16_mask(sign, sign);
    return number;
}

/* Eight cells, four in each vector, to two numbers of eight digits each. */
static inline __m512i add_digits(__m512i first, __m512i second)
{
    const __m512i tens = _mm512_set1_epi16(256 + 10), hundreds = _mm512_set1_epi32(65536 + 100);
    const __m512i four = _mm512_packus_epi32(_mm512_madd_epi16(_mm512_maddubs_epi16(first, tens), hundreds),
                                             _mm512_madd_epi16(_mm512_maddubs_epi16(second, tens), hundreds));
    const __m512i order = _mm512_setr_epi64(0, 2, 4, 6, 1, 3, 5, 7);
    return _mm512_permutexvar_epi64(order, _mm512_madd_epi16(four, _mm512_set1_epi32(65536 + 10000)));
}

/* Eight numbers: halves below 10^8, together below 2^53; NaN where the cell is no number. The last four bits of `scale`
 * select the power of ten to divide by. */
static inline __m512d number_of(__m512i halves, __m256i scale, __mmask8 minus, __mmask8 number)
{
    const __m512i whole =
        _mm512_add_epi64(_mm512_mul_epu32(halves, _mm512_set1_epi64(100000000)), _mm512_srli_epi64(halves, 32));
    const __m512d low = _mm512_setr_pd(1e14, 1e13, 1e12, 1e11, 1e10, 1e9, 1e8, 1e7);
    const __m512d high = _mm512_setr_pd(1e6, 1e5, 1e4, 1e3, 1e2, 1e1, 1e0, 1e15);
    const __m512d power = _mm512_permutex2var_pd(low, _mm512_cvtepu32_epi64(scale), high);
    const __m512d real = _mm512_div_pd(_mm512_cvtepi64_pd(whole), power);
    const __m512d sign = _mm512_maskz_mov_pd(minus, _mm512_set1_pd(-0.0));
    return _mm512_mask_xor_pd(_mm512_set1_pd(NAN), number, real, sign);
}

/* The place of the lowest bit of sixteen masks, plus EXPONENT; 0 where a mask is 0. It is the exponent of the bit as a
 * float32. */
enum { EXPONENT = 127 };
static inline __m512i lowest_bits(__m512i masks)
{
    const __m512i lowest = _mm512_and_si512(masks, _mm512_sub_epi32(_mm512_setzero_si512(), masks));
    return _mm512_srli_epi32(_mm512_castps_si512(_mm512_cvtepi32_ps(lowest)), 23);
}

static inline __attribute__((always_inline)) void scan_group(const cell_marks *marks, const char *text,
                                                             const uint32_t *place, double *value, uint8_t *found)
{
    cell_group g;
    __m512i closed[VECTORS];
    __mmask16 minus;
    look_at_cells(marks, text, place, &g);
    const __mmask16 number = judge_cells(&g, &minus, found);
    const __m512i points = _mm512_cvtepu16_epi32(g.points), point = lowest_bits(points);
    const __m128i up_to = _mm512_cvtepi32_epi8(point);
    const __m512i lane = _mm512_add_epi8(lanes(), _mm512_set1_epi8((char)EXPONENT));
#pragma GCC unroll 4
    for (int i = 0; i < VECTORS; i++) {
        const __mmask64 shifted = _mm512_cmple_epu8_mask(lane, spread(up_to, i));
        closed[i] = _mm512_mask_mov_epi8(g.cells[i], shifted, _mm512_bslli_epi128(g.cells[i], 1));
    }
    /* A cell without a point is divided by 1, as if its last byte were one. */
    const __m512i last = _mm512_set1_epi32(EXPONENT + CELL_SHORT - 1);
    const __m512i scale = _mm512_mask_mov_epi32(last, _mm512_test_epi32_mask(points, points), point);
    _mm512_storeu_pd(value, number_of(add_digits(closed[0], closed[1]), _mm512_castsi512_si256(scale), (__mmask8)minus,
                                      (__mmask8)number));
    _mm512_storeu_pd(value + 8, number_of(add_digits(closed[2], closed[3]), _mm512_extracti64x4_epi64(scale, 1),
                                          (__mmask8)(minus >> 8), (__mmask8)(number >> 8)));
}

void cell_scan_avx512(const cell_marks *marks, const char *text, const uint32_t *place, size_t count, double *value,
                      uint8_t *found)
{
    uint32_t rest[1 + CELL_GROUP];
    for (size_t i = 0; i < count; i += CELL_GROUP) {
        const uint32_t *group = place + i;
        if (count - i < CELL_GROUP) { /* the end of the last cell stands for the ends that are not there */
            for (size_t k = 0; k <= CELL_GROUP; k++) {
                rest[k] = group[(int64_t)(k < count - i ? k : count - i) - 1];
            }
            group = rest + 1;
        }
        scan_group(marks, text, group, value + i, found + i);
    }
}
