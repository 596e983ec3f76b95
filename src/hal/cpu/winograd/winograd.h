/*
 * hal/cpu/winograd/winograd.h: convolutions of 3 x 3, stride 1, of bfloat16 by fewer products (A. Lavin and S. Gray, Fast
 * Algorithms for Convolutional Neural Networks, CVPR 2016, DOI 10.1109/CVPR.2016.435: F(2 x 2, 3 x 3), after S. Winograd).
 *
 * A tile is 2 x 2 pixels of output, a product 16 matrices in place of 36: one for each cell of the transformed 4 x 4
 * pixels of input and of the transformed kernel, which are rounded to bfloat16; sums and the way back are of float32.
 * That rounding is what it costs: errors of 2 to 3 times those of rounding the output (tests/backend/test_winograd.c).
 */
#ifndef WEFT_HAL_CPU_WINOGRAD_WINOGRAD_H
#define WEFT_HAL_CPU_WINOGRAD_WINOGRAD_H

#include "hal/cpu/kernels.h"

enum {
    TILE_CELLS = 16, /* of a transformed tile: matrices of a product */
    TILE_TAPS = 9,   /* of a kernel */
    TILE_OUT = 4,    /* pixels of output of a tile */
    /* Channels that are transformed at once. Within such a block they stand in another order: evens, then odds. */
    TILE_BLOCK = 32
};

/* The channel of a block that stands at a place. */
static inline int64_t tile_channel(int64_t place)
{
    return place / TILE_BLOCK * TILE_BLOCK + place % (TILE_BLOCK / 2) * 2 + place / (TILE_BLOCK / 2) % 2;
}

/* Channels are whole blocks. Pairs are elements of four bytes that hold two cells. */
struct cpu_winograd_kernels {
    /* A tile, transformed: cell i at to + i * between. pixel: rows of the tile. */
    void (*input)(int64_t channels, const uint16_t *const pixel[TILE_CELLS], uint16_t *to, int64_t between);
    /* Two tiles as pair number `pair` of `pairs` of a product's B, of input, and A, of gradients (cpu_pair_kernels). */
    void (*input_pair)(int64_t channels, const uint16_t *const pixel[2][TILE_CELLS], int64_t pairs, int64_t pair,
                       uint32_t *packed, int64_t between);
    void (*gradient_pair)(int64_t channels, const uint16_t *const pixel[2][TILE_OUT], int64_t pairs, int64_t pair,
                          uint32_t *packed, int64_t between);
    /* TILE_BLOCK columns of transformed kernels, [cell, pair of terms, column], pairs first .. end - 1 of all `pairs`: tap t
     * of term i and column j at weight[i * term + j * column + t], at 8 - t where turned. */
    void (*weights)(int64_t first, int64_t end, int64_t pairs, const float *weight, int64_t term, int64_t column,
                    bool turned, uint32_t *packed);
    /* to[rows, TILE_BLOCK] = tiles times kernels, of one cell; rows: a multiple of PAIR_A_PANEL, `between` pairs apart. */
    void (*multiply)(int64_t rows, int64_t pairs, const uint32_t *tiles, int64_t between, const uint32_t *kernels,
                     float *to);
    /* TILE_BLOCK columns of a tile's output from its products, cell i at from + i * between; pixel NULL: outside. */
    void (*output)(const float *from, int64_t between, uint16_t *const pixel[TILE_OUT]);
    /* dweight[column, tap] of one row, + itself where it adds: from[cell * between + place] of each part. */
    void (*taps)(int64_t columns, int parts, const float *from, int64_t part, int64_t between, bool adds,
                 float *dweight);
};

#endif
