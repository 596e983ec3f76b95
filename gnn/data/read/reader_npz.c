/* gnn/data/read/reader_npz.c: see gnn/data/read/reader_npz.h. */
#include "gnn/data/read/reader_npz.h"

#include <inttypes.h>
#include <math.h>

#include "base/alloc.h"
#include "base/log.h"
#include "base/number.h"
#include "gnn/data/convert_options.def"
#include "gnn/data/read/reader_parts.h"
#include "io/store/store_options.def"

weft_status reader_npz_open(const char *path, int64_t memory_bytes, reader_npz *npz)
{
    *npz = (reader_npz){.path = path, .memory_bytes = memory_bytes};
    return npz_open(path, &npz->file);
}

void reader_npz_close(reader_npz *npz)
{
    npz_close(npz->file);
    npz->file = NULL;
}

weft_status reader_npz_read(const char *path, weft_status (*arrays)(const reader_npz *npz, raw_graph *raw),
                            raw_graph *raw)
{
    reader_npz npz;
    WEFT_TRY(reader_npz_open(path, raw->memory_bytes, &npz));
    weft_status status = arrays(&npz, raw);
    reader_npz_close(&npz);
    return status;
}

bool reader_npz_has(const reader_npz *npz, const char *name)
{
    return npz_find(npz->file, name) >= 0;
}

weft_status reader_npz_header(const reader_npz *npz, const char *name, int *i, npy_header *header)
{
    *i = npz_find(npz->file, name);
    WEFT_CHECK(*i >= 0, WEFT_ERR_DATA, "%s: lacks the array '%s'", npz->path, name);
    return npz_read_header(npz->file, *i, header);
}

const char *const reader_feature_names[] = {"features", "feature", "feat", "x", "node_feat", "node_features", NULL};
const char *const reader_label_names[] = {"labels", "label", "y", "node_label", "node_labels", NULL};

int reader_npz_find(const reader_npz *npz, const char *const *names)
{
    int member = -1;
    for (; *names != NULL && member < 0; names++) {
        member = npz_find(npz->file, *names);
    }
    return member;
}

int reader_npz_choose(const reader_npz *npz, const char *const *names)
{
    const int found = reader_npz_find(npz, names);
    for (; *names != NULL; names++) {
        const int other = npz_find(npz->file, *names);
        if (other >= 0 && other != found) {
            log_warn("%s: the array '%s' is left out, because '%s' is taken", npz->path, *names,
                     npz_name(npz->file, found));
        }
    }
    return found;
}

bool reader_npz_matches(const char *path, const char *const *names)
{
    reader_npz npz;
    if (reader_npz_open(path, 0, &npz) != WEFT_OK) {
        return false;
    }
    bool all = true;
    for (; *names != NULL; names++) {
        all = all && reader_npz_has(&npz, *names);
    }
    reader_npz_close(&npz);
    return all;
}

/* The shape against what is expected; -1 is filled in. */
static weft_status match_shape(const char *label, const npy_header *header, int dims, int64_t *shape)
{
    WEFT_CHECK(header->dims == dims, WEFT_ERR_DATA, "%s: %d dimensions, expected %d", label, header->dims, dims);
    for (int d = 0; d < dims; d++) {
        WEFT_CHECK(shape[d] < 0 || shape[d] == header->shape[d], WEFT_ERR_DATA,
                   "%s: length %" PRId64 " in dimension %d, expected %" PRId64, label, header->shape[d], d, shape[d]);
        shape[d] = header->shape[d];
    }
    return WEFT_OK;
}

weft_status reader_check_fits(const char *label, uint64_t bytes, int64_t memory_bytes)
{
    const uint64_t held = weft_mem_usage_total().current_bytes;
    WEFT_CHECK(memory_bytes == 0 || (bytes <= (uint64_t)memory_bytes && held <= (uint64_t)memory_bytes - bytes),
               WEFT_ERR_RESOURCE, "%s: takes %s of memory beside the %s in use, " FLAG_MEMORY " allows %s: give more",
               label, number_say_bytes(bytes).text, number_say_bytes(held).text,
               number_say_bytes((uint64_t)memory_bytes).text);
    return WEFT_OK;
}

/* Look at the header before the data are unpacked: a wrong shape costs nothing. `widened` bytes an element come on top.
 */
static weft_status fetch(const reader_npz *npz, const char *name, int dims, int64_t *shape, uint64_t widened,
                         char label[FILE_PATH_MAX], npy_array *array)
{
    int i;
    npy_header header;
    WEFT_TRY(file_path(label, "%s[%s]", npz->path, name));
    WEFT_TRY(reader_npz_header(npz, name, &i, &header));
    WEFT_TRY(match_shape(label, &header, dims, shape));
    WEFT_TRY(reader_check_fits(label, header.data_bytes + (uint64_t)header.count * widened, npz->memory_bytes));
    return npz_read(npz->file, i, array);
}

