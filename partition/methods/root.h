/*
 * partition/methods/root.h: which of its replicas computes a vertex, in a vertex-cut.
 *
 * The root carries the dense work, so parts should hold equally many; and the root should be where most of the vertex's
 * edges are. A vertex held once has no choice. Split vertices then take, in id order, the part with most of their edges
 * among those below the mean number of roots + 5 %, or the least filled part that holds them when all are full. A part
 * left with fewer roots than the mean is filled up from the others' split vertices. Isolated vertices go where
 * roots are fewest. No choice adds a replica. With shares (partition/shares.h) the mean and the room of a part are its
 * share of the whole. Sequential over vertices: O(replicas).
 *
 * In a team each rank chooses for the vertices of its rows. It may use the fraction of a part's remaining room that
 * corresponds to its fraction of the vertices that could go there.
 */
#pragma once

#include "partition/methods/replication.h"

/*
 * share [parts] or NULL: partition/shares.h. [out] root [n], of all ranks' vertices. edge_part [edges of own rows]:
 * where it is PARTITION_NO_PART, of a self-loop, it becomes the root of the vertex. Collective over the table's team.
 */
weft_status partition_choose_roots(const replica_table *table, int parts, const double *share, int threads,
                                   uint16_t *edge_part, uint16_t *root);
