/*
 * hal/cpu/winograd/winograd_avx512bf16.c: tiles there and back, and products of pairs; see cpu_winograd_kernels.
 *
 * The one-dimensional transforms, applied to columns and then to rows:
 *
 *      input     (d0 - d2, d1 + d2, d2 - d1, d1 - d3)             4 pixels
 *      kernel    (g0, (g0 + g1 + g2) / 2, (g0 - g1 + g2) / 2, g2)  3 taps
 *      output    (m0 + m1 + m2, m1 - m2 - m3)                      2 pixels
 *
 * and their transposes, by which gradients of outputs go in and those of taps come out.
 */
#include "hal/cpu/gemm/pairs_tile.h"
#include "hal/cpu/winograd/winograd.h"

enum { SIDE = 4, TAPS_SIDE = 3, OUT_SIDE = 2, HALVES = 2 };

_Static_assert((int)TILE_BLOCK == (int)HALVES * (int)PAIR_LANES && (int)TILE_BLOCK == (int)PAIR_B_PANEL,
               "a block is a register of cells, two of numbers, and a panel");

/* ---- one dimension: `step` apart ----------------------------------------------------------------------------------- */

static inline void input_line(const __m512 *d, int step, __m512 *to, int to_step)
{
    to[0] = _mm512_sub_ps(d[0], d[2 * step]);
    to[to_step] = _mm512_add_ps(d[step], d[2 * step]);
    to[2 * to_step] = _mm512_sub_ps(d[2 * step], d[step]);
    to[3 * to_step] = _mm512_sub_ps(d[step], d[3 * step]);
}

/* The transpose of output_line, from two numbers to four. */
static inline void gradient_line(const __m512 *y, int step, __m512 *to, int to_step)
{
    to[0] = y[0];
    to[to_step] = _mm512_add_ps(y[0], y[step]);
    to[2 * to_step] = _mm512_sub_ps(y[0], y[step]);
    to[3 * to_step] = _mm512_sub_ps(_mm512_setzero_ps(), y[step]);
}

static inline void kernel_line(const __m512 *g, int step, __m512 *to, int to_step)
{
    const __m512 half = _mm512_set1_ps(0.5F);
    const __m512 ends = _mm512_mul_ps(_mm512_add_ps(g[0], g[2 * step]), half);
    const __m512 middle = _mm512_mul_ps(g[step], half);
    to[0] = g[0];
    to[to_step] = _mm512_add_ps(ends, middle);
    to[2 * to_step] = _mm512_sub_ps(ends, middle);
    to[3 * to_step] = g[2 * step];
}

static inline void output_line(const __m512 *m, int step, __m512 *to, int to_step)
{
    const __m512 sum = _mm512_add_ps(m[step], m[2 * step]);
    const __m512 difference = _mm512_sub_ps(m[step], m[2 * step]);
    to[0] = _mm512_add_ps(m[0], sum);
    to[to_step] = _mm512_sub_ps(difference, m[3 * step]);
}

/* The transpose of kernel_line. */
static inline void taps_line(const __m512 *m, int step, __m512 *to, int to_step)
{
    const __m512 half = _mm512_set1_ps(0.5F);
    const __m512 sum = _mm512_mul_ps(_mm512_add_ps(m[step], m[2 * step]), half);
    const __m512 difference = _mm512_mul_ps(_mm512_sub_ps(m[step], m[2 * step]), half);
    to[0] = _mm512_add_ps(m[0], sum);
    to[to_step] = difference;
    to[2 * to_step] = _mm512_add_ps(sum, m[3 * step]);
}

/* ---- two: columns, then rows ------------------------------------------------------------------------------------------ */

typedef void line_rule(const __m512 *from, int step, __m512 *to, int to_step);

/* to[to_side, to_side] of from[from_side, from_side]; the sides are constants where this is called. */
static inline __attribute__((always_inline)) void transform(line_rule *line, const __m512 *from, int from_side,
                                                            __m512 *to, int to_side)
{
    __m512 columns[SIDE * SIDE];
#pragma GCC unroll 4
    for (int x = 0; x < from_side; ++x) {
        line(from + x, from_side, columns + x, from_side);
    }
#pragma GCC unroll 4
    for (int y = 0; y < to_side; ++y) {
        line(columns + (ptrdiff_t)y * from_side, 1, to + (ptrdiff_t)y * to_side, 1);
    }
}

/* ---- tiles ----------------------------------------------------------------------------------------------------------- */