weft_status reader_npz_ints(const reader_npz *npz, const char *name, int dims, int64_t *shape, int64_t **values)
{
    *values = NULL;
    char label[FILE_PATH_MAX];
    npy_array array;
    WEFT_TRY(fetch(npz, name, dims, shape, sizeof **values, label, &array));
    weft_status status = npy_array_to_i64(label, &array, values);
    npy_array_free(&array);
    return status;
}

weft_status reader_npz_floats(const reader_npz *npz, const char *name, int dims, int64_t *shape, float **values)
{
    *values = NULL;
    char label[FILE_PATH_MAX];
    npy_array array;
    WEFT_TRY(fetch(npz, name, dims, shape, sizeof **values, label, &array));
    weft_status status = npy_array_to_f32(label, &array, values);
    npy_array_free(&array);
    return status;
}

/* Two ids of 4 bytes an edge, and what sorting them in both directions takes at its height. */
static weft_status new_edges(const reader_npz *npz, raw_graph *raw, int64_t edges)
{
    enum { BYTES_SORTED = 32 };
    char label[FILE_PATH_MAX];
    WEFT_TRY(file_path(label, "%s: sorting %" PRId64 " edges", npz->path, edges));
    WEFT_TRY(reader_check_fits(label, (uint64_t)edges * BYTES_SORTED, npz->memory_bytes));
    raw->edges = edges;
    WEFT_TRY(WEFT_NEW(&raw->from, edges, WEFT_MEM_GRAPH));
    return WEFT_NEW(&raw->to, edges, WEFT_MEM_GRAPH);
}

weft_status reader_npz_pairs(const reader_npz *npz, const char *name, raw_graph *raw)
{
    WEFT_TRY(reader_check_vertices(npz->path, raw->vertices));
    int64_t shape[2] = {-1, 2};
    int64_t *pairs;
    WEFT_TRY(reader_npz_ints(npz, name, 2, shape, &pairs));
    weft_status status;
    WEFT_TRY_GOTO(new_edges(npz, raw, shape[0]), status, done);
    for (int64_t e = 0; e < shape[0]; e++) {
        int64_t u = pairs[2 * e], v = pairs[2 * e + 1];
        WEFT_CHECK_GOTO(u >= 0 && u < raw->vertices && v >= 0 && v < raw->vertices, status, done, WEFT_ERR_DATA,
                        "%s[%s]: row %" PRId64 ": (%" PRId64 ", %" PRId64 "): vertices are 0 to %" PRId64, npz->path,
                        name, e, u, v, raw->vertices - 1);
        raw->from[e] = (int32_t)u;
        raw->to[e] = (int32_t)v;
    }
done:
    weft_free(pairs);
    return status;
}

/* PREFIX_stem, or the stem alone, as SciPy names the arrays of a matrix. */
static void member_name(const char *prefix, const char *stem, char name[64])
{
    snprintf(name, 64, "%s%s%s", prefix, prefix[0] != '\0' ? "_" : "", stem);
}

/* A CSR matrix: [out] rows, columns, offset [rows + 1], column [offset[rows]] checked to lie inside. */
static weft_status read_csr(const reader_npz *npz, const char *prefix, int64_t *rows, int64_t *columns,
                            int64_t **offset, int64_t **column)
{
    *offset = NULL;
    *column = NULL;
    char name[64];
    member_name(prefix, "shape", name);
    int64_t two = 2;
    int64_t *shape;
    WEFT_TRY(reader_npz_ints(npz, name, 1, &two, &shape));
    *rows = shape[0];
    *columns = shape[1];
    weft_free(shape);
    WEFT_CHECK(*rows >= 0 && *rows <= INT32_MAX && *columns >= 0 && *columns <= INT32_MAX, WEFT_ERR_DATA,
               "%s[%s]: (%" PRId64 ", %" PRId64 "): lengths are 0 to 2147483647", npz->path, name, *rows, *columns);
    weft_status status;
    int64_t length = *rows + 1;
    member_name(prefix, "indptr", name);
    WEFT_TRY_GOTO(reader_npz_ints(npz, name, 1, &length, offset), status, done);
    WEFT_CHECK_GOTO((*offset)[0] == 0, status, done, WEFT_ERR_DATA, "%s[%s]: row 0: %" PRId64 ", expected 0", npz->path,
                    name, (*offset)[0]);
    for (int64_t v = 0; v < *rows; v++) {
        WEFT_CHECK_GOTO((*offset)[v] <= (*offset)[v + 1], status, done, WEFT_ERR_DATA,
                        "%s[%s]: row %" PRId64 ": %" PRId64 " is followed by %" PRId64 "; it must ascend", npz->path,
                        name, v, (*offset)[v], (*offset)[v + 1]);
    }
    length = (*offset)[*rows];
    member_name(prefix, "indices", name);
    WEFT_TRY_GOTO(reader_npz_ints(npz, name, 1, &length, column), status, done);
    for (int64_t i = 0; i < length; i++) {
        WEFT_CHECK_GOTO((*column)[i] >= 0 && (*column)[i] < *columns, status, done, WEFT_ERR_DATA,
                        "%s[%s]: row %" PRId64 ": %" PRId64 " is outside 0..%" PRId64, npz->path, name, i, (*column)[i],
                        *columns - 1);
    }
done:
    if (status != WEFT_OK) {
        WEFT_FREE_ALL(*offset, *column);
        *offset = NULL;
        *column = NULL;
    }
    return status;
}

