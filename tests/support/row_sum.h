/* support/row_sum.h: the rows of a file as one number, whatever pieces they are read in. */
#pragma once

#include <stdatomic.h>

#include "base/file.h"
#include "table/rows/row_index.h"

typedef struct row_sum {
    csv_marks marks;
    atomic_ullong sum; /* of a hash of each row and its number */
    atomic_llong rows;
} row_sum;

/* A row_parse_fn. Adds the rows of a piece that are wanted. */
static inline weft_status row_sum_parse(void *self, row_piece *piece)
{
    row_sum *s = self;
    int64_t row = piece->row;
    for (const char *at = piece->text; at < piece->end;) {
        bool inside = false;
        const size_t left = (size_t)(piece->end - at), end = row_find_end(&s->marks, at, 0, left, &inside);
        const size_t bytes = end - (end > 0 && at[end - 1] == '\r');
        if (bytes > 0) {
            if (row >= piece->first && row < piece->last) {
                atomic_fetch_add(&s->sum, file_checksum(at, bytes, (uint64_t)row));
                atomic_fetch_add(&s->rows, 1);
            }
            row++;
        }
        at += end < left ? end + 1 : left;
    }
    return WEFT_OK;
}

/* Reads rows in `parts` ranges. [out] rows, sum. */
static inline weft_status row_sum_read(const char *path, char quote, int64_t segment, int parts, int64_t *rows,
                                       uint64_t *sum)
{
    const int64_t begin = 0;
    row_sum s = {.marks = {.separator = ',', .quote = quote}};
    const row_layout layout = {.marks = s.marks, .begin = &begin, .segment = segment};
    row_source *source;
    atomic_init(&s.sum, 0);
    atomic_init(&s.rows, 0);
    WEFT_TRY(row_source_open(&path, 1, &layout, &source));
    weft_status status = row_source_count(source, NULL);
    *rows = status == WEFT_OK ? row_source_rows(source) : 0;
    for (int p = 0; p < parts && status == WEFT_OK; p++) {
        const int64_t first = table_first_row(*rows, p, parts);
        status = row_source_read(source, first, table_first_row(*rows, p + 1, parts) - first, row_sum_parse, &s);
    }
    row_source_close(source);
    *sum = atomic_load(&s.sum);
    return status == WEFT_OK && atomic_load(&s.rows) != *rows
               ? weft_fail(WEFT_ERR_INTERNAL, "%lld rows handed out of %lld", (long long)atomic_load(&s.rows),
                           (long long)*rows)
               : status;
}
