/*
 * table/sparse_block.h: features of which most cells are not given, as one block of rows (CSR) beside the columns.
 *
 * Row i has the features index[start[i] .. start[i + 1]), ascending and each once, with the values beside them; all
 * others are 0. A zero that the file gives is kept. Feature k is the one that the file numbers k + base.
 *
 *   for (int64_t e = s->start[i]; e < s->start[i + 1]; e++) {
 *       sum += s->value[e] * weight[sparse_feature(s, e)];
 *   }
 *
 * Memory: 8 bytes a row, and for each entry 8 bytes, or 12 beyond 2^31 - 1 features.
 */
#pragma once

#include <stdint.h>

/* Are features kept as a block? Auto: unless they are at most SPARSE_NARROW, or at most SPARSE_DENSE_MOST and a quarter
 * of their cells is given. */
#define TABLE_SPARSES(X)                                                                                               \
    X(TABLE_SPARSE_NO, "no")                                                                                           \
    X(TABLE_SPARSE_AUTO, "auto")                                                                                       \
    X(TABLE_SPARSE_YES, "yes")

enum { SPARSE_NARROW = 256, SPARSE_DENSE_MOST = 65536, SPARSE_FILL = 4 };

typedef struct table_sparse {
    int64_t columns;      /* features; 0: the table has no such block */
    int64_t base;         /* number of the first feature in the file */
    const int64_t *start; /* [rows + 1]; start[0] need not be 0 */
    const void *index;    /* int32_t, or int64_t if index_bytes is 8 */
    const float *value;
    int index_bytes;
} table_sparse;

static inline int sparse_index_bytes(int64_t columns)
{
    return columns <= INT32_MAX ? 4 : 8;
}

/* The feature of an entry. */
static inline int64_t sparse_feature(const table_sparse *s, int64_t entry)
{
    return s->index_bytes == 4 ? ((const int32_t *)s->index)[entry] : ((const int64_t *)s->index)[entry];
}
