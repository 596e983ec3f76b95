/*
 * gnn/links/link_files.h: links of validation and test from files, as OGB's link property data sets divide them (W. Hu
 * et al.: Open Graph Benchmark. NeurIPS 2020, arXiv 2005.00687), where the edges of the graph are those of training.
 *
 *     FOLDER/valid.npz, FOLDER/test.npz, at least one, with arrays of whole numbers
 *
 *         edge [m, 2], edge_neg [k, 2]                        ppa, collab, ddi, vessel: negatives are shared
 *         source_node, target_node [m], target_node_neg [m, K]   citation2: each link has its own K negatives
 *
 * edge_neg and target_node_neg may be missing: negatives are drawn then. OGB's own files are pickles (.pt), which are
 * refused with the line of Python that makes .npz of them.
 */
#pragma once

#include <stdint.h>

#include "base/status.h"

/* Pairs of vertices, [pairs, 2] and [negatives, 2]. */
typedef struct link_pairs {
    int64_t pairs, negatives;
    int64_t own; /* negatives of each pair, in the order of the pairs; 0: all pairs share them */
    int32_t *end, *negative_end;
} link_pairs;

/* Both for link_pairs_free, also after a failure; a part without a file has 0 pairs. WEFT_ERR_NOINPUT: there is neither
 * file; WEFT_ERR_DATA names file, array, row and value. */
weft_status link_files_read(const char *folder, int64_t vertices, link_pairs *valid, link_pairs *test);
/* Pairs from an .npy file [m, 2]. */
weft_status link_file_pairs(const char *path, int64_t vertices, link_pairs *asked);
void link_pairs_free(link_pairs *pairs);
