/*
 * hal/cpu/sparse/share_group.h: what a group of rows of a matrix of zeros and ones can compute together.
 *
 * A partial sum adds some columns once for several rows that read most of them; a row that lacks one of the columns
 * subtracts it. With q rows of mask m, taking column c, which p of them read, saves p reads and costs one in the
 * partial sum and q - p subtractions, so that a partial sum is worth
 *
 *      gain(m) = sum over columns of max(0, 2 p - q - 1)  -  q (rows read the sum)  -  1 (it is written)
 *
 *                 columns a b c d e f                          s = a + b + c + d
 *        row 0            1 1 1 1 . 1                      row 0 = s + f
 *        row 1            1 1 . 1 1 .          =>          row 1 = s - c + e
 *        row 2            1 1 1 1 . .                      row 2 = s
 *
 * Without signs a column is taken where all q rows read it, so that it saves q - 1 reads and nothing is subtracted.
 *
 * Rows may be partial sums of an earlier pass, and so may columns. A row that is a partial sum never subtracts one:
 * with that rule no partial sum can come to depend on itself.
 *
 * Sharing after Z. Jia et al.: Redundancy-free computation for graph neural networks, KDD 2020,
 * doi:10.1145/3394486.3403142; groups by minima of hashes after G. Buehrer, K. Chellapilla: A scalable pattern mining
 * approach to web graph compression with communities, WSDM 2008, doi:10.1145/1341531.1341547.
 */
#pragma once

#include "base/alloc.h"
#include "hal/cpu/sparse/spmm.h"

enum {
    SHARE_ROWS = 64,      /* of a group: bits of a mask */
    SHARE_SUMS = 16,      /* that a group may make */
    SHARE_LEAST_GAIN = 16 /* of a partial sum: smaller ones cost a row's start and end, and room in the caches */
};

/* Rows [0, targets) are those of the matrix, the others are partial sums; columns [0, sources) are those of the
 * matrix, column sources + k is the partial sum of row targets + k. */
typedef struct share_matrix {
    int64_t rows, targets, sources;
    const int64_t *offset; /* [rows + 1] */
    const int32_t *column;
} share_matrix;

typedef struct share_list {
    int32_t *item;
    int64_t count, capacity;
} share_list;

/* What groups have found, one after the other, by one thread. Of each group: of its partial sums the columns, then of
 * its rows the columns that are left, in which -1 - k is the group's partial sum k; and columns to be subtracted. */
typedef struct share_found {
    share_list plus, minus;
    share_list sum_columns; /* number of columns of each partial sum */
} share_found;

/* How it is looked for. */
typedef struct share_search {
    const spmm_kernels *kernels;
    bool signs; /* a row may lack columns of its partial sum, and subtracts them; false: it reads all of them */
    int threads;
} share_search;

typedef struct share_group share_group;

weft_status share_group_create(const share_search *search, share_group **group);
void share_group_destroy(share_group *group); /* NULL is fine */
/*
 * row: [count] of 2 to SHARE_ROWS rows. Appends to *found; [out] sums: partial sums that were found, saved: reads less;
 * plus, minus: [count] entries that each row has now, or has got. found NULL: only `sums` and `saved` are wanted.
 */
weft_status share_group_solve(share_group *group, const share_matrix *m, const int32_t *row, int count,
                              share_found *found, int *sums, int64_t *saved, int64_t *plus, int64_t *minus);
void share_found_free(share_found *found);
