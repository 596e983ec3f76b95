/*
 * gnn/data/read/reader_sparse.c: sparse features as inputs have them, made what a store holds: columns ascend in each
 * row, each once, and no number is 0. Entries of one place add up in their order, as in SciPy.
 */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

#include "base/alloc.h"
#include "base/number.h"
#include "gnn/data/read/reader_parts.h"

typedef struct sparse_entry {
    int32_t column;
    float value;
    int64_t place; /* in the input: entries of one column stay in order */
} sparse_entry;

static int compare_entries(const void *a, const void *b)
{
    const sparse_entry *x = a, *y = b;
    return x->column != y->column ? (x->column > y->column) - (x->column < y->column)
                                  : (x->place > y->place) - (x->place < y->place);
}

/* Entries first .. end - 1 of the input become numbers from `to` on. Returns the end of these. */
static weft_status settle_row(const char *input, raw_graph *raw, int64_t v, int64_t first, int64_t end,
                              sparse_entry *room, int64_t *to)
{
    const int64_t begin = *to;
    for (int64_t i = first; i < end; i++) {
        room[i - first] = (sparse_entry){raw->feature_column[i], raw->feature_value[i], i};
    }
    qsort(room, (size_t)(end - first), sizeof *room, compare_entries);
    for (int64_t i = 0; i < end - first; i++) {
        if (*to > begin && raw->feature_column[*to - 1] == room[i].column) {
            raw->feature_value[*to - 1] += room[i].value;
        } else {
            raw->feature_column[*to] = room[i].column;
            raw->feature_value[(*to)++] = room[i].value;
        }
    }
    int64_t kept = begin;
    for (int64_t i = begin; i < *to; i++) {
        const float value = raw->feature_value[i];
        WEFT_CHECK(isfinite(value), WEFT_ERR_DATA, "%s: feature, row %" PRId64 ", column %d: the entries add up to %g",
                   input, v, raw->feature_column[i], number_plain((double)value));
        if (value != 0.0F) {
            raw->feature_column[kept] = raw->feature_column[i];
            raw->feature_value[kept++] = value;
        }
    }
    *to = kept;
    return WEFT_OK;
}

weft_status reader_settle_sparse(const char *input, raw_graph *raw)
{
    int64_t longest = 0;
    for (int64_t v = 0; raw->feature_offset != NULL && v < raw->vertices; v++) {
        const int64_t length = raw->feature_offset[v + 1] - raw->feature_offset[v];
        longest = length > longest ? length : longest;
    }
    sparse_entry *room = NULL;
    weft_status status = WEFT_OK;
    if (longest == 0) {
        return WEFT_OK;
    }
    WEFT_TRY(WEFT_NEW(&room, longest, WEFT_MEM_WORKSPACE));
    int64_t first = 0, to = 0;
    for (int64_t v = 0; v < raw->vertices && status == WEFT_OK; v++) {
        const int64_t end = raw->feature_offset[v + 1];
        status = settle_row(input, raw, v, first, end, room, &to);
        raw->feature_offset[v + 1] = to;
        first = end;
    }
    weft_free(room);
    return status;
}
