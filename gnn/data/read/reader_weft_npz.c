/*
 * gnn/data/read/reader_weft_npz.c: the plain .npz that scripts/convert_planetoid writes and that a person can write
 * with numpy.savez (docs/formats.md).
 *
 *   vertices int []              edges int [m, 2]
 *   features [n, f], or sparse feature_data, feature_indices, feature_indptr, feature_shape     (may be absent)
 *   labels int [n], -1 = none; or 0, 1, nan [n, tasks]                                          (may be absent)
 *   train, valid, test: index lists or masks                                                    (may be absent)
 */

#include "base/alloc.h"
#include "gnn/data/read/reader_formats.h"
#include "gnn/data/read/reader_npz.h"

static const char *const names[] = {"vertices", "edges", NULL};

static weft_status read_arrays(const reader_npz *npz, raw_graph *raw)
{
    int64_t *vertices;
    WEFT_TRY(reader_npz_ints(npz, "vertices", 0, NULL, &vertices));
    raw->vertices = vertices[0];
    weft_free(vertices);
    WEFT_TRY(reader_npz_pairs(npz, "edges", raw));
    if (reader_npz_has(npz, "feature_indptr")) {
        WEFT_TRY(reader_npz_sparse_features(npz, "feature", raw));
    } else if (reader_npz_has(npz, "features")) {
        WEFT_TRY(reader_npz_dense_features(npz, "features", raw));
    }
    if (reader_npz_has(npz, "labels")) {
        WEFT_TRY(reader_npz_label_array(npz, npz_find(npz->file, "labels"), raw));
    }
    return reader_npz_splits(npz, raw);
}

const reader_format reader_weft_npz = {
    .name = "weft-npz",
    .description = ".npz with vertices, edges, features, labels, split (scripts/convert_planetoid, NumPy users)",
    .symmetrize = true,
    .npz_names = names,
    .read_npz = read_arrays,
};
