/*
 * gnn/data/read/reader_heterophilous.c: the .npz files of yandex-research/heterophilous-graphs (Platonov et al., A
 * Critical Look at the Evaluation of GNNs under Heterophily, ICLR 2023).
 *
 *   node_features float [n, f]   node_labels int [n]   edges int [m, 2], each undirected edge once
 *   train_masks, val_masks, test_masks bool [10, n]: ten splits
 */
#include "gnn/data/read/reader_formats.h"
#include "gnn/data/read/reader_npz.h"

static const char *const names[] = {"node_features", "node_labels", "edges", NULL};

static weft_status count_vertices(const reader_npz *npz, int64_t *vertices)
{
    int i;
    npy_header header;
    WEFT_TRY(reader_npz_header(npz, "node_labels", &i, &header));
    WEFT_CHECK(header.dims == 1, WEFT_ERR_DATA, "%s[node_labels]: %d dimensions, expected 1", npz->path, header.dims);
    *vertices = header.shape[0];
    return WEFT_OK;
}

static weft_status read_arrays(const reader_npz *npz, raw_graph *raw)
{
    WEFT_TRY(count_vertices(npz, &raw->vertices));
    WEFT_TRY(reader_npz_pairs(npz, "edges", raw));
    WEFT_TRY(reader_npz_dense_features(npz, "node_features", raw));
    WEFT_TRY(reader_npz_labels(npz, "node_labels", raw));
    return reader_npz_splits(npz, raw);
}

const reader_format reader_heterophilous = {
    .name = "heterophilous",
    .description = ".npz with node_features, node_labels, edges and masks (Tolokers, Minesweeper, ...)",
    .symmetrize = true,
    .npz_names = names,
    .read_npz = read_arrays,
};