/* The even channels of a block, or the odd ones. */
static inline __m512 half_of(const uint16_t *cells, int half)
{
    const __m512i both = _mm512_loadu_si512(cells);
    return _mm512_castsi512_ps(half == 0 ? _mm512_slli_epi32(both, 16)
                                         : _mm512_and_si512(both, _mm512_set1_epi32((int)0xffff0000U)));
}

static inline void input_tile(const uint16_t *const *pixel, int64_t at, int half, __m512 d[TILE_CELLS])
{
    __m512 x[TILE_CELLS];
#pragma GCC unroll 16
    for (int i = 0; i < TILE_CELLS; ++i) {
        x[i] = half_of(pixel[i] + at, half);
    }
    transform(input_line, x, SIDE, d, SIDE);
}

static inline void gradient_tile(const uint16_t *const *pixel, int64_t at, int half, __m512 d[TILE_CELLS])
{
    __m512 dy[TILE_OUT];
#pragma GCC unroll 4
    for (int i = 0; i < TILE_OUT; ++i) {
        dy[i] = half_of(pixel[i] + at, half);
    }
    transform(gradient_line, dy, OUT_SIDE, d, SIDE);
}

/* Rounded: lane by lane, first and second side by side. */
static inline __m512i side_by_side(__m512 first, __m512 second)
{
    static const uint16_t order[TILE_BLOCK] = {0, 16, 1, 17, 2,  18, 3,  19, 4,  20, 5,  21, 6,  22, 7,  23,
                                               8, 24, 9, 25, 10, 26, 11, 27, 12, 28, 13, 29, 14, 30, 15, 31};
    return _mm512_permutexvar_epi16(_mm512_loadu_si512(order), (__m512i)_mm512_cvtne2ps_pbh(second, first));
}

static void input(int64_t channels, const uint16_t *const pixel[TILE_CELLS], uint16_t *to, int64_t between)
{
    for (int64_t at = 0; at < channels; at += TILE_BLOCK) {
        __m512 even[TILE_CELLS];
        __m512 odd[TILE_CELLS];
        input_tile(pixel, at, 0, even);
        input_tile(pixel, at, 1, odd);
#pragma GCC unroll 16
        for (int i = 0; i < TILE_CELLS; ++i) {
            _mm512_storeu_si512(to + i * between + at, (__m512i)_mm512_cvtne2ps_pbh(odd[i], even[i]));
        }
    }
}

static void input_pair(int64_t channels, const uint16_t *const pixel[2][TILE_CELLS], int64_t pairs, int64_t pair,
                       uint32_t *packed, int64_t between)
{
    for (int64_t at = 0; at < channels; at += TILE_BLOCK) {
        uint32_t *to = packed + at * pairs + pair * PAIR_B_PANEL;
        for (int half = 0; half < HALVES; ++half, to += PAIR_LANES) {
            __m512 first[TILE_CELLS];
            __m512 second[TILE_CELLS];
            input_tile(pixel[0], at, half, first);
            input_tile(pixel[1], at, half, second);
#pragma GCC unroll 16
            for (int i = 0; i < TILE_CELLS; ++i) {
                _mm512_storeu_si512(to + i * between, side_by_side(first[i], second[i]));
            }
        }
    }
}

static void gradient_pair(int64_t channels, const uint16_t *const pixel[2][TILE_OUT], int64_t pairs, int64_t pair,
                          uint32_t *packed, int64_t between)
{
    for (int64_t at = 0; at < channels; at += TILE_BLOCK) {
        uint32_t *to = packed + at * pairs + pair * PAIR_A_PANEL;
        for (int half = 0; half < HALVES; ++half, to += PAIR_LANES * pairs) {
            __m512 first[TILE_CELLS];
            __m512 second[TILE_CELLS];
            gradient_tile(pixel[0], at, half, first);
            gradient_tile(pixel[1], at, half, second);
#pragma GCC unroll 16
            for (int i = 0; i < TILE_CELLS; ++i) {
                const __m512i both = side_by_side(first[i], second[i]);
                uint32_t *cell = to + i * between;
                _mm256_storeu_si256((__m256i *)(void *)cell, _mm512_castsi512_si256(both));
                _mm256_storeu_si256((__m256i *)(void *)(cell + pairs * PAIR_A_PANEL),
                                    _mm512_extracti64x4_epi64(both, 1));
            }
        }
    }
}

/* ---- kernels --------------------------------------------------------------------------------------------------------- */

/* A number of each lane, `step` apart. Gathering by one instruction is no faster. */
static inline __m512 take_lanes(const float *from, int64_t step)
{
    float lane[PAIR_LANES];
#pragma GCC unroll 16
    for (int i = 0; i < PAIR_LANES; ++i) {
        lane[i] = from[i * step];
    }
    return _mm512_loadu_ps(lane);
}

