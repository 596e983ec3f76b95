/*
 * gnn/data/build/arcs.h: directed edges collected in bounded memory and turned into CSR.
 *
 *   parser threads --> writers (a chunk each) --> chunks in memory while they fit
 *                                             \-> an unlinked temporary file beside the store when they do not
 *   csr_build: counted in one pass, then sorted by ranges of destinations that fit
 *
 * The order in which edges arrive does not matter, and the result depends neither on the memory limit nor on the
 * threads. Memory: the limit, in which the 8 bytes a vertex of the offsets count. Disk beyond it: 8 bytes an edge when
 * even the collected edges do not fit, and 4 bytes an entry of the CSR until the store is written.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "gnn/data/build/csr_build.h"

typedef struct arcs arcs;

/* memory_bytes: limit of everything here, 0 = half of the memory that is available. beside: a path in whose folder a
 * temporary file may be made. writers: how many threads collect (text_source_threads). */
weft_status arcs_create(int64_t memory_bytes, const char *beside, int writers, arcs **out);
void arcs_free(arcs *a); /* NULL is allowed */

/* Add `count` edges from -> to, as pairs (from, to) of ids from 0. Each writer 0 .. writers - 1 is used by one thread
 * at a time. */
weft_status arcs_add(arcs *a, int writer, const int32_t *pairs, int64_t count);

/* A place for `room` pairs, which may be filled and then taken as edges, `count` of them from the first on. *pairs:
 * NULL when chunks are smaller than that: use arcs_add. Nothing else is done with this writer between the two calls. */
weft_status arcs_room(arcs *a, int writer, int64_t room, int32_t **pairs);
void arcs_take(arcs *a, int writer, int64_t count);

int64_t arcs_count(const arcs *a);       /* at any time */
int64_t arcs_loops(const arcs *a);       /* self-loops among them; not while writers are at work, as what follows */
int64_t arcs_smallest_id(const arcs *a); /* 2147483647 when there are none */
int64_t arcs_largest_id(const arcs *a);  /* -1 when there are none */
bool arcs_spilled(const arcs *a);        /* some lie in the temporary file */

/* Sort into CSR without duplicates. WEFT_ERR_DATA when an id is not below `vertices`; WEFT_ERR_RESOURCE when the limit
 * is too small for the graph, with the figures. */
weft_status arcs_build(arcs *a, int64_t vertices, bool add_reverse, bool keep_self_loops, csr_graph *graph);
