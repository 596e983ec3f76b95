/*
 * app/gnn/divide/partition_together.h: a partition that all ranks of a job make, on the one that keeps it.
 */
#pragma once

#include "app/setup/context.h"
#include "partition/partition.h"

/* The others wait for what one rank does with the graph; until comm_setup_extend_patience(context, 0.0). */
void partition_extend_patience(const app_context *context, const weft_graph *graph);
/* [out] together: whether the ranks of a job make what options->method names: stream, and auto where rank 0 could not
 * have METIS do it. The same on all ranks. Collective. */
weft_status partition_goes_together(const app_context *context, const weft_graph *graph,
                                    const partition_options *options, bool *together);
/* What ranks together understand by options->method: auto is stream. */
const char *partition_method_together(const partition_options *options);
/*
 * partition_compute_team over the ranks of the job, each with its own mapping of the graph. memory_limit 0: a rank's
 * share of what its node has free. whole: NULL: the figures are enough; [out] on rank 0 the whole partition,
 * partition_destroy, elsewhere left as it is. Collective; errors are those of partition_compute_team, the same on all
 * ranks.
 */
weft_status partition_together(const app_context *context, const weft_graph *graph, const partition_options *options,
                               weft_partition *whole, partition_report *report);
