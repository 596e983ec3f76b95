/*
 * partition/extract/vertex_set.h: a set of vertices that can tell the place of a member among its members in O(1).
 *
 * One bit a vertex and the number of members before each 64-bit word: n / 8 + n / 8 bytes, where a table from global to
 * local ids takes 4 n.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/alloc.h"
#include "base/integer/bits.h"
#include "partition/partition.h"

typedef struct vertex_set {
    int64_t vertices;
    uint64_t *bits;
    int64_t *before; /* [words], valid after vertex_set_rank */
} vertex_set;

static inline int64_t vertex_set_words(int64_t vertices)
{
    return (vertices + 63) / 64;
}

/* An empty set. */
static inline weft_status vertex_set_create(int64_t vertices, vertex_set *set)
{
    *set = (vertex_set){.vertices = vertices};
    WEFT_TRY(WEFT_NEW_ZERO(&set->bits, vertex_set_words(vertices), WEFT_MEM_PARTITION));
    return WEFT_NEW(&set->before, vertex_set_words(vertices), WEFT_MEM_PARTITION);
}

static inline void vertex_set_free(vertex_set *set)
{
    weft_free(set->bits);
    weft_free(set->before);
    *set = (vertex_set){0};
}

static inline bool vertex_set_has(const vertex_set *set, int64_t v)
{
    return (set->bits[v / 64] >> (v % 64) & 1) != 0;
}

/* May be called by several threads at once. */
static inline void vertex_set_add(vertex_set *set, int64_t v)
{
    uint64_t bit = UINT64_C(1) << (v % 64);
    if ((__atomic_load_n(&set->bits[v / 64], __ATOMIC_RELAXED) & bit) == 0) {
        __atomic_fetch_or(&set->bits[v / 64], bit, __ATOMIC_RELAXED);
    }
}

/* Count the members before each word; call once the set is complete. Returns the number of members. */
static inline int64_t vertex_set_rank(vertex_set *set)
{
    int64_t members = 0;
    for (int64_t w = 0; w < vertex_set_words(set->vertices); ++w) {
        set->before[w] = members;
        members += bits_count(set->bits[w]);
    }
    return members;
}

/* Members smaller than v. */
static inline int64_t vertex_set_place(const vertex_set *set, int64_t v)
{
    const uint64_t at = (uint64_t)v; /* no sign to mind */
    return set->before[at / 64] + bits_count(set->bits[at / 64] & ((UINT64_C(1) << (at % 64)) - 1));
}
