/*
 * gnn/data/read/reader_gnn_benchmark.c: the .npz files of shchur/gnn-benchmark (Shchur et al., Pitfalls of Graph Neural
 * Network Evaluation, 2018, arXiv:1811.05868).
 *
 *   adj_data, adj_indices, adj_indptr, adj_shape     CSR adjacency, entries u -> v; most graphs hold one direction only
 *   attr_data, attr_indices, attr_indptr, attr_shape sparse features, or attr_matrix [n, f]
 *   labels                                           int [n]; BlogCatalog counts classes from 1
 *
 * They carry no split: weft convert --split FILE.npz takes one. Name lists (class_names, ...) are not read.
 */
#include "gnn/data/read/reader_formats.h"
#include "gnn/data/read/reader_npz.h"

static const char *const names[] = {"adj_indices", "adj_indptr", "adj_shape", NULL};

static weft_status read_arrays(const reader_npz *npz, raw_graph *raw)
{
    WEFT_TRY(reader_npz_adjacency(npz, "adj", raw));
    if (reader_npz_has(npz, "attr_indptr")) {
        WEFT_TRY(reader_npz_sparse_features(npz, "attr", raw));
    } else if (reader_npz_has(npz, "attr_matrix")) {
        WEFT_TRY(reader_npz_dense_features(npz, "attr_matrix", raw));
    }
    if (reader_npz_has(npz, "labels")) {
        WEFT_TRY(reader_npz_labels(npz, "labels", raw));
    }
    return reader_npz_splits(npz, raw);
}

const reader_format reader_gnn_benchmark = {
    .name = "gnn-benchmark",
    .description = ".npz with adj_*, attr_* and labels (Amazon, Coauthor, BlogCatalog)",
    .symmetrize = true,
    .npz_names = names,
    .read_npz = read_arrays,
};
