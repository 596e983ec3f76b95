/* train/batch/row_split.h: which rows validate, test and train where no column says it: shares of all rows, drawn by
 * their numbers, or files of their own. */
#pragma once

#include <math.h>

#include "base/permutation.h"
#include "base/philox.h"
#include "train/model.h"

typedef struct row_split {
    permutation order;
    int64_t test, held; /* rows that test, and that test or validate */
} row_split;

/* valid, test: shares of `rows` rows. */
static inline row_split row_split_make(int64_t rows, double valid, double test, uint64_t seed)
{
    const int64_t tests = (int64_t)floor(test * (double)rows + 0.5);
    return (row_split){.order = permutation_make((uint64_t)(rows > 0 ? rows : 1), seed, WEFT_RNG_SPLIT, 0),
                       .test = tests,
                       .held = tests + (int64_t)floor(valid * (double)rows + 0.5)};
}

/* Returns the split of a row by its number. */
static inline uint8_t row_split_drawn(const row_split *split, int64_t row)
{
    const int64_t place = (int64_t)permute(&split->order, (uint64_t)row);
    return place < split->test ? 2 : place < split->held ? 1 : TRAIN_SPLIT_TRAIN;
}

/* Returns the split of a row by the file that it stands in. part, file_row: [files] split and first row of each. */
static inline uint8_t row_split_of_file(const uint8_t *part, const int64_t *file_row, int files, int64_t row)
{
    int file = files - 1;
    while (file > 0 && file_row[file] > row) {
        --file;
    }
    return part[file];
}
