/* gnn/links/link_files.c: see gnn/links/link_files.h. */
#include "gnn/links/link_files.h"

#include <inttypes.h>

#include "base/alloc.h"
#include "base/file.h"
#include "gnn/data/read/reader_npz.h"

/* Ids of vertices, narrowed. `columns` of a row of the file end in the out's `stride` numbers from `at` on. */
static weft_status take_ends(const char *path, const char *name, const int64_t *value, int64_t rows, int64_t columns,
                             int64_t vertices, int64_t stride, int32_t *out)
{
    for (int64_t i = 0; i < rows * columns; ++i) {
        WEFT_CHECK(value[i] >= 0 && value[i] < vertices, WEFT_ERR_DATA,
                   "%s%s%s, row %" PRId64 ": vertex %" PRId64 "; the graph has 0 to %" PRId64, path,
                   name[0] != '\0' ? ": " : "", name, i / columns, value[i], vertices - 1);
        out[i * stride] = (int32_t)value[i];
    }
    return WEFT_OK;
}

/* An array [rows, 2]. */
static weft_status read_pairs(const reader_npz *npz, const char *name, int64_t vertices, int64_t *rows, int32_t **end)
{
    int64_t shape[2] = {-1, 2}, *value = NULL;
    WEFT_TRY(reader_npz_ints(npz, name, 2, shape, &value));
    *rows = shape[0];
    weft_status status = WEFT_NEW(end, 2 * shape[0], WEFT_MEM_GRAPH);
    status = status == WEFT_OK ? take_ends(npz->path, name, value, shape[0], 2, vertices, 1, *end) : status;
    weft_free(value);
    return status;
}

/* An array [rows] as one end of the pairs. */
static weft_status read_end(const reader_npz *npz, const char *name, int64_t vertices, int end, link_pairs *pairs)
{
    int64_t shape[1] = {pairs->pairs}, *value = NULL;
    WEFT_TRY(reader_npz_ints(npz, name, 1, shape, &value));
    const bool first = pairs->end == NULL;
    pairs->pairs = shape[0];
    weft_status status = first ? WEFT_NEW(&pairs->end, 2 * shape[0], WEFT_MEM_GRAPH) : WEFT_OK;
    status = status == WEFT_OK ? take_ends(npz->path, name, value, shape[0], 1, vertices, 2, pairs->end + end) : status;
    weft_free(value);
    return status;
}

/* Destinations of negatives [m, K], whose sources are those of the pairs. */
static weft_status read_own(const reader_npz *npz, int64_t vertices, link_pairs *pairs)
{
    static const char name[] = "target_node_neg";
    int64_t shape[2] = {pairs->pairs, -1}, *value = NULL;
    WEFT_TRY(reader_npz_ints(npz, name, 2, shape, &value));
    weft_status status = WEFT_NEW(&pairs->negative_end, 2 * shape[0] * shape[1], WEFT_MEM_GRAPH);
    status = status == WEFT_OK
                 ? take_ends(npz->path, name, value, shape[0], shape[1], vertices, 2, pairs->negative_end + 1)
                 : status;
    for (int64_t i = 0; i < shape[0] * shape[1] && status == WEFT_OK; ++i) {
        pairs->negative_end[2 * i] = pairs->end[2 * (i / shape[1])];
    }
    pairs->own = shape[1];
    pairs->negatives = shape[0] * shape[1];
    weft_free(value);
    return status;
}

static weft_status read_arrays(const reader_npz *npz, int64_t vertices, link_pairs *pairs)
{
    if (reader_npz_has(npz, "edge")) {
        WEFT_TRY(read_pairs(npz, "edge", vertices, &pairs->pairs, &pairs->end));
        return reader_npz_has(npz, "edge_neg")
                   ? read_pairs(npz, "edge_neg", vertices, &pairs->negatives, &pairs->negative_end)
                   : WEFT_OK;
    }
    WEFT_CHECK(reader_npz_has(npz, "source_node") && reader_npz_has(npz, "target_node"), WEFT_ERR_DATA,
               "%s: holds neither an array edge [m, 2] nor source_node and target_node", npz->path);
    pairs->pairs = -1;
    WEFT_TRY(read_end(npz, "source_node", vertices, 0, pairs));
    WEFT_TRY(read_end(npz, "target_node", vertices, 1, pairs));
    return reader_npz_has(npz, "target_node_neg") ? read_own(npz, vertices, pairs) : WEFT_OK;
}

/* [out] found: the file is there. */
static weft_status read_part(const char *folder, const char *part, int64_t vertices, link_pairs *pairs, bool *found)
{
    char path[FILE_PATH_MAX], pickle[FILE_PATH_MAX];
    WEFT_TRY(file_path(path, "%s/%s.npz", folder, part));
    WEFT_TRY(file_path(pickle, "%s/%s.pt", folder, part));
    WEFT_CHECK(file_exists(path) || !file_exists(pickle), WEFT_ERR_NOINPUT,
               "%s: is a pickle of PyTorch, which is not read; once, in Python: import torch, numpy; d = "
               "torch.load('%s'); numpy.savez('%s', **{k: numpy.asarray(v) for k, v in d.items()})",
               pickle, pickle, path);
    *found = file_exists(path);
    if (!*found) {
        return WEFT_OK;
    }
    reader_npz npz;
    WEFT_TRY(reader_npz_open(path, 0, &npz));
    const weft_status status = read_arrays(&npz, vertices, pairs);
    reader_npz_close(&npz);
    return status;
}

weft_status link_files_read(const char *folder, int64_t vertices, link_pairs *valid, link_pairs *test)
{
    bool has_valid = false, has_test = false;
    *valid = *test = (link_pairs){.pairs = 0};
    WEFT_TRY(read_part(folder, "valid", vertices, valid, &has_valid));
    WEFT_TRY(read_part(folder, "test", vertices, test, &has_test));
    WEFT_CHECK(has_valid || has_test, WEFT_ERR_NOINPUT,
               "%s: holds neither valid.npz nor test.npz (docs/howto-links.md)", folder);
    return WEFT_OK;
}

weft_status link_file_pairs(const char *path, int64_t vertices, link_pairs *asked)
{
    npy_array array = {.data = NULL};
    int64_t *value = NULL;
    *asked = (link_pairs){.pairs = 0};
    WEFT_TRY(npy_read(path, &array));
    weft_status status = WEFT_OK;
    WEFT_CHECK_GOTO(array.header.dims == 2 && array.header.shape[1] == 2, status, done, WEFT_ERR_DATA,
                    "%s: is no array [pairs, 2] of vertices", path);
    asked->pairs = array.header.shape[0];
    WEFT_TRY_GOTO(npy_array_to_i64(path, &array, &value), status, done);
    WEFT_TRY_GOTO(WEFT_NEW(&asked->end, 2 * asked->pairs, WEFT_MEM_GRAPH), status, done);
    status = take_ends(path, "", value, asked->pairs, 2, vertices, 1, asked->end);
done:
    weft_free(value);
    npy_array_free(&array);
    return status;
}

void link_pairs_free(link_pairs *pairs)
{
    WEFT_FREE_ALL(pairs->end, pairs->negative_end);
    *pairs = (link_pairs){.pairs = 0};
}
