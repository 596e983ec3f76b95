/* embed/rows/row_slabs.c: slabs of rows; see the header. */
#include "embed/rows/row_slabs.h"

#include <assert.h>
#include <stdbool.h>
#include <string.h>

#include "base/alloc.h"
#include "base/grow.h"
#include "base/integer/integers.h"
#include "embed/rows/row_store.h"

enum { FIRST_SHIFT = 8, WORD = 64 };

void row_slabs_open(row_slabs *slabs, int64_t slab_bytes)
{
    int64_t largest = 1;
    for (int c = 0; c < ROW_COLUMNS; ++c) {
        largest = larger(largest, slabs->row_bytes[c]);
    }
    while (largest << (slabs->shift + 1) <= slab_bytes) {
        slabs->shift += 1;
    }
}

static void free_slab(row_slab *slab)
{
    WEFT_FREE_ALL(slab->block, slab->live);
}

void row_slabs_close(row_slabs *slabs)
{
    for (int i = 0; i < slabs->slabs; ++i) {
        free_slab(&slabs->slab[i]);
    }
    weft_free(slabs->slab);
}

int64_t row_slabs_row_bytes(const row_slabs *slabs)
{
    return slabs->row_bytes[ROW_NUMBERS] + slabs->row_bytes[ROW_LOWER] + slabs->row_bytes[ROW_STATE];
}

static int64_t bytes_of(const row_slabs *slabs, int64_t rows)
{
    return rows * row_slabs_row_bytes(slabs) + whole(rows, WORD) / 8;
}

/* Rows of the slab that row_slabs_grow makes; the first one is made larger again and again. */
static int64_t next_rows(const row_slabs *slabs)
{
    const int64_t full = (int64_t)1 << slabs->shift;
    if (slabs->capacity >= full) {
        return full;
    }
    return smaller(full, larger(slabs->capacity * 2, (int64_t)1 << FIRST_SHIFT));
}

int64_t row_slabs_next_bytes(const row_slabs *slabs)
{
    return bytes_of(slabs, next_rows(slabs));
}

static weft_status make_slab(const row_slabs *slabs, int64_t rows, row_slab *slab)
{
    WEFT_TRY(weft_malloc((size_t)rows, (size_t)row_slabs_row_bytes(slabs), WEFT_MEM_ROWS, (void **)&slab->block));
    char *column = slab->block;
    for (int c = ROW_COLUMNS - 1; c >= 0; --c) {
        slab->column[c] = column;
        column += rows * slabs->row_bytes[c];
    }
    return WEFT_NEW_ZERO(&slab->live, whole(rows, WORD) / WORD, WEFT_MEM_ROWS);
}

static void move_slab(const row_slabs *slabs, const row_slab *from, row_slab *to)
{
    for (int c = 0; c < ROW_COLUMNS; ++c) {
        if (slabs->row_bytes[c] > 0) {
            memcpy(to->column[c], from->column[c], (size_t)(slabs->capacity * slabs->row_bytes[c]));
        }
    }
    memcpy(to->live, from->live, (size_t)(whole(slabs->capacity, WORD) / 8));
}

weft_status row_slabs_grow(row_slabs *slabs)
{
    const int64_t rows = next_rows(slabs);
    const bool again = slabs->slabs == 1 && slabs->capacity < (int64_t)1 << slabs->shift;
    row_slab fresh = {0};
    weft_status status = WEFT_OK;
    WEFT_TRY_GOTO(make_slab(slabs, rows, &fresh), status, done);
    if (again) {
        move_slab(slabs, &slabs->slab[0], &fresh);
        free_slab(&slabs->slab[0]);
        slabs->slab[0] = fresh;
        slabs->bytes += bytes_of(slabs, rows) - bytes_of(slabs, slabs->capacity);
        slabs->capacity = rows;
        return WEFT_OK;
    }
    WEFT_TRY_GOTO(grow_array((void **)&slabs->slab, sizeof *slabs->slab, slabs->slabs, &slabs->slots, WEFT_MEM_ROWS),
                  status, done);
    slabs->slab[slabs->slabs++] = fresh;
    slabs->bytes += bytes_of(slabs, rows);
    slabs->capacity += rows;
    return WEFT_OK;
done:
    free_slab(&fresh);
    return status;
}

int64_t row_slabs_take(row_slabs *slabs)
{
    assert(slabs->rows < slabs->capacity);
    const int64_t full = (int64_t)1 << slabs->shift;
    for (;;) {
        const int64_t row = slabs->lowest;
        const int64_t within = row & (full - 1);
        uint64_t *live = slabs->slab[row >> slabs->shift].live + within / WORD;
        const uint64_t open = ~*live >> within % WORD;
        const int64_t step = open != 0 ? __builtin_ctzll(open) : WORD - within % WORD;
        slabs->lowest = row + smaller(step, full - within);
        if (open != 0 && within + step < full) {
            *live |= UINT64_C(1) << (within + step) % WORD;
            slabs->rows += 1;
            return slabs->lowest;
        }
    }
}

void row_slabs_give_back(row_slabs *slabs, int64_t row)
{
    const int64_t within = row & (((int64_t)1 << slabs->shift) - 1);
    uint64_t *live = slabs->slab[row >> slabs->shift].live + within / WORD;
    __atomic_fetch_and(live, ~(UINT64_C(1) << within % WORD), __ATOMIC_RELAXED);
}
