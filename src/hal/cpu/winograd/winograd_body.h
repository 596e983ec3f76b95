/*
 * hal/cpu/winograd/winograd_body.h: tiles of float32 there and back, and their products; see cpu_winograd_kernels.
 * Included once an instruction set by winograd_*.c, which define LANES, floats of a vector, and KERNELS, the table's
 * name. No include guard.
 *
 * A product's tile of C is LANES / 2 rows of a block, eight registers: for every term as many broadcasts of the first
 * matrix as rows, and BLOCK_VECTORS loads of the second.
 */
#include <string.h>

#include "hal/cpu/kernels_vec.h"

#include "hal/cpu/winograd/winograd_lines.h"

enum { BLOCK = 16, BLOCK_VECTORS = BLOCK / LANES, PRODUCT_ROWS = LANES / 2 };

_Static_assert((int)TILE_ROWS % (int)PRODUCT_ROWS == 0 && (int)BLOCK % (int)PRODUCT_ROWS == 0,
               "rows come in whole tiles");

static inline void input_tile(const tile_pixel *pixel, int64_t at, vec to[TILE_CELLS])
{
    vec x[TILE_CELLS];
    UNROLL
    for (int i = 0; i < TILE_CELLS; ++i) {
        x[i] = vec_load((const float *)pixel[i].from + at);
    }
    transform_tile(input_line, x, TILE_SIDE, to, TILE_SIDE);
}

static inline void put_cells(const vec tile[TILE_CELLS], float *to, int64_t between)
{
    UNROLL
    for (int i = 0; i < TILE_CELLS; ++i) {
        vec_store(to + i * between, tile[i]);
    }
}

/* Where channel `at` of a term is: [block of channels, term, channel]. */
static inline float *term_of(float *to, int64_t terms, int64_t term, int64_t at)
{
    return to + at / BLOCK * BLOCK * terms + term * BLOCK + at % BLOCK;
}

static void input(int64_t channels, const tile_pixel pixel[TILE_CELLS], void *to, int64_t between)
{
    for (int64_t at = 0; at < channels; at += LANES) {
        vec tile[TILE_CELLS];
        input_tile(pixel, at, tile);
        put_cells(tile, (float *)to + at, between);
    }
}

static void input_term(int64_t channels, const tile_pixel pixel[][TILE_CELLS], int64_t terms, int64_t term, void *to,
                       int64_t between)
{
    for (int64_t at = 0; at < channels; at += LANES) {
        vec tile[TILE_CELLS];
        input_tile(pixel[0], at, tile);
        put_cells(tile, term_of(to, terms, term, at), between);
    }
}

static void gradient_term(int64_t channels, const tile_pixel pixel[][TILE_OUT], int64_t terms, int64_t term, void *to,
                          int64_t between)
{
    for (int64_t at = 0; at < channels; at += LANES) {
        vec dy[TILE_OUT];
        vec tile[TILE_CELLS];
        UNROLL
        for (int i = 0; i < TILE_OUT; ++i) {
            dy[i] = vec_load((const float *)pixel[0][i].from + at);
        }
        transform_tile(gradient_line, dy, OUT_SIDE, tile, TILE_SIDE);
        put_cells(tile, term_of(to, terms, term, at), between);
    }
}

static void weights(int64_t first, int64_t end, int64_t terms, const float *weight, int64_t channel, int64_t column,
                    bool turned, void *to)
{
    for (int64_t term = first; term < end; ++term) {
        for (int64_t at = 0; at < BLOCK; at += LANES) {
            vec tile[TILE_CELLS];
            kernel_tile(weight + term * channel + at * column, column, turned, tile);
            put_cells(tile, (float *)to + term * BLOCK + at, terms * BLOCK);
        }
    }
}

/* Element (i, t) of the first matrix is at a[i * row + t * term]. */
static inline __attribute__((always_inline)) void product_tile(int64_t terms, const float *a, int64_t row, int64_t term,
                                                               const float *b, bool adds, float *c, int64_t ldc)
{
    vec sum[PRODUCT_ROWS][BLOCK_VECTORS];
    UNROLL
    for (int i = 0; i < PRODUCT_ROWS; ++i) {
        UNROLL
        for (int v = 0; v < BLOCK_VECTORS; ++v) {
            sum[i][v] = adds ? vec_load(c + i * ldc + v * LANES) : (vec){0};
        }
    }
    for (int64_t t = 0; t < terms; ++t) {
        vec right[BLOCK_VECTORS];
        UNROLL
        for (int v = 0; v < BLOCK_VECTORS; ++v) {
            right[v] = vec_load(b + t * BLOCK + v * LANES);
        }
        UNROLL
        for (int i = 0; i < PRODUCT_ROWS; ++i) {
            UNROLL
            for (int v = 0; v < BLOCK_VECTORS; ++v) {
                sum[i][v] += a[i * row + t * term] * right[v];
            }
        }
    }
    UNROLL
    for (int i = 0; i < PRODUCT_ROWS; ++i) {
        UNROLL
        for (int v = 0; v < BLOCK_VECTORS; ++v) {
            vec_store(c + i * ldc + v * LANES, sum[i][v]);
        }
    }
}

static void multiply(int64_t rows, int64_t terms, const void *tiles, int64_t step, const void *kernels, float *to)
{
    for (int64_t i = 0; i < rows; i += PRODUCT_ROWS) {
        product_tile(terms, (const float *)tiles + i * step, step, 1, kernels, false, to + i * BLOCK, BLOCK);
    }
}

static void sum(int64_t out, int64_t in, int64_t terms, const void *gradients, const void *tiles, bool adds,
                float *sums)
{
    for (int64_t j = 0; j < in; j += BLOCK) {
        for (int64_t i = 0; i < out; i += PRODUCT_ROWS) {
            product_tile(terms, (const float *)gradients + i / BLOCK * BLOCK * terms + i % BLOCK, 1, BLOCK,
                         (const float *)tiles + j * terms, adds, sums + i * in + j, in);
        }
    }
}

static void output(const float *from, int64_t between, int64_t column, const tile_pixel pixel[TILE_OUT])
{
    for (int64_t at = 0; at < BLOCK; at += LANES) {
        vec m[TILE_CELLS];
        vec y[TILE_OUT];
        UNROLL
        for (int i = 0; i < TILE_CELLS; ++i) {
            m[i] = vec_load(from + i * between + at);
        }
        transform_tile(output_line, m, TILE_SIDE, y, OUT_SIDE);
        for (int i = 0; i < TILE_OUT; ++i) {
            if (pixel[i].to != NULL) {
                vec_store((float *)pixel[i].to + column + at, y[i]);
            }
        }
    }
}

static void taps(int64_t row, int64_t in, int parts, const float *sums, int64_t part, int64_t between, bool adds,
                 float *dweight)
{
    for (int64_t at = 0; at < in; at += LANES) {
        put_taps(parts, sums + row * in + at, part, between, adds, dweight + (row * in + at) * TILE_TAPS, TILE_TAPS);
    }
}

const cpu_winograd_kernels KERNELS = {.name = "weft winograd:f32",
                                      .block = BLOCK,
                                      .fold = 1,
                                      .input = input,
                                      .input_term = input_term,
                                      .gradient_term = gradient_term,
                                      .weights = weights,
                                      .multiply = multiply,
                                      .sum = sum,
                                      .output = output,
                                      .taps = taps};
