/*
 * partition/part_store.h: parts kept as they were cut, beside the partition that they were cut by.
 *
 * Cutting a part takes a pass over all edges of the graph on every rank; reading a kept one takes one over its own. The
 * file part-RANK.npz (part-RANK-clustered.npz, part-RANK-shared.npz, part-RANK-clustered-shared.npz in other orders of
 * local vertices) stands in the partition's folder and goes with it when the partition is replaced; it is used only for
 * the graph and the partition files that it names.
 */
#pragma once

#include "partition/part.h"

/*
 * Read part `part`, as part_extract would have made it. clustered: its order is that of graph_cluster_order.
 * WEFT_ERR_NOINPUT: none is kept, or for another graph or partition; WEFT_ERR_DATA: damaged. Free with part_destroy.
 */
weft_status part_load(const char *store_path, const weft_graph *graph, const partition_options *options, int part,
                      bool clustered, part_layout layout, weft_part *out);
/* Write it; the edges must not be released yet. */
weft_status part_save(const char *store_path, const weft_graph *graph, const partition_options *options,
                      const weft_part *part, bool clustered);
/* Cut all parts (PART_IN_ORDER, no order of vertices) and write them, beside the partition that stands there already.
 * Memory: two parts, of which one is being written, what cutting one takes (part.h), and holders of parts. Failures as
 * of part_holders_find, part_extract and part_save; parts before the one that failed are kept. */
weft_status part_keep_all(const char *store_path, const weft_graph *graph, const partition_options *options,
                          const weft_partition *partition);
