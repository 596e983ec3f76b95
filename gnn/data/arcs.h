/*
 * gnn/data/arcs.h: directed edges collected in bounded memory and turned into CSR.
 *
 *   parser threads --> writers (a chunk each) --> chunks in memory while they fit
 *                                             \-> an unlinked temporary file beside the store when they do not
 *   count rows in one pass --> ranges of destinations that fit --> each filled, sorted, freed of duplicates
 *
 * The order in which edges arrive does not matter: rows are sorted. The result does not depend on the memory limit, nor
 * on the threads. Memory: 16 bytes a vertex, and what the limit leaves for edges (8 bytes collected, 4 in the CSR).
 * Disk when spilled: 8 bytes an edge, and 4 bytes an entry of the CSR until the store is written.
 */
#ifndef WEFT_GNN_DATA_ARCS_H
#define WEFT_GNN_DATA_ARCS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/status.h"

typedef struct arcs arcs;

/* memory_bytes: limit of everything here, 0 = half of the memory that is available. beside: a path in whose folder a
 * temporary file may be made. writers: how many threads collect. */
weft_status arcs_create(int64_t memory_bytes, const char *beside, int writers, arcs **out);
void arcs_free(arcs *a); /* NULL is allowed */

/* Add the edge from -> to; ids from 0. Each writer 0 .. writers - 1 is used by one thread at a time. */
weft_status arcs_add(arcs *a, int writer, int32_t from, int32_t to);
/* The same for `count` edges that lie apart as (from, to) pairs. */
weft_status arcs_add_pairs(arcs *a, int writer, const int32_t *pairs, int64_t count);

/* After the last arcs_add. */
int64_t arcs_count(const arcs *a);
int64_t arcs_loops(const arcs *a);      /* self-loops among them */
int64_t arcs_largest_id(const arcs *a); /* -1 when there are none */

/* CSR by destination. offset [vertices + 1]; source [entries] lies in memory or, `mapped`, in an unlinked file. */
typedef struct arcs_csr {
    int64_t vertices, entries;
    int64_t *offset;
    const int32_t *source;
    void *memory; /* what csr_free gives back */
    size_t mapped_bytes;
    bool spilled;
} arcs_csr;

/* Sort into CSR without duplicates; the collected edges are given up. Ids are checked against `vertices`. */
weft_status arcs_build(arcs *a, int64_t vertices, bool add_reverse, bool keep_self_loops, arcs_csr *csr);
void arcs_csr_free(arcs_csr *csr);

#endif
