/*
 * clicks/data/click_order.h: the order in which an epoch goes through the rows that train.
 *
 * Rows that follow each other on disk form blocks of CLICK_BLOCK. An epoch takes the blocks in a random order, and
 * shuffles the rows of CLICK_WINDOW blocks together: so a table that is larger than memory is read block by block, and
 * a small one is shuffled whole. The order is a function of (seed, epoch) and the number of rows; nothing is stored.
 */
#pragma once

#include "base/permutation.h"

enum { CLICK_BLOCK = 1 << 14, CLICK_WINDOW = 32 };

typedef struct click_order {
    int64_t rows;
    uint64_t seed;
    uint32_t epoch;
    permutation blocks; /* of the whole blocks; a short last one stays last */
    int64_t window;     /* that `within` is of; -1: none */
    permutation within;
} click_order;

/* rows >= 1. */
click_order click_order_of(int64_t rows, uint64_t seed, uint32_t epoch);
/* Returns the row at a position of the epoch. Positions that rise cost least. Not for several threads at once. */
int64_t click_order_at(click_order *order, int64_t position);
