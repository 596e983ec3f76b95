/*
 * gnn/data/split/split_part.h: one part of a split (train, valid or test) as an array gives it: a list of vertices, or
 * masks.
 *
 * One rule decides, for n vertices (python/weft/store.py has the same):
 *
 *   bool                 [n], [n, k] or [k, n]: masks
 *   numbers [n, k] or [k, n]    of 0 and 1: masks
 *   numbers [n]          of 0 and 1, of which one comes twice (or uint8): a mask, because a list names a vertex once
 *   other numbers [m]    a list of vertices; so [0, 1] of two vertices is the list of both
 *
 * Masks of uint8 may write 255 for 1. Masks [n, n] are refused, because either dimension could be the vertices.
 */
#pragma once

#include "gnn/data/read/reader.h"
#include "io/npy.h"

typedef struct reader_part {
    char name[FILE_PATH_MAX]; /* FILE or FILE[ARRAY], for messages */
    npy_array array;          /* C order, native byte order; the header alone suffices for reader_part_shape */
    bool text;                /* a list from text, which names vertices as the edges do */
} reader_part;

/* How often the values of an array occur. */
typedef struct reader_census {
    bool bytes;                        /* uint8, whose 255 may mean 1 */
    int64_t zeros, ones, full, others; /* full: 255 of bytes */
    int64_t other, at;                 /* the first other value, and its element */
    int64_t least, most;               /* of all values; INT64_MAX and INT64_MIN: there is none */
} reader_census;

/* Masks of `splits` splits, in which element e is vertex e / splits (by_vertex: [n, splits]) or e % n. */
typedef struct reader_layout {
    int64_t splits;
    bool by_vertex;
} reader_layout;

/* [out] layout of an array [n], [n, k] or [k, n]. WEFT_ERR_DATA: another shape, [n, n], or more than 1000 splits;
 * `expected` says what else the file could hold. */
weft_status reader_layout_find(const char *name, const npy_header *header, int64_t vertices, const char *expected,
                               reader_layout *layout);
static inline int64_t reader_layout_vertex(const reader_layout *layout, int64_t vertices, int64_t element)
{
    return layout->by_vertex ? element / layout->splits : element % vertices;
}
static inline int64_t reader_layout_split(const reader_layout *layout, int64_t vertices, int64_t element)
{
    return layout->by_vertex ? element % layout->splits : element / vertices;
}

/* Calls visit for each element of the array, in order, until one fails. */
weft_status reader_walk(const char *name, const npy_array *array,
                        weft_status (*visit)(void *self, int64_t element, int64_t value), void *self);
weft_status reader_count_values(const char *name, const npy_array *array, reader_census *census);

/* WEFT_ERR_DATA unless an array of this header can be a part: before its data are read. */
weft_status reader_part_shape(const reader_part *part, int64_t vertices);
/* raw->split and splits from the parts train, valid and test, whose arrays become free. A vertex is in one part at
 * most. A part in one dimension belongs to every split. */
weft_status reader_put_parts(reader_part part[], raw_graph *raw);
