/*
 * gnn/data/read/reader_edges.c: edges out of .npz arrays, in pieces, into collected edges (gnn/data/build/arcs.h).
 *
 * Sources and destinations are two streams that are read side by side, 64 Ki ids at a time, so that an array of edges
 * never stands in memory: papers100M's edge_index is 26 GB. Where both lie in one array [2, e], the
 * second stream skips to the middle, which costs reading the first half twice.
 */
#include <inttypes.h>
#include <string.h>

#include "base/alloc.h"
#include "base/log.h"
#include "gnn/data/build/arcs.h"
#include "gnn/data/read/reader_parts.h"

weft_status reader_check_vertices(const char *name, int64_t vertices)
{
    WEFT_CHECK(vertices >= 1, WEFT_ERR_DATA, "%s: no vertices", name);
    WEFT_CHECK(vertices <= INT32_MAX, WEFT_ERR_UNSUPPORTED, "%s: %" PRId64 " vertices; up to 2147483647 are supported",
               name, vertices);
    return WEFT_OK;
}

weft_status reader_npz_text(const reader_npz *npz, const char *name, char text[16])
{
    int i;
    npy_header header;
    WEFT_TRY(reader_npz_header(npz, name, &i, &header));
    int width = header.kind == 'U' ? 4 : 1;
    WEFT_CHECK((header.kind == 'S' || header.kind == 'U') && header.count == 1 && header.item_bytes / width < 16,
               WEFT_ERR_DATA, "%s[%s]: expected one text of at most 15 characters", npz->path, name);
    npy_array array;
    WEFT_TRY(npz_read(npz->file, i, &array));
    memset(text, 0, 16);
    bool plain = true;
    for (int c = 0; c < header.item_bytes / width; c++) {
        uint32_t letter = 0;
        memcpy(&letter, (const uint8_t *)array.data + (size_t)(c * width), (size_t)width);
        plain = plain && letter < 127 && (letter > 32 || letter == 0);
        text[c] = plain ? (char)letter : '?';
    }
    npy_array_free(&array);
    WEFT_CHECK(plain, WEFT_ERR_DATA, "%s[%s]: '%s' is not a plain word", npz->path, name, text);
    return WEFT_OK;
}

/* ---- ids in pieces ---- */

/* Where one end of the edges comes from: ids as they stand, or the row numbers of a CSR matrix. */
typedef struct id_source {
    char label[FILE_PATH_MAX];
    npz_stream *stream;
    const int64_t *indptr; /* instead of a stream */
    int64_t row, limit;    /* ids are 0 .. limit - 1 */
    bool checked;          /* the checksum is this stream's to check */
} id_source;

static void close_ids(id_source *ids)
{
    npz_stream_close(ids->stream);
    ids->stream = NULL;
}

/* Ids from element `skip` on of an array of `length` elements in `dims` dimensions; close_ids, also after a failure. */
static weft_status open_ids(const reader_npz *npz, const char *name, int dims, int64_t length, int64_t skip,
                            int64_t limit, id_source *ids)
{
    *ids = (id_source){.limit = limit, .checked = true};
    WEFT_TRY(file_path(ids->label, "%s[%s]", npz->path, name));
    int i;
    npy_header header;
    WEFT_TRY(reader_npz_header(npz, name, &i, &header));
    WEFT_TRY(npz_stream_open(npz->file, i, &ids->stream));
    WEFT_CHECK(header.dims == dims, WEFT_ERR_DATA, "%s: %d dimensions, expected %d", ids->label, header.dims, dims);
    WEFT_CHECK(header.count == length, WEFT_ERR_DATA, "%s: %" PRId64 " elements, expected %" PRId64, ids->label,
               header.count, length);
    return npz_stream_skip(ids->stream, skip);
}

/* The next `count` ids into every second place of pairs; `done` have been read before. */
static weft_status next_ids(id_source *ids, int64_t done, int64_t count, int64_t *piece, int32_t *pairs)
{
    if (ids->indptr != NULL) {
        for (int64_t i = 0; i < count; i++) {
            while (ids->indptr[ids->row + 1] <= done + i) {
                ids->row++;
            }
            pairs[2 * i] = (int32_t)ids->row;
        }
        return WEFT_OK;
    }
    WEFT_TRY(npz_stream_i64(ids->stream, count, piece));
    for (int64_t i = 0; i < count; i++) {
        WEFT_CHECK(piece[i] >= 0 && piece[i] < ids->limit, WEFT_ERR_DATA,
                   "%s: row %" PRId64 ": %" PRId64 ": vertices are 0 to %" PRId64, ids->label, done + i, piece[i],
                   ids->limit - 1);
        pairs[2 * i] = (int32_t)piece[i];
    }
    return WEFT_OK;
}

