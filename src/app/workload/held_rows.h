/* app/workload/held_rows.h: which rows of a matrix that is spread over the ranks a rank has. */
#pragma once

#include <stdint.h>

/* Each row has one rank. */
typedef struct held_rows {
    int64_t total;     /* rows over all ranks */
    int64_t count;     /* rows of this rank */
    const int64_t *id; /* [count] their global ids, from 0 to total - 1, in any order */
} held_rows;
