/*
 * support/same_part.h: two parts that are to be the same, array for array.
 */
#pragma once

#include "partition/part.h"
#include "support/test.h"

static inline void same_bytes(const void *a, const void *b, int64_t count, size_t size)
{
    if (count > 0) {
        assert_memory_equal(a, b, (size_t)count * size);
    }
}

static inline void same_halo(const part_halo *a, const part_halo *b, int parts)
{
    if (a->own_offset == NULL || a->leaf_offset == NULL) {
        fail_msg("a part of %d has no list of shared rows", parts);
        return;
    }
    same_bytes(a->own_offset, b->own_offset, parts + 1, 8);
    same_bytes(a->leaf_offset, b->leaf_offset, parts + 1, 8);
    same_bytes(a->own_row, b->own_row, a->own_offset[parts], 4);
    same_bytes(a->leaf_row, b->leaf_row, a->leaf_offset[parts], 4);
}

static inline void same_part(const weft_part *a, const weft_part *b)
{
    assert_int_equal(a->part, b->part);
    assert_int_equal(a->parts, b->parts);
    assert_int_equal(a->n_global, b->n_global);
    assert_int_equal(a->e_global, b->e_global);
    assert_int_equal(a->layout, b->layout);
    assert_int_equal(a->n_shared, b->n_shared);
    assert_int_equal(a->n_owned, b->n_owned);
    assert_int_equal(a->n_local, b->n_local);
    assert_int_equal(a->edges, b->edges);
    assert_int_equal(a->symmetric, b->symmetric);
    assert_int_equal(a->whole_rows, b->whole_rows);
    same_bytes(a->gid, b->gid, a->n_local, 8);
    same_bytes(a->offset, b->offset, a->n_local + 1, 8);
    same_bytes(a->source, b->source, a->edges, 4);
    same_bytes(a->in_degree, b->in_degree, a->n_owned, 8);
    same_bytes(a->out_degree, b->out_degree, a->n_owned, 8);
    assert_int_equal(a->weight != NULL, b->weight != NULL);
    if (a->weight != NULL) {
        same_bytes(a->weight, b->weight, a->edges, 4);
        same_bytes(a->in_weight, b->in_weight, a->n_owned, 8);
    }
    same_halo(&a->sources, &b->sources, a->parts);
    same_halo(&a->destinations, &b->destinations, a->parts);
}