static weft_status finish_ids(id_source *ids)
{
    return ids->stream != NULL && ids->checked ? npz_stream_finish(ids->stream) : WEFT_OK;
}

static weft_status append_all(id_source *from, id_source *to, int64_t edges, raw_graph *raw)
{
    int64_t *piece = NULL;
    int32_t *pairs = NULL;
    weft_status status;
    WEFT_TRY_GOTO(arcs_create(raw->memory_bytes, raw->beside, 1, &raw->arcs), status, done);
    WEFT_TRY_GOTO(WEFT_NEW(&piece, READER_PIECE, WEFT_MEM_WORKSPACE), status, done);
    WEFT_TRY_GOTO(WEFT_NEW(&pairs, 2 * READER_PIECE, WEFT_MEM_WORKSPACE), status, done);
    log_progress progress = log_progress_begin("read edges", "edges", (double)edges);
    for (int64_t done = 0; done < edges; done += READER_PIECE) {
        int64_t count = edges - done < READER_PIECE ? edges - done : READER_PIECE;
        WEFT_TRY_GOTO(next_ids(from, done, count, piece, pairs), status, done);
        WEFT_TRY_GOTO(next_ids(to, done, count, piece, pairs + 1), status, done);
        WEFT_TRY_GOTO(arcs_add(raw->arcs, 0, pairs, count), status, done);
        log_progress_update(&progress, (double)(done + count));
    }
    log_progress_end(&progress);
    WEFT_TRY_GOTO(finish_ids(from), status, done);
    status = finish_ids(to);
done:
    WEFT_FREE_ALL(piece, pairs);
    return status;
}

/* ---- layouts ---- */

/* How many elements an array has along its last dimension. */
static weft_status array_length(const reader_npz *npz, const char *name, int64_t *length)
{
    int i;
    npy_header header;
    WEFT_TRY(reader_npz_header(npz, name, &i, &header));
    WEFT_CHECK(header.dims >= 1, WEFT_ERR_DATA, "%s[%s]: a scalar, expected an array", npz->path, name);
    *length = header.shape[header.dims - 1];
    return WEFT_OK;
}

/* Edges whose ends stand in two arrays, or in the halves of one array [2, edges]. */
static weft_status paired_edges(const reader_npz *npz, const char *from_name, const char *to_name, int64_t edges,
                                raw_graph *raw)
{
    const bool halves = from_name == to_name;
    const int dims = halves ? 2 : 1;
    id_source from = {.stream = NULL}, to = {.stream = NULL};
    weft_status status;
    WEFT_TRY_GOTO(open_ids(npz, from_name, dims, dims * edges, 0, raw->vertices, &from), status, done);
    from.checked = !halves; /* a first half stops in the middle */
    WEFT_TRY_GOTO(open_ids(npz, to_name, dims, dims * edges, halves ? edges : 0, raw->vertices, &to), status, done);
    status = append_all(&from, &to, edges, raw);
done:
    close_ids(&from);
    close_ids(&to);
    return status;
}

/* CSR lists destinations by source, CSC sources by destination. */
static weft_status compressed_edges(const reader_npz *npz, bool by_column, raw_graph *raw)
{
    int64_t length = raw->vertices + 1, *indptr = NULL;
    WEFT_TRY(reader_npz_ints(npz, "indptr", 1, &length, &indptr));
    id_source rows = {.indptr = indptr};
    id_source ids = {.stream = NULL};
    weft_status status;
    WEFT_CHECK_GOTO(indptr[0] == 0, status, done, WEFT_ERR_DATA, "%s[indptr]: row 0: %" PRId64 ", expected 0",
                    npz->path, indptr[0]);
    for (int64_t v = 0; v < raw->vertices; v++) {
        WEFT_CHECK_GOTO(indptr[v] <= indptr[v + 1], status, done, WEFT_ERR_DATA,
                        "%s[indptr]: row %" PRId64 ": %" PRId64 " is followed by %" PRId64 "; it must ascend",
                        npz->path, v, indptr[v], indptr[v + 1]);
    }
    int64_t edges = indptr[raw->vertices];
    WEFT_TRY_GOTO(open_ids(npz, "indices", 1, edges, 0, raw->vertices, &ids), status, done);
    status = by_column ? append_all(&ids, &rows, edges, raw) : append_all(&rows, &ids, edges, raw);
done:
    close_ids(&ids);
    weft_free(indptr);
    return status;
}

