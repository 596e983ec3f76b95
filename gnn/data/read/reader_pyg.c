/*
 * gnn/data/read/reader_pyg.c: the .npz that users of PyTorch Geometric save of a Data object, numpy.savez(FILE,
 * edge_index=..., ...).
 *
 *   edge_index int [2, e]: edges edge_index[0] -> edge_index[1]
 *   x [n, f]                                 (may be absent; also features, feat, ...)
 *   y int [n] or [n, 1], or 0, 1, nan [n, tasks]     (may be absent; also labels, label, ...)
 *   train_mask, val_mask, test_mask, or lists train_idx, ...     (may be absent)
 *   num_nodes int                            (may be absent: the rows of x or y, --vertices, or the largest id + 1)
 *   edge_weight or edge_attr [e] or [e, 1]   (--edge-weights takes them)
 */
#include <inttypes.h>

#include "base/alloc.h"
#include "base/log.h"
#include "gnn/data/build/arcs.h"
#include "gnn/data/convert_options.def"
#include "gnn/data/read/reader_formats.h"
#include "gnn/data/read/reader_parts.h"

static const char *const names[] = {"edge_index", NULL};

/* [out] vertices: what num_nodes, --vertices, x or y says; 0 = nothing does. */
static weft_status find_vertices(const reader_npz *npz, const raw_graph *raw, int64_t *vertices)
{
    static const char *const counts[] = {"num_nodes", "vertices", NULL};
    const int count = reader_npz_find(npz, counts);
    const int rows[] = {reader_npz_find(npz, reader_feature_names), reader_npz_find(npz, reader_label_names)};
    npy_header header;
    *vertices = raw->asked_vertices;
    for (size_t i = 0; i < sizeof rows / sizeof *rows && *vertices == 0; i++) {
        if (rows[i] >= 0) {
            WEFT_TRY(npz_read_header(npz->file, rows[i], &header));
            *vertices = header.dims > 0 ? header.shape[0] : 0;
        }
    }
    if (count < 0) {
        return WEFT_OK;
    }
    int64_t one = 1;
    int64_t *value;
    WEFT_TRY(npz_read_header(npz->file, count, &header));
    WEFT_TRY(reader_npz_ints(npz, npz_name(npz->file, count), header.dims > 0 ? 1 : 0, &one, &value));
    *vertices = value[0];
    weft_free(value);
    WEFT_CHECK(raw->asked_vertices == 0 || raw->asked_vertices == *vertices, WEFT_ERR_USAGE,
               FLAG_VERTICES " %" PRId64 ": %s[%s] is %" PRId64, raw->asked_vertices, npz->path,
               npz_name(npz->file, count), *vertices);
    return reader_check_vertices(npz->path, *vertices);
}

/* Without a number of vertices it is the largest id + 1. */
static weft_status read_edges(const reader_npz *npz, raw_graph *raw)
{
    WEFT_TRY(find_vertices(npz, raw, &raw->vertices));
    const bool known = raw->vertices > 0;
    raw->vertices = known ? raw->vertices : INT32_MAX;
    WEFT_TRY(reader_npz_edge_index(npz, "edge_index", raw));
    raw->vertices = known ? raw->vertices : arcs_largest_id(raw->arcs) + 1;
    return reader_check_vertices(npz->path, raw->vertices);
}

static void tell_of_edge_data(const reader_npz *npz, const raw_graph *raw)
{
    static const char *const weights[] = {"edge_weight", "edge_attr", NULL};
    const int member = reader_npz_find(npz, weights);
    if (member >= 0 && !raw->weighs) {
        log_warn("%s[%s]: edge weights are used where " FLAG_CONVERT_WEIGHTS " names the file, else dropped", npz->path,
                 npz_name(npz->file, member));
    }
}

static weft_status read_arrays(const reader_npz *npz, raw_graph *raw)
{
    const int features = reader_npz_choose(npz, reader_feature_names);
    const int labels = reader_npz_choose(npz, reader_label_names);
    WEFT_TRY(read_edges(npz, raw));
    tell_of_edge_data(npz, raw);
    if (features >= 0) {
        WEFT_TRY(reader_npz_dense_features(npz, npz_name(npz->file, features), raw));
    }
    if (labels >= 0) {
        WEFT_TRY(reader_npz_label_array(npz, labels, raw));
    }
    return reader_npz_splits(npz, raw);
}

const reader_format reader_pyg = {
    .name = "pyg-npz",
    .description = ".npz with edge_index, x, y and masks, as users of PyTorch Geometric save them",
    .symmetrize = true,
    .takes_vertices = true,
    .npz_names = names,
    .read_npz = read_arrays,
};
