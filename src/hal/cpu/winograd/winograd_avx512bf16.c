/* hal/cpu/winograd/winograd_avx512bf16.c: tiles of bfloat16 there and back, and products of pairs; see
 * cpu_winograd_kernels. */
#include <string.h>

#include "hal/cpu/gemm/pairs_tile.h"
#include "hal/cpu/winograd/winograd.h"
typedef __m512 vec;

#include "hal/cpu/winograd/winograd_lines.h"

enum { BLOCK = 32, HALVES = 2 };

_Static_assert((int)BLOCK == (int)HALVES * (int)PAIR_LANES && (int)BLOCK == (int)PAIR_B_PANEL &&
                   (int)TILE_ROWS == (int)PAIR_A_PANEL,
               "a block is a register of cells, two of numbers, and a panel");

/* The channel at a place: within a block, evens stand before odds. */
static inline int64_t channel_at(int64_t place)
{
    return place / BLOCK * BLOCK + place % PAIR_LANES * HALVES + place / PAIR_LANES % HALVES;
}

/* ---- tiles ------------------------------------------------------------------------------------------------------- */

/* The even channels of the block at `at`, or the odd ones. */
static inline vec half_of(const void *pixel, int64_t at, int half)
{
    const __m512i both = _mm512_loadu_si512((const uint16_t *)pixel + at);
    return _mm512_castsi512_ps(half == 0 ? _mm512_slli_epi32(both, 16)
                                         : _mm512_and_si512(both, _mm512_set1_epi32((int)0xffff0000U)));
}

static inline void input_tile(const tile_pixel *pixel, int64_t at, int half, vec to[TILE_CELLS])
{
    vec x[TILE_CELLS];
    UNROLL
    for (int i = 0; i < TILE_CELLS; ++i) {
        x[i] = half_of(pixel[i].from, at, half);
    }
    transform_tile(input_line, x, TILE_SIDE, to, TILE_SIDE);
}

static inline void gradient_tile(const tile_pixel *pixel, int64_t at, int half, vec to[TILE_CELLS])
{
    vec dy[TILE_OUT];
    UNROLL
    for (int i = 0; i < TILE_OUT; ++i) {
        dy[i] = half_of(pixel[i].from, at, half);
    }
    transform_tile(gradient_line, dy, OUT_SIDE, to, TILE_SIDE);
}

/* Rounded: lane by lane, first and second side by side. */
static inline __m512i side_by_side(vec first, vec second)
{
    static const uint16_t order[BLOCK] = {0, 16, 1, 17, 2,  18, 3,  19, 4,  20, 5,  21, 6,  22, 7,  23,
                                          8, 24, 9, 25, 10, 26, 11, 27, 12, 28, 13, 29, 14, 30, 15, 31};
    return _mm512_permutexvar_epi16(_mm512_loadu_si512(order), (__m512i)_mm512_cvtne2ps_pbh(second, first));
}

static void input(int64_t channels, const tile_pixel pixel[TILE_CELLS], void *to, int64_t between)
{
    for (int64_t at = 0; at < channels; at += BLOCK) {
        vec even[TILE_CELLS];
        vec odd[TILE_CELLS];
        input_tile(pixel, at, 0, even);
        input_tile(pixel, at, 1, odd);
        UNROLL
        for (int i = 0; i < TILE_CELLS; ++i) {
            _mm512_storeu_si512((uint32_t *)to + i * between + at / 2, (__m512i)_mm512_cvtne2ps_pbh(odd[i], even[i]));
        }
    }
}

/* [panel of columns, pair, column] */
static void input_term(int64_t channels, const tile_pixel pixel[][TILE_CELLS], int64_t pairs, int64_t pair, void *to,
                       int64_t between)
{
    for (int64_t at = 0; at < channels; at += BLOCK) {
        uint32_t *panel = (uint32_t *)to + at * pairs + pair * PAIR_B_PANEL;
        for (int half = 0; half < HALVES; ++half, panel += PAIR_LANES) {
            vec first[TILE_CELLS];
            vec second[TILE_CELLS];
            input_tile(pixel[0], at, half, first);
            input_tile(pixel[1], at, half, second);
            UNROLL
            for (int i = 0; i < TILE_CELLS; ++i) {
                _mm512_storeu_si512(panel + i * between, side_by_side(first[i], second[i]));
            }
        }
    }
}

