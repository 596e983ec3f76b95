/*
 * app/gnn/partition_together.h: a partition that all ranks of a job make, on the one that keeps it.
 */
#ifndef WEFT_APP_GNN_PARTITION_TOGETHER_H
#define WEFT_APP_GNN_PARTITION_TOGETHER_H

#include "app/setup/context.h"
#include "partition/partition.h"

/* The others wait for what one rank does with the graph; until comm_setup_extend_patience(context, 0.0). */
void partition_extend_patience(const app_context *context, const weft_graph *graph);
/* Whether ranks make together what options->method names; the same answer on all of them. */
bool partition_goes_together(const app_context *context, const weft_graph *graph, const partition_options *options);
/*
 * partition_compute_team over the ranks of the job, each with its own mapping of the graph. memory_limit 0: a rank's share of
 * what its node has free. whole: NULL: the figures are enough; [out] on rank 0 the whole partition, partition_destroy, elsewhere
 * left as it is. Collective; errors are those of partition_compute_team, the same on all ranks.
 */
weft_status partition_together(const app_context *context, const weft_graph *graph, const partition_options *options,
                               weft_partition *whole, partition_report *report);

#endif
