/*
 * gnn/data/read/reader_weights.c: see gnn/data/read/reader_weights.h.
 *
 * The edges are sorted already, so a weight finds its place by a search in the row of its destination, whatever the
 * order of the file, and how edges are collected and sorted in bounded memory has nothing to do with weights. Lines are
 * parsed by all threads; a place is taken by one exchange, so that an edge that comes twice shows. 4 bytes an entry;
 * the arrays of an .npz come on top.
 */
#include "gnn/data/read/reader_weights.h"

#include <inttypes.h>
#include <string.h>

#include "base/alloc.h"
#include "gnn/data/convert_options.def"
#include "gnn/data/edges/edge_weights.h"
#include "gnn/data/read/reader_parts.h"

/* ---- .npz ---- */

typedef struct weights_layout {
    const char *value;
    const char *from, *to;       /* an id an edge; or */
    const char *offset, *column; /* by rows; or */
    const char *pairs;           /* [edges, 2]; or */
    const char *ends;            /* [2, edges] */
    const char *format;          /* tells rows from columns, or NULL */
} weights_layout;

static const weights_layout layouts[] = {
    {.value = "data", .from = "row", .to = "col"},
    {.value = "data", .offset = "indptr", .column = "indices", .format = "format"},
    {.value = "adj_data", .offset = "adj_indptr", .column = "adj_indices"},
    {.value = "weights", .pairs = "edges"},
    {.value = "edge_weight", .ends = "edge_index"},
    {.value = "edge_attr", .ends = "edge_index"},
};

static bool has_layout(const reader_npz *npz, const weights_layout *layout)
{
    const char *const needed[] = {layout->value,  layout->from,  layout->to,  layout->offset,
                                  layout->column, layout->pairs, layout->ends};
    bool all = true;
    for (size_t i = 0; i < sizeof needed / sizeof *needed; i++) {
        all = all && (needed[i] == NULL || reader_npz_has(npz, needed[i]));
    }
    return all;
}

typedef struct edge_ends {
    int64_t *from, *to;
} edge_ends;

static weft_status expand_rows(const reader_npz *npz, const weights_layout *layout, int64_t edges, int64_t vertices,
                               edge_ends *ends)
{
    int64_t *offset = NULL, length = vertices + 1;
    char format[16] = "csr";
    WEFT_TRY(layout->format != NULL ? reader_npz_text(npz, layout->format, format) : WEFT_OK);
    int64_t **rows = strcmp(format, "csc") == 0 ? &ends->to : &ends->from;
    int64_t **columns = rows == &ends->to ? &ends->from : &ends->to;
    WEFT_TRY(reader_npz_ints(npz, layout->column, 1, &edges, columns));
    WEFT_TRY(reader_npz_ints(npz, layout->offset, 1, &length, &offset));
    weft_status status;
    WEFT_TRY_GOTO(WEFT_NEW(rows, edges, WEFT_MEM_WORKSPACE), status, done);
    int64_t at = 0;
    for (int64_t v = 0; v < vertices; v++) {
        WEFT_CHECK_GOTO(offset[v] == at && offset[v + 1] >= at && offset[v + 1] <= edges, status, done, WEFT_ERR_DATA,
                        "%s[%s]: row %" PRId64 ": %" PRId64 " to %" PRId64 ": must ascend from 0 to %" PRId64,
                        npz->path, layout->offset, v, offset[v], offset[v + 1], edges);
        for (; at < offset[v + 1]; at++) {
            (*rows)[at] = v;
        }
    }
    WEFT_CHECK_GOTO(at == edges, status, done, WEFT_ERR_DATA, "%s[%s]: ends at %" PRId64 ", expected %" PRId64,
                    npz->path, layout->offset, at, edges);
done:
    weft_free(offset);
    return status;
}

static weft_status read_ends(const reader_npz *npz, const weights_layout *layout, int64_t edges, int64_t vertices,
                             edge_ends *ends)
{
    if (layout->from != NULL) {
        WEFT_TRY(reader_npz_ints(npz, layout->from, 1, &edges, &ends->from));
        return reader_npz_ints(npz, layout->to, 1, &edges, &ends->to);
    }
    if (layout->offset != NULL) {
        return expand_rows(npz, layout, edges, vertices, ends);
    }
    const bool turned = layout->ends != NULL;
    int64_t shape[2] = {turned ? 2 : edges, turned ? edges : 2};
    int64_t *pairs = NULL;
    weft_status status;
    WEFT_TRY(reader_npz_ints(npz, turned ? layout->ends : layout->pairs, 2, shape, &pairs));
    WEFT_TRY_GOTO(WEFT_NEW(&ends->from, edges, WEFT_MEM_WORKSPACE), status, done);
    WEFT_TRY_GOTO(WEFT_NEW(&ends->to, edges, WEFT_MEM_WORKSPACE), status, done);
    for (int64_t e = 0; e < edges; e++) {
        ends->from[e] = pairs[turned ? e : 2 * e];
        ends->to[e] = pairs[turned ? edges + e : 2 * e + 1];
    }
done:
    weft_free(pairs);
    return status;
}

