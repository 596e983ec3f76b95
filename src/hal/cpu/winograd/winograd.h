/*
 * hal/cpu/winograd/winograd.h: convolutions of 3 x 3, stride 1, by fewer products (A. Lavin and S. Gray, Fast
 * Algorithms for Convolutional Neural Networks, CVPR 2016, DOI 10.1109/CVPR.2016.435: F(2 x 2, 3 x 3), after S.
 * Winograd).
 *
 * A tile is 2 x 2 pixels of output, a product 16 matrices in place of 36: one for each cell of the transformed 4 x 4
 * pixels of input and of the transformed kernel. In float32 that costs a few roundings more. In bfloat16 both factors
 * are rounded once more, to 2 to 3 times the error of rounding the output; sums and the way back are of float32
 * (tests/backend/test_winograd.c).
 */
#pragma once

#include "hal/cpu/kernels.h"

enum { TILE_SIDE = 4, TAPS_SIDE = 3, OUT_SIDE = 2 }; /* of squares of input, kernel and output */

enum {
    TILE_CELLS = 16, /* of a transformed tile: matrices of a product */
    TILE_TAPS = 9,   /* of a kernel */
    TILE_OUT = 4,    /* pixels of output of a tile */
    TILE_ROWS = 8,   /* tiles of a product come in so many */
    TILE_FOLD = 2    /* the most cells that share an element */
};

/* A pixel's first cell. */
typedef union tile_pixel {
    const void *from;
    void *to;
} tile_pixel;

/* Kernels of one type of cells. Transformed tiles are elements of four bytes: `fold` cells of neighbouring terms each.
 * Terms are channels forward and backward to the input, and tiles backward to the weights. Channels are whole blocks,
 * within which each table has its own order; matrices in the middle follow it, `taps` and `output` put it right. Cell i
 * of a tile is `between` elements behind cell i - 1. */
struct cpu_winograd_kernels {
    const char *name;
    int block; /* channels that are transformed at once */
    int fold;
    /* A tile as a row of a product's first matrix. */
    void (*input)(int64_t channels, const tile_pixel pixel[TILE_CELLS], void *to, int64_t between);
    /* `fold` tiles as term `term` of `terms` of both matrices of a product: of gradients, and of input. */
    void (*input_term)(int64_t channels, const tile_pixel pixel[][TILE_CELLS], int64_t terms, int64_t term, void *to,
                       int64_t between);
    void (*gradient_term)(int64_t channels, const tile_pixel pixel[][TILE_OUT], int64_t terms, int64_t term, void *to,
                          int64_t between);
    /* A block of columns of transformed kernels, [cell, term, column], terms first .. end - 1 of `terms`: tap t of
     * channel i and column j at weight[i * channel + j * column + t], at 8 - t where turned. */
    void (*weights)(int64_t first, int64_t end, int64_t terms, const float *weight, int64_t channel, int64_t column,
                    bool turned, void *to);
    /* to[rows, block] = tiles times kernels, of one cell; rows: whole TILE_ROWS, `step` elements apart. */
    void (*multiply)(int64_t rows, int64_t terms, const void *tiles, int64_t step, const void *kernels, float *to);
    /* sums[out, in] = gradients times tiles, + itself where it adds, of one cell */
    void (*sum)(int64_t out, int64_t in, int64_t terms, const void *gradients, const void *tiles, bool adds,
                float *sums);
    /* The block of columns at `column` of a tile's output from its products; none where pixel[i].to is NULL:
     * outside. */
    void (*output)(const float *from, int64_t between, int64_t column, const tile_pixel pixel[TILE_OUT]);
    /* dweight[out, in, tap] of row `row` of sums, which are those of `parts`, + itself where it adds. */
    void (*taps)(int64_t row, int64_t in, int parts, const float *sums, int64_t part, int64_t between, bool adds,
                 float *dweight);
};