static inline void kernel_tile(const float *weight, int64_t column, bool turned, __m512 d[TILE_CELLS])
{
    __m512 taps[TILE_TAPS];
#pragma GCC unroll 9
    for (int t = 0; t < TILE_TAPS; ++t) {
        taps[t] = take_lanes(weight + (turned ? TILE_TAPS - 1 - t : t), column);
    }
    transform(kernel_line, taps, TAPS_SIDE, d, SIDE);
}

static void weights(int64_t begin, int64_t end, int64_t pairs, const float *weight, int64_t term, int64_t column,
                    bool turned, uint32_t *packed)
{
    for (int64_t pair = begin; pair < end; ++pair) {
        for (int half = 0; half < HALVES; ++half) {
            const float *from = weight + (int64_t)half * PAIR_LANES * column;
            uint32_t *to = packed + pair * TILE_BLOCK + (int64_t)half * PAIR_LANES;
            __m512 first[TILE_CELLS];
            __m512 second[TILE_CELLS];
            kernel_tile(from + tile_channel(2 * pair) * term, column, turned, first);
            kernel_tile(from + tile_channel(2 * pair + 1) * term, column, turned, second);
#pragma GCC unroll 16
            for (int i = 0; i < TILE_CELLS; ++i) {
                _mm512_storeu_si512(to + i * pairs * TILE_BLOCK, side_by_side(first[i], second[i]));
            }
        }
    }
}

static void taps(int64_t columns, int parts, const float *from, int64_t part, int64_t between, bool adds,
                 float *dweight)
{
    for (int64_t place = 0; place < columns; place += PAIR_LANES) {
        float *to = dweight + tile_channel(place) * TILE_TAPS;
        __m512 m[TILE_CELLS];
        __m512 tap[TILE_TAPS];
        for (int i = 0; i < TILE_CELLS; ++i) {
            m[i] = _mm512_loadu_ps(from + i * between + place);
            for (int p = 1; p < parts; ++p) {
                m[i] = _mm512_add_ps(m[i], _mm512_loadu_ps(from + p * part + i * between + place));
            }
        }
        transform(taps_line, m, SIDE, tap, TAPS_SIDE);
        float lane[TILE_TAPS][PAIR_LANES];
#pragma GCC unroll 9
        for (int t = 0; t < TILE_TAPS; ++t) {
            _mm512_storeu_ps(lane[t], tap[t]);
        }
        for (int i = 0; i < PAIR_LANES; ++i) {
            for (int t = 0; t < TILE_TAPS; ++t) {
                float *cell = to + i * HALVES * TILE_TAPS + t;
                *cell = adds ? *cell + lane[t][i] : lane[t][i];
            }
        }
    }
}

/* ---- products -------------------------------------------------------------------------------------------------------- */

static void multiply(int64_t rows, int64_t pairs, const uint32_t *tiles, int64_t between, const uint32_t *kernels,
                     float *to)
{
    static const __mmask16 all[PAIR_TILE_LANES] = {0xffff, 0xffff};
    for (int64_t i = 0; i < rows; i += PAIR_A_PANEL) {
        pairs_multiply_tile(pairs, tiles + i * between, (pair_steps){.row = between, .term = 1}, kernels, false,
                            PAIR_A_PANEL, all, to + i * TILE_BLOCK, TILE_BLOCK);
    }
}

static void output(const float *from, int64_t between, uint16_t *const pixel[TILE_OUT])
{
    __m512 y[HALVES][TILE_OUT];
    for (int half = 0; half < HALVES; ++half) {
        __m512 m[TILE_CELLS];
#pragma GCC unroll 16
        for (int i = 0; i < TILE_CELLS; ++i) {
            m[i] = _mm512_loadu_ps(from + i * between + (int64_t)half * PAIR_LANES);
        }
        transform(output_line, m, SIDE, y[half], OUT_SIDE);
    }
    for (int i = 0; i < TILE_OUT; ++i) {
        if (pixel[i] != NULL) {
            _mm512_storeu_si512(pixel[i], (__m512i)_mm512_cvtne2ps_pbh(y[1][i], y[0][i]));
        }
    }
}

const cpu_winograd_kernels cpu_winograd_avx512bf16 = {.input = input,
                                                      .input_pair = input_pair,
                                                      .gradient_pair = gradient_pair,
                                                      .weights = weights,
                                                      .multiply = multiply,
                                                      .output = output,
                                                      .taps = taps};