/* [edges], or a column [edges, 1]. */
static weft_status read_values(const reader_npz *npz, const char *name, int64_t *edges, float **value)
{
    npy_header header;
    WEFT_TRY(npz_read_header(npz->file, npz_find(npz->file, name), &header));
    int64_t shape[2] = {-1, 1};
    WEFT_TRY(reader_npz_floats(npz, name, header.dims == 2 ? 2 : 1, shape, value));
    *edges = shape[0];
    return WEFT_OK;
}

static weft_status read_arrays(const reader_npz *npz, const edge_weights *s)
{
    size_t found = 0;
    const size_t known = sizeof layouts / sizeof *layouts;
    while (found < known && !has_layout(npz, &layouts[found])) {
        found++;
    }
    WEFT_CHECK(
        found < known, WEFT_ERR_DATA,
        "%s: no weights that are known: data of a matrix of SciPy, adj_data, weights beside edges, or edge_weight "
        "beside edge_index",
        npz->path);
    const weights_layout *layout = &layouts[found];
    int64_t edges = -1;
    float *value = NULL;
    edge_ends ends = {.from = NULL};
    char reason[EDGE_WEIGHTS_REASON];
    weft_status status;
    WEFT_TRY_GOTO(read_values(npz, layout->value, &edges, &value), status, done);
    WEFT_TRY_GOTO(read_ends(npz, layout, edges, s->csr->vertices, &ends), status, done);
    for (int64_t e = 0; e < edges; e++) {
        WEFT_CHECK_GOTO(edge_weights_put(s, ends.from[e], ends.to[e], (double)value[e], reason), status, done,
                        WEFT_ERR_DATA, "%s[%s]: row %" PRId64 ": %s", npz->path, layout->value, e, reason);
    }
done:
    WEFT_FREE_ALL(value, ends.from, ends.to);
    return status;
}

static weft_status read_npz(const char *path, int64_t memory_bytes, const edge_weights *s)
{
    reader_npz npz;
    WEFT_TRY(reader_npz_open(path, memory_bytes, &npz));
    weft_status status = read_arrays(&npz, s);
    reader_npz_close(&npz);
    return status;
}

/* ---- both ---- */

static weft_status check_all_set(const char *path, const edge_weights *s)
{
    const csr_graph *csr = s->csr;
    char a[EDGE_WEIGHTS_CALLED], b[EDGE_WEIGHTS_CALLED];
    for (int64_t v = 0; v < csr->vertices; v++) {
        for (int64_t e = csr->offset[v]; e < csr->offset[v + 1]; e++) {
            WEFT_CHECK(s->bits[e] != EDGE_WEIGHTS_UNSET, WEFT_ERR_DATA, "%s: has no weight for the edge %s -> %s", path,
                       edge_weights_called(s, csr->source[e], a), edge_weights_called(s, v, b));
        }
    }
    return WEFT_OK;
}

weft_status reader_weights(const char *path, const csr_graph *csr, const reader_weights_how *how, float **weight)
{
    void *bits = NULL;
    weft_status status;
    const bool packed = reader_name_ends(path, ".npz");
    *weight = NULL;
    WEFT_CHECK(!packed || how->map == NULL, WEFT_ERR_USAGE,
               FLAG_RELABEL ": %s has no ids but 0 to %" PRId64
                            "; give the weights in a table of text, by the ids of the edges",
               path, csr->vertices - 1);
    WEFT_TRY(reader_check_fits(path, (uint64_t)csr->entries * sizeof **weight, how->memory_bytes));
    WEFT_TRY(weft_malloc((size_t)csr->entries, sizeof **weight, WEFT_MEM_GRAPH, &bits));
    if (csr->entries > 0) {
        memset(bits, 0xff, (size_t)csr->entries * sizeof **weight); /* EDGE_WEIGHTS_UNSET */
    }
    edge_weights s = {
        .csr = csr,
        .both_ways = how->both_ways,
        .first_id = how->first_id,
        .map = how->map,
        .told = how->told,
        .kind = how->kind,
        .cure = how->both_ways ? "add up what comes twice, or keep directions that differ apart with " FLAG_SYMMETRIZE
                                 " off"
                               : "add up what comes twice",
        .bits = bits};
    if (packed) { /* arrays count from 0 */
        s.first_id = 0;
        s.map = NULL;
    }
    WEFT_TRY_GOTO(packed ? read_npz(path, how->memory_bytes, &s) : edge_weights_text(path, &s), status, done);
    WEFT_TRY_GOTO(check_all_set(path, &s), status, done);
    *weight = bits;
    bits = NULL;
done:
    weft_free(bits);
    return status;
}
