/*
 * embed/rows/row_slabs.h: memory of rows, in slabs that stay where they are while the table grows.
 *
 *     slab        2^shift rows of each column; row r is in slab r >> shift
 *     columns     numbers: float32, or the upper 16 bits of each  |  the lower 16 bits  |  what the rule keeps
 *     live        a bit a row: it is in use
 *
 * A slab is one block, whose largest column has 8 to 16 MiB, in huge pages. What lies at the end of a block may be in
 * small ones: that is of the column of numbers, the largest, and not what a rule keeps, which every update would look
 * for in pages that the processor does not know. The first slab begins with few rows and doubles. The lowest free row
 * is taken first. Rows are 64-bit numbers.
 */
#pragma once

#include <stdint.h>

#include "base/status.h"

enum { ROW_NUMBERS, ROW_LOWER, ROW_STATE, ROW_COLUMNS };

typedef struct row_slab {
    char *block; /* of all columns, the last one first */
    char *column[ROW_COLUMNS];
    uint64_t *live;
} row_slab;

typedef struct row_slabs {
    int64_t row_bytes[ROW_COLUMNS];
    row_slab *slab; /* [slabs] */
    int slabs, slots, shift;
    int64_t capacity; /* rows that there is memory for */
    int64_t rows;     /* in use */
    int64_t lowest;   /* no row below it is free */
    int64_t bytes;
} row_slabs;

static inline void *row_at(const row_slabs *slabs, int column, int64_t row)
{
    const int64_t within = row & (((int64_t)1 << slabs->shift) - 1);
    return slabs->slab[row >> slabs->shift].column[column] + within * slabs->row_bytes[column];
}

/* slabs->row_bytes is set. slab_bytes: of the largest column of a slab, at most, but for one row. */
void row_slabs_open(row_slabs *slabs, int64_t slab_bytes);
void row_slabs_close(row_slabs *slabs);
int64_t row_slabs_row_bytes(const row_slabs *slabs); /* all columns */

/* Bytes that row_slabs_grow takes at once; afterwards it holds no more than that of them. */
int64_t row_slabs_next_bytes(const row_slabs *slabs);
weft_status row_slabs_grow(row_slabs *slabs); /* WEFT_ERR_RESOURCE: nothing has changed */

int64_t row_slabs_take(row_slabs *slabs); /* a free row; there is one: rows < capacity */
/* From several threads at once. The caller sets `rows` and `lowest` afterwards. */
void row_slabs_give_back(row_slabs *slabs, int64_t row);
