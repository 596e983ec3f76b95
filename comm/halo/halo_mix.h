/*
 * comm/halo/halo_mix.h: rows of one message in 2, 4 or 8 bits, each as its range deserves.
 *
 * A message of n rows has as many bytes as if all took `bits` bits an element, whatever is in it, so that both sides
 * know its length; which rows take how many is chosen anew for every message and stands at its beginning:
 *
 *      class of each row, 2 bits | rows of int8 | rows of int4 | rows of int2 | zeros
 *
 * Rounding a row of d elements at random with step s adds a variance of about d s^2 / 6, where s is what hal_row_codec
 * says: a third of the row's range, a 7th or a 127th of its largest magnitude. The sum over the rows is made small by
 * the rows whose step is worth most a byte: each row's choices make a convex curve of variance over bytes, its pieces
 * are taken in the order of their slopes until the bytes are used up (the greedy solution of a knapsack, short of the
 * best by less than a row). Slopes are sorted by their exponents and five bits more, so a choice costs two looks at
 * every row.
 *
 * The choice is a function of the rows alone: no message agrees on it, nothing is remembered, and what arrives has the
 * expectation of what was sent. After B. Wan, J. Zhao, C. Wu: Adaptive message quantization and parallelization for
 * distributed full-graph GNN training. MLSys 2023, arXiv 2306.01381, who choose once in many epochs, for all ranks
 * together.
 */
#pragma once

#include <stdint.h>

#include "hal/hal.h"

enum { MIX_CLASSES = 3, MIX_BUCKETS = 1 << 13 };

/* From the beginning of a message to its end; a row's class is the index. */
extern const hal_row_codec halo_mix_codecs[MIX_CLASSES];

/* Smallest and largest element of a row; NaN where one is not finite. */
typedef struct halo_mix_range {
    float low, high;
} halo_mix_range;

halo_mix_range halo_mix_range_of(const float *row, int64_t cols);

static inline int64_t halo_mix_header(int64_t rows)
{
    return (rows + 3) / 4;
}

/* Of a message; 0 of no rows. bits: 2 to 8. */
int64_t halo_mix_bytes(int64_t rows, int64_t cols, double bits);
/* class: [rows]. bucket: [MIX_BUCKETS] of work space. */
void halo_mix_choose(const halo_mix_range *range, int64_t rows, int64_t cols, double bits, int64_t *bucket,
                     uint8_t *class);
/* What the row adds to the variance, by class. */
void halo_mix_variances(halo_mix_range range, int64_t cols, double variance[MIX_CLASSES]);

void halo_mix_write(const uint8_t *class, int64_t rows, uint8_t *header);
/* Classes, and how many rows each has. WEFT_ERR_INTERNAL: a header that no choice writes. */
weft_status halo_mix_read(const uint8_t *header, int64_t rows, int64_t cols, double bits, uint8_t *class,
                          int64_t count[MIX_CLASSES]);
/* order: [rows] places in the message's order: by class, then as they were. */
void halo_mix_order(const uint8_t *class, int64_t rows, int64_t count[MIX_CLASSES], int32_t *order);