/* [panel of rows, pair, row] */
static void gradient_term(int64_t channels, const tile_pixel pixel[][TILE_OUT], int64_t pairs, int64_t pair, void *to,
                          int64_t between)
{
    for (int64_t at = 0; at < channels; at += BLOCK) {
        uint32_t *panel = (uint32_t *)to + at * pairs + pair * PAIR_A_PANEL;
        for (int half = 0; half < HALVES; ++half, panel += PAIR_LANES * pairs) {
            vec first[TILE_CELLS];
            vec second[TILE_CELLS];
            gradient_tile(pixel[0], at, half, first);
            gradient_tile(pixel[1], at, half, second);
            UNROLL
            for (int i = 0; i < TILE_CELLS; ++i) {
                const __m512i both = side_by_side(first[i], second[i]);
                uint32_t *cell = panel + i * between;
                _mm256_storeu_si256((__m256i *)(void *)cell, _mm512_castsi512_si256(both));
                _mm256_storeu_si256((__m256i *)(void *)(cell + pairs * PAIR_A_PANEL),
                                    _mm512_extracti64x4_epi64(both, 1));
            }
        }
    }
}

static void output(const float *from, int64_t between, int64_t column, const tile_pixel pixel[TILE_OUT])
{
    vec y[HALVES][TILE_OUT];
    for (int half = 0; half < HALVES; ++half) {
        vec m[TILE_CELLS];
        UNROLL
        for (int i = 0; i < TILE_CELLS; ++i) {
            m[i] = _mm512_loadu_ps(from + i * between + (int64_t)half * PAIR_LANES);
        }
        transform_tile(output_line, m, TILE_SIDE, y[half], OUT_SIDE);
    }
    for (int i = 0; i < TILE_OUT; ++i) {
        if (pixel[i].to != NULL) {
            _mm512_storeu_si512((uint16_t *)pixel[i].to + column, (__m512i)_mm512_cvtne2ps_pbh(y[1][i], y[0][i]));
        }
    }
}

/* ---- kernels ----------------------------------------------------------------------------------------------------- */

static void weights(int64_t first, int64_t end, int64_t pairs, const float *weight, int64_t channel, int64_t column,
                    bool turned, void *to)
{
    for (int64_t pair = first; pair < end; ++pair) {
        for (int half = 0; half < HALVES; ++half) {
            const float *from = weight + (int64_t)half * PAIR_LANES * column;
            uint32_t *cell = (uint32_t *)to + pair * BLOCK + (int64_t)half * PAIR_LANES;
            vec one[TILE_CELLS];
            vec other[TILE_CELLS];
            kernel_tile(from + channel_at(2 * pair) * channel, column, turned, one);
            kernel_tile(from + channel_at(2 * pair + 1) * channel, column, turned, other);
            UNROLL
            for (int i = 0; i < TILE_CELLS; ++i) {
                _mm512_storeu_si512(cell + i * pairs * BLOCK, side_by_side(one[i], other[i]));
            }
        }
    }
}

static void taps(int64_t row, int64_t in, int parts, const float *sums, int64_t part, int64_t between, bool adds,
                 float *dweight)
{
    float *kernels = dweight + channel_at(row) * in * TILE_TAPS;
    for (int64_t place = 0; place < in; place += PAIR_LANES) {
        put_taps(parts, sums + row * in + place, part, between, adds, kernels + channel_at(place) * TILE_TAPS,
                 (int64_t)HALVES * TILE_TAPS);
    }
}

/* ---- products ---------------------------------------------------------------------------------------------------- */

static const __mmask16 whole_block[PAIR_TILE_LANES] = {0xffff, 0xffff};

static void multiply(int64_t rows, int64_t pairs, const void *tiles, int64_t step, const void *kernels, float *to)
{
    for (int64_t i = 0; i < rows; i += PAIR_A_PANEL) {
        pairs_multiply_tile(pairs, (const uint32_t *)tiles + i * step, (pair_steps){.row = step, .term = 1}, kernels,
                            false, PAIR_A_PANEL, whole_block, to + i * BLOCK, BLOCK);
    }
}

static void sum(int64_t out, int64_t in, int64_t pairs, const void *gradients, const void *tiles, bool adds,
                float *sums)
{
    for (int64_t j = 0; j < in; j += PAIR_B_PANEL) {
        for (int64_t i = 0; i < out; i += PAIR_A_PANEL) {
            pairs_multiply_tile(pairs, (const uint32_t *)gradients + i * pairs,
                                (pair_steps){.row = 1, .term = PAIR_A_PANEL}, (const uint32_t *)tiles + j * pairs, adds,
                                PAIR_A_PANEL, whole_block, sums + i * in + j, in);
        }
    }
}

const cpu_winograd_kernels cpu_winograd_avx512bf16 = {.name = "weft winograd:avx512_bf16",
                                                      .block = BLOCK,
                                                      .fold = 2,
                                                      .input = input,
                                                      .input_term = input_term,
                                                      .gradient_term = gradient_term,
                                                      .weights = weights,
                                                      .multiply = multiply,
                                                      .sum = sum,
                                                      .output = output,
                                                      .taps = taps};