weft_status reader_npz_scipy(const reader_npz *npz, raw_graph *raw)
{
    char format[16];
    int64_t two = 2;
    int64_t *shape;
    WEFT_TRY(reader_npz_text(npz, "format", format));
    WEFT_TRY(reader_npz_ints(npz, "shape", 1, &two, &shape));
    int64_t rows = shape[0], columns = shape[1];
    weft_free(shape);
    WEFT_CHECK(rows == columns, WEFT_ERR_DATA, "%s[shape]: (%" PRId64 ", %" PRId64 "): an adjacency matrix is square",
               npz->path, rows, columns);
    WEFT_TRY(reader_check_vertices(npz->path, rows));
    raw->vertices = rows;
    if (strcmp(format, "coo") == 0) {
        int64_t edges = 0;
        WEFT_TRY(array_length(npz, "row", &edges));
        return paired_edges(npz, "row", "col", edges, raw);
    }
    bool by_column = strcmp(format, "csc") == 0;
    WEFT_CHECK(by_column || strcmp(format, "csr") == 0, WEFT_ERR_DATA,
               "%s[format]: '%s': coo, csr and csc are read; save matrix.tocoo()", npz->path, format);
    return compressed_edges(npz, by_column, raw);
}

/* An array [2, e] in Fortran order, as numpy.savez writes a transpose: it is unpacked whole. */
static weft_status whole_edge_index(const reader_npz *npz, const char *name, raw_graph *raw)
{
    char label[FILE_PATH_MAX];
    int64_t shape[2] = {2, -1};
    int64_t *ids = NULL;
    int32_t *pairs = NULL;
    weft_status status;
    WEFT_TRY(file_path(label, "%s[%s]", npz->path, name));
    WEFT_TRY(reader_npz_ints(npz, name, 2, shape, &ids));
    WEFT_TRY_GOTO(arcs_create(raw->memory_bytes, raw->beside, 1, &raw->arcs), status, done);
    WEFT_TRY_GOTO(WEFT_NEW(&pairs, 2 * shape[1], WEFT_MEM_WORKSPACE), status, done);
    for (int64_t i = 0; i < 2 * shape[1]; i++) {
        WEFT_CHECK_GOTO(ids[i] >= 0 && ids[i] < raw->vertices, status, done, WEFT_ERR_DATA,
                        "%s: row %" PRId64 ": %" PRId64 ": vertices are 0 to %" PRId64, label, i % shape[1], ids[i],
                        raw->vertices - 1);
        pairs[2 * (i % shape[1]) + i / shape[1]] = (int32_t)ids[i];
    }
    status = arcs_add(raw->arcs, 0, pairs, shape[1]);
done:
    WEFT_FREE_ALL(ids, pairs);
    return status;
}

weft_status reader_npz_edge_index(const reader_npz *npz, const char *name, raw_graph *raw)
{
    int i;
    npy_header header;
    int64_t edges = 0;
    WEFT_TRY(reader_check_vertices(npz->path, raw->vertices));
    WEFT_TRY(array_length(npz, name, &edges));
    WEFT_TRY(reader_npz_header(npz, name, &i, &header));
    WEFT_CHECK(edges <= INT64_MAX / 2, WEFT_ERR_DATA, "%s[%s]: %" PRId64 " edges", npz->path, name, edges);
    WEFT_CHECK(header.dims != 2 || header.shape[0] == 2, WEFT_ERR_DATA,
               "%s[%s]: length %" PRId64 " in dimension 0, expected 2: sources and destinations%s", npz->path, name,
               header.shape[0], header.shape[1] == 2 ? " (the transpose of this array)" : "");
    if (header.fortran_order) {
        return whole_edge_index(npz, name, raw);
    }
    return paired_edges(npz, name, name, edges, raw);
}
