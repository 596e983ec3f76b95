/*
 * partition/stream/homes.h: a home part for every vertex, from passes over the rows of a graph.
 *
 *   every vertex is a cluster of its own
 *   -> a vertex joins the cluster of most of its sources, while that has room      label propagation, a few passes
 *   -> clusters go to parts, the largest first, each to the emptiest part
 *   -> a vertex moves to the part of most of its sources, while that has room      the same passes over parts
 *
 * Callers may also get the cluster that a vertex was in before clusters went to parts.
 *
 * Room is counted in edges and in vertices. With shares (partition/shares.h) a cluster is no larger than the smallest
 * part, or an eighth of the mean one where that is more, and goes to the part with most room left. Rows are read in
 * order; beside them there are
 * 32 bytes a vertex, 16 more a cluster, 8 an edge of the longest row, and nothing for other edges. Sequential: O(edges)
 * a pass, the same homes for any number of threads. Of a directed graph a row shows the edges that lead to its vertex;
 * the others are counted in its degree.
 *
 * In a team each rank walks over its own rows, and learns between blocks of them the labels of the other ranks'
 * vertices. Until then a rank uses at most its share of the room that a label has left, so that no label exceeds its
 * room.
 *
 * U. N. Raghavan, R. Albert, S. Kumara: Near linear time algorithm to detect community structures in large-scale
 * networks. Phys. Rev. E 76, 2007, doi:10.1103/PhysRevE.76.036106; the bound on clusters: H. Meyerhenke, P. Sanders, C.
 * Schulz, SEA 2014, doi:10.1007/978-3-319-07959-2_30.
 */
#pragma once

#include "partition/row_team.h"

enum { HOMES_BYTES_PER_VERTEX = 48, HOMES_CLUSTERS = 1 << 16 };

/* asked [parts] or NULL: shares (partition/shares.h). degree [n]: edges that begin or end at a vertex, each counted
 * once where the graph is symmetric. [out] home [n], and cluster [n] or NULL: the largest is 0, and all beyond
 * HOMES_CLUSTERS are one, as are vertices without edges; both the same on every rank of the team. */
weft_status homes_find(const row_team *team, const int64_t *degree, int parts, const double *asked, uint16_t *home,
                       uint16_t *cluster);
