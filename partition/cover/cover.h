/*
 * partition/cover/cover.h: from a node partition to a vertex-cut with the fewest replicas.
 *
 * A cut edge {u, v}, u in part i, v in part j, may go to either part: to j, and u gets a replica in j; or to i, and v
 * gets one in i. For each pair of parts, the vertices that get replicas must cover its cut edges, so the fewest are a
 * minimum vertex cover of a bipartite graph, and the pairs of parts do not interact. An edge with both ends in the
 * cover may go to either side: to the part with fewer pairs so far.
 *
 * Time: the sum of the matchings, in parallel over pairs of parts; memory: 8 bytes a cut pair, and for each thread 20
 * bytes a vertex and 4 bytes an edge of the largest bipartite graph. Fewer than 2^31 pairs.
 */
#pragma once

#include "partition/cover/edge_pairs.h"

/* node_part [vertices]; share [parts] or NULL: partition/shares.h; [out] pair_part [pairs]. */
weft_status cover_assign(const pair_list *list, const uint16_t *node_part, int parts, const double *share, int threads,
                         uint16_t *pair_part);