/* Said when they are not all 1. */
static weft_status look_at_weights(const reader_npz *npz, const char *prefix, int64_t edges)
{
    char name[64];
    member_name(prefix, "data", name);
    if (!reader_npz_has(npz, name)) {
        return WEFT_OK;
    }
    float *weight;
    WEFT_TRY(reader_npz_floats(npz, name, 1, &edges, &weight));
    int64_t i = 0;
    while (i < edges && weight[i] == 1.0F) {
        i++;
    }
    if (i < edges) {
        log_warn("%s[%s]: edge weights are used where " FLAG_CONVERT_WEIGHTS
                 " names the file, else dropped (the first other than 1 is %g, row %" PRId64 ")",
                 npz->path, name, number_plain((double)weight[i]), i);
    }
    weft_free(weight);
    return WEFT_OK;
}

weft_status reader_npz_adjacency(const reader_npz *npz, const char *prefix, raw_graph *raw)
{
    int64_t rows, columns, *offset, *column;
    WEFT_TRY(read_csr(npz, prefix, &rows, &columns, &offset, &column));
    weft_status status;
    WEFT_CHECK_GOTO(rows == columns, status, done, WEFT_ERR_DATA,
                    "%s[%s_shape]: (%" PRId64 ", %" PRId64 "): an adjacency matrix is square", npz->path, prefix, rows,
                    columns);
    WEFT_TRY_GOTO(reader_check_vertices(npz->path, rows), status, done);
    raw->vertices = rows;
    WEFT_TRY_GOTO(look_at_weights(npz, prefix, offset[rows]), status, done);
    WEFT_TRY_GOTO(new_edges(npz, raw, offset[rows]), status, done);
    for (int64_t u = 0; u < rows; u++) {
        for (int64_t e = offset[u]; e < offset[u + 1]; e++) {
            raw->from[e] = (int32_t)u;
            raw->to[e] = (int32_t)column[e];
        }
    }
done:
    WEFT_FREE_ALL(offset, column);
    return status;
}

weft_status reader_npz_sparse_features(const reader_npz *npz, const char *prefix, raw_graph *raw)
{
    int64_t rows, *column;
    WEFT_TRY(read_csr(npz, prefix, &rows, &raw->features, &raw->feature_offset, &column));
    char name[64];
    member_name(prefix, "data", name);
    weft_status status;
    WEFT_CHECK_GOTO(rows == raw->vertices, status, done, WEFT_ERR_DATA,
                    "%s[%s_shape]: %" PRId64 " rows of features for %" PRId64 " vertices", npz->path, prefix, rows,
                    raw->vertices);
    int64_t count = raw->feature_offset[rows];
    WEFT_TRY_GOTO(reader_npz_floats(npz, name, 1, &count, &raw->feature_value), status, done);
    WEFT_TRY_GOTO(WEFT_NEW(&raw->feature_column, count, WEFT_MEM_FEATURE), status, done);
    for (int64_t i = 0; i < count; i++) {
        WEFT_CHECK_GOTO(isfinite(raw->feature_value[i]), status, done, WEFT_ERR_DATA,
                        "%s[%s]: row %" PRId64 ": %g is not finite", npz->path, name, i,
                        number_plain((double)raw->feature_value[i]));
        raw->feature_column[i] = (int32_t)column[i];
    }
done:
    weft_free(column);
    return status;
}

weft_status reader_npz_dense_features(const reader_npz *npz, const char *name, raw_graph *raw)
{
    int i = npz_find(npz->file, name);
    npy_header header = {.dims = 0};
    if (i >= 0) {
        WEFT_TRY(npz_read_header(npz->file, i, &header));
    }
    if (i >= 0 && !header.fortran_order) {
        return reader_stream_features(npz->path, name, raw);
    }
    int64_t shape[2] = {raw->vertices, -1};
    WEFT_TRY(reader_npz_floats(npz, name, 2, shape, &raw->feature));
    raw->features = shape[1];
    char label[FILE_PATH_MAX];
    WEFT_TRY(file_path(label, "%s[%s]", npz->path, name));
    return reader_check_finite(label, 0, shape[0], shape[1], raw->feature);
}

weft_status reader_npz_labels(const reader_npz *npz, const char *name, raw_graph *raw)
{
    int64_t *values;
    char label[FILE_PATH_MAX];
    WEFT_TRY(file_path(label, "%s[%s]", npz->path, name));
    WEFT_TRY(reader_npz_ints(npz, name, 1, &raw->vertices, &values));
    weft_status status = reader_take_labels(label, values, true, raw);
    weft_free(values);
    return status;
}
