/*
 * partition/partition_team.h: a partition that the ranks of a team make together, each from its own rows of the graph.
 *
 * The vertex-cut of method stream: no rank reads another's edges, or holds anything of their number. Beside its share
 * of the result a rank takes what edge_stream_memory tells, or what replication.h tells where that is more. One rank
 * makes what partition_compute makes.
 */
#pragma once

#include "partition/partition.h"
#include "partition/row_team.h"

typedef struct partition_share {
    uint16_t *edge_part; /* of the edges of this rank's rows */
    uint16_t *root;      /* [n], on every rank */
} partition_share;

/*
 * [out] share: free with partition_share_free, also after a failure; report: the same on all ranks but for seconds and
 * memory, which are this rank's. Collective. WEFT_ERR_USAGE: parts or balance out of range, or another method;
 * WEFT_ERR_DATA: the graph is damaged; WEFT_ERR_RESOURCE: does not fit. The same status on all ranks.
 */
weft_status partition_compute_team(const row_team *team, const partition_options *options, partition_share *share,
                                   partition_report *report);
void partition_share_free(partition_share *share);
