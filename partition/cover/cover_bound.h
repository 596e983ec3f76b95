/*
 * partition/cover/cover_bound.h: how few replicas the covers of a cut can have, before they are sought.
 */
#pragma once

#include "partition/cover/adjacency.h"

/*
 * [out] bound: a vertex-cut that keeps the parts of the vertices (node_part [vertices]) and covers each pair between
 * two parts has so many replicas at least, beside one of each vertex. Each pair between parts a and b needs a replica
 * of one end in the other's part, so pairs of a and b that share no end need one each; they are taken as they come,
 * which finds at least half of the most there are.
 */
weft_status cover_bound(const adjacency *adjacent, const uint16_t *node_part, int parts, int64_t *bound);
