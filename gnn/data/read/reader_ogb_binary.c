/*
 * gnn/data/read/reader_ogb_binary.c: OGB's binary layout, that of ogbn-papers100M (111 million vertices, 1.6 billion
 * edges).
 *
 *   raw/data.npz        edge_index [2, e], num_nodes_list [1], node_feat [n, f]; other arrays are not read
 *   raw/node-label.npz  node_label [n] or [n, 1], NaN = unlabelled
 *   split/NAME/{train,valid,test}.csv.gz
 *
 * Edges and labels are read in pieces and features go straight to the store: none of the large arrays stands in memory
 * as a whole.
 */
#include <inttypes.h>
#include <math.h>

#include "base/alloc.h"
#include "base/file.h"
#include "gnn/data/read/reader_formats.h"
#include "gnn/data/read/reader_parts.h"

static bool matches(const char *path)
{
    char file[FILE_PATH_MAX];
    return file_path(file, "%s/raw/data.npz", path) == WEFT_OK && file_exists(file);
}

static weft_status read_data(const reader_npz *npz, raw_graph *raw)
{
    int64_t one = 1;
    int64_t *count;
    WEFT_TRY(reader_npz_ints(npz, "num_nodes_list", 1, &one, &count));
    raw->vertices = count[0];
    weft_free(count);
    WEFT_TRY(reader_npz_edge_index(npz, "edge_index", raw));
    return reader_npz_has(npz, "node_feat") ? reader_npz_dense_features(npz, "node_feat", raw) : WEFT_OK;
}

/* Classes of the next `count` vertices out of a stream of floats. */
static weft_status read_piece(const char *label, npz_stream *stream, int64_t first, int64_t count, float *piece,
                              raw_graph *raw)
{
    WEFT_TRY(npz_stream_f32(stream, count, piece));
    for (int64_t i = 0; i < count; i++) {
        float value = piece[i];
        WEFT_CHECK(isnan(value) || (value >= -1 && value < 0x1p24F && value == nearbyintf(value)), WEFT_ERR_DATA,
                   "%s: row %" PRId64 ": %g: classes are whole numbers from 0 (nan = unlabelled)", label, first + i,
                   (double)value);
        raw->label[first + i] = isnan(value) ? -1 : (int32_t)value;
    }
    return WEFT_OK;
}

static weft_status stream_labels(const char *label, npz_stream *stream, raw_graph *raw)
{
    const npy_header *header = npz_stream_header(stream);
    bool column = header->dims == 1 || (header->dims == 2 && header->shape[1] == 1);
    WEFT_CHECK(column && header->shape[0] == raw->vertices, WEFT_ERR_DATA,
               "%s: expected [n] or [n, 1] with n = %" PRId64 " vertices", label, raw->vertices);
    float *piece = NULL;
    WEFT_TRY(WEFT_NEW(&raw->label, raw->vertices, WEFT_MEM_GRAPH));
    WEFT_TRY(WEFT_NEW(&piece, READER_PIECE, WEFT_MEM_WORKSPACE));
    weft_status status = WEFT_OK;
    for (int64_t first = 0; first < raw->vertices && status == WEFT_OK; first += READER_PIECE) {
        int64_t count = raw->vertices - first < READER_PIECE ? raw->vertices - first : READER_PIECE;
        status = read_piece(label, stream, first, count, piece, raw);
    }
    weft_free(piece);
    WEFT_TRY(status);
    WEFT_TRY(npz_stream_finish(stream));
    return reader_judge_labels(label, false, false, raw);
}

static weft_status read_labels(const reader_npz *npz, raw_graph *raw)
{
    char label[FILE_PATH_MAX];
    int i;
    npy_header header;
    WEFT_TRY(reader_npz_header(npz, "node_label", &i, &header));
    WEFT_TRY(file_path(label, "%s[node_label]", npz->path));
    npz_stream *stream;
    WEFT_TRY(npz_stream_open(npz->file, i, &stream));
    weft_status status = stream_labels(label, stream, raw);
    npz_stream_close(stream);
    return status;
}

static weft_status read_graph(const char *path, raw_graph *raw)
{
    char file[FILE_PATH_MAX];
    WEFT_TRY(file_path(file, "%s/raw/data.npz", path));
    WEFT_TRY(reader_npz_read(file, read_data, raw));
    WEFT_TRY(file_path(file, "%s/raw/node-label.npz", path));
    if (file_exists(file)) {
        WEFT_TRY(reader_npz_read(file, read_labels, raw));
    }
    return reader_ogb_split(path, raw);
}

const reader_format reader_ogb_binary = {
    .name = "ogb-binary",
    .description = "folder of an OGB data set with raw/data.npz (papers100M)",
    .symmetrize = true,
    .has_split_folders = true,
    .matches = matches,
    .read = read_graph,
};
