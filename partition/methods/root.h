/* partition/methods/root.h: the root of every vertex of a vertex-cut. */
#ifndef WEFT_PARTITION_METHODS_ROOT_H
#define WEFT_PARTITION_METHODS_ROOT_H

#include "partition/partition.h"

/* Fill partition->root from partition->edge_part, then give self-loops to the root of their vertex. */
weft_status partition_choose_roots(const weft_graph *graph, int threads, weft_partition *partition);

#endif
