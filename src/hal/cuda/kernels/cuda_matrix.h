/*
 * hal/cuda/kernels/cuda_matrix.h: a prepared sparse matrix, on the device: its rows in three classes by length, made
 * once.
 *
 *    short   fewer than CUDA_SHORT_ROW edges     several rows a warp; of neighbours those of equal length side by side
 *    middle                                      a warp a row
 *    long    more than CUDA_PIECE_EDGES edges    cut into pieces of that many; a second kernel adds their sums in order
 *
 * Where rows share partial sums (hal/share.h), a matrix is one of these for each level of them and one for its rows,
 * with factors of 1 and -1, and reads a strip of sources behind which the partial sums are written.
 *
 * Who adds what is a function of the matrix and the width, so every run gives the same bits on every card.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

enum { CUDA_SHORT_ROW = 32, CUDA_PIECE_EDGES = 512, CUDA_SHARED_COLUMNS = 64 };

typedef struct cuda_edges {
    int64_t begin;
    int64_t count;
} cuda_edges;

struct hal_spmm {
    int64_t rows, cols, entries, max_d;
    int64_t shorts, middles, longs; /* rows of each class */
    int64_t *first_piece;           /* host [longs + 1]: of each long row */
    int64_t most_pieces;            /* of one long row */
    uint64_t bytes;                 /* on the device */
    double build_seconds;
    bool wide; /* offsets are int64, not int32 */
    /* on the device */
    void *offset;           /* [rows + 1] */
    int32_t *column;        /* [entries] */
    float *value;           /* [entries] NULL: all of them 1 */
    int32_t *order;         /* [rows] short rows, middle rows, long rows */
    cuda_edges *piece;      /* [first_piece[longs]] */
    int64_t *piece_of_long; /* [longs + 1] first_piece */
    /* Of shared sums, in place of all above but rows, cols, entries and max_d: */
    struct hal_spmm **level; /* host [levels + 1] of each level, last of the rows; NULL: nothing is shared */
    int levels;
    int64_t sums, reads;
    void *strip; /* [cols + sums + rows, CUDA_SHARED_COLUMNS] of float32 or half as many columns of float64 */
};
