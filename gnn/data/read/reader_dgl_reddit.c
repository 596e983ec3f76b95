/*
 * gnn/data/read/reader_dgl_reddit.c: Reddit as DGL and PyG download it (W. Hamilton, R. Ying, J. Leskovec: Inductive
 * representation learning on large graphs. NeurIPS 2017, arXiv:1706.02216), unpacked.
 *
 *   reddit_graph.npz  (or reddit_self_loop_graph.npz)  a SciPy sparse matrix, entry (u, v) = edge u -> v
 *   reddit_data.npz   feature [n, f], label [n], node_types [n]: 1 train, 2 valid, 3 test, 0 none
 *
 * Element types are those of the files' headers. Features are streamed into the store.
 */
#include <inttypes.h>

#include "base/alloc.h"
#include "base/file.h"
#include "gnn/data/read/reader_formats.h"
#include "gnn/data/read/reader_parts.h"

static bool find_file(const char *folder, const char *name, char path[FILE_PATH_MAX])
{
    return (file_path(path, "%s/%s", folder, name) == WEFT_OK && file_exists(path)) ||
           (file_path(path, "%s/raw/%s", folder, name) == WEFT_OK && file_exists(path));
}

static bool find_graph(const char *folder, char path[FILE_PATH_MAX])
{
    return find_file(folder, "reddit_graph.npz", path) || find_file(folder, "reddit_self_loop_graph.npz", path);
}

static bool matches(const char *path)
{
    char found[FILE_PATH_MAX];
    return find_file(path, "reddit_data.npz", found) && find_graph(path, found);
}

static weft_status read_classes(const reader_npz *npz, raw_graph *raw)
{
    char label[FILE_PATH_MAX];
    int64_t *values;
    WEFT_TRY(file_path(label, "%s[label]", npz->path));
    WEFT_TRY(reader_npz_ints(npz, "label", 1, &raw->vertices, &values));
    weft_status status = reader_take_labels(label, values, false, raw);
    weft_free(values);
    return status;
}

static weft_status read_types(const reader_npz *npz, raw_graph *raw)
{
    int64_t *types;
    WEFT_TRY(reader_npz_ints(npz, "node_types", 1, &raw->vertices, &types));
    weft_status status = reader_new_splits(raw, 1);
    for (int64_t v = 0; v < raw->vertices && status == WEFT_OK; v++) {
        if (types[v] < 0 || types[v] > READER_PARTS) {
            status = weft_fail(WEFT_ERR_DATA,
                               "%s[node_types]: row %" PRId64 ": %" PRId64 ": 1 = train, 2 = valid, 3 = test, 0 = none",
                               npz->path, v, types[v]);
        } else {
            raw->split[v] = types[v] == 0 ? READER_NONE : (uint8_t)(types[v] - 1);
        }
    }
    weft_free(types);
    return status;
}

static weft_status read_data(const reader_npz *npz, raw_graph *raw)
{
    WEFT_TRY(reader_npz_dense_features(npz, "feature", raw));
    WEFT_TRY(read_classes(npz, raw));
    return read_types(npz, raw);
}

static weft_status read_graph(const char *path, raw_graph *raw)
{
    char file[FILE_PATH_MAX];
    WEFT_CHECK(find_graph(path, file), WEFT_ERR_NOINPUT,
               "%s: lacks reddit_graph.npz: expected the folder into which reddit.zip was unpacked", path);
    WEFT_TRY(reader_npz_read(file, reader_npz_scipy, raw));
    WEFT_CHECK(find_file(path, "reddit_data.npz", file), WEFT_ERR_NOINPUT, "%s: lacks reddit_data.npz", path);
    return reader_npz_read(file, read_data, raw);
}

const reader_format reader_dgl_reddit = {
    .name = "dgl-reddit",
    .description = "folder with reddit_graph.npz and reddit_data.npz (DGL, PyG)",
    .symmetrize = true,
    .matches = matches,
    .read = read_graph,
};
