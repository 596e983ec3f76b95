/* app/workload/held_rows.h: which rows of a matrix that is spread over the ranks a rank has. */
#pragma once

#include <stddef.h>
#include <stdint.h>

/* Each row has one rank. */
typedef struct held_rows {
    int64_t total;     /* rows over all ranks */
    int64_t count;     /* rows of this rank */
    const int64_t *id; /* [count] their global ids, from 0 to total - 1, in any order; NULL: first, first + 1, ... */
    int64_t first;
} held_rows;

/* The global id of a row of this rank. */
static inline int64_t held_row_id(const held_rows *held, int64_t row)
{
    return held->id != NULL ? held->id[row] : held->first + row;
}
