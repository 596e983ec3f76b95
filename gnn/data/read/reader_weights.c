/*
 * gnn/data/read/reader_weights.c: see gnn/data/read/reader_weights.h.
 *
 * The edges are sorted already, so a weight finds its place by a search in the row of its destination, whatever the order of
 * the file, and how edges are collected and sorted in bounded memory has nothing to do with weights. Lines are parsed by all
 * threads; a place is taken by one exchange, so that an edge that comes twice shows. 4 bytes an entry; the arrays of an .npz
 * come on top.
 */
#include "gnn/data/read/reader_weights.h"

#include <ctype.h>
#include <float.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "base/alloc.h"
#include "base/number.h"
#include "gnn/data/convert_options.def"
#include "gnn/data/edges/edge_text.h"
#include "gnn/data/read/reader_parts.h"
#include "gnn/data/read/reader_text.h"

#define UNSET UINT32_MAX /* the bits of a number that is no weight */

enum { REASON = 400 };

typedef struct weights_state {
    const csr_graph *csr;
    bool both_ways;
    int64_t first_id; /* what the file calls vertex 0 */
    uint32_t *bits;   /* [entries] of the weights */
} weights_state;

static int64_t find_entry(const csr_graph *csr, int64_t from, int64_t to)
{
    int64_t low = csr->offset[to], high = csr->offset[to + 1];
    while (low < high) {
        const int64_t middle = low + (high - low) / 2;
        if (csr->source[middle] < from) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low < csr->offset[to + 1] && csr->source[low] == from ? low : -1;
}

static bool put_one_way(const weights_state *s, int64_t from, int64_t to, float weight, char reason[REASON])
{
    const int64_t e = find_entry(s->csr, from, to);
    if (e < 0 && from == to) {
        return true;
    }
    if (e < 0) {
        snprintf(reason, REASON, "a weight of the edge %" PRId64 " -> %" PRId64 ", which the graph does not have",
                 from + s->first_id, to + s->first_id);
        return false;
    }
    uint32_t bits, before;
    float other;
    memcpy(&bits, &weight, sizeof bits);
    before = __atomic_exchange_n(&s->bits[e], bits, __ATOMIC_RELAXED);
    if (before == UNSET || before == bits) {
        return true;
    }
    memcpy(&other, &before, sizeof other);
    snprintf(reason, REASON,
             "the edge %" PRId64 " -> %" PRId64
             " weighs %g here and %g elsewhere in the file: add up what comes twice%s",
             from + s->first_id, to + s->first_id, (double)weight, (double)other,
             s->both_ways ? ", or keep directions that differ apart with " FLAG_SYMMETRIZE " off" : "");
    return false;
}

static bool put(const weights_state *s, int64_t from, int64_t to, double value, char reason[REASON])
{
    const int64_t n = s->csr->vertices;
    const int64_t wrong = from < 0 || from >= n ? from : to;
    if (from < 0 || from >= n || to < 0 || to >= n) {
        snprintf(reason, REASON, "vertex %" PRId64 ": vertices are %" PRId64 " to %" PRId64, wrong + s->first_id,
                 s->first_id, n - 1 + s->first_id);
        return false;
    }
    if (!(value == 0.0 || (value >= (double)FLT_MIN && value <= (double)FLT_MAX))) {
        snprintf(reason, REASON, "%g of the edge %" PRId64 " -> %" PRId64 " is no weight: 0, or from %g to %g",
                 number_plain(value), from + s->first_id, to + s->first_id, (double)FLT_MIN, (double)FLT_MAX);
        return false;
    }
    const float weight = value == 0.0 ? 0.0F : (float)value; /* -0 and 0 are one */
    return put_one_way(s, from, to, weight, reason) && (!s->both_ways || put_one_way(s, to, from, weight, reason));
}

/* ---- text ---- */

static bool parse_rows(void *self, text_piece *piece)
{
    const weights_state *s = self;
    const char *at = piece->text;
    char reason[REASON];
    while (text_next_row(piece, &at)) {
        const char *row = at;
        int64_t from, to;
        double value;
        if (!text_scan_int(&at, &from)) {
            return text_expected(piece, at, "a vertex id");
        }
        at = text_skip_separator(at);
        if (!text_scan_int(&at, &to)) {
            return text_expected(piece, at, "a vertex id");
        }
        at = text_skip_separator(at);
        if (!text_scan_real(&at, false, &value)) {
            return text_expected(piece, at, "the weight of the edge, a number");
        }
        if (!put(s, from - s->first_id, to - s->first_id, value, reason)) {
            piece->at = row;
            snprintf(piece->reason, sizeof piece->reason, "%s", reason);
            return false;
        }
        at = text_next_line(at, piece->end);
    }
    return true;
}

/* Past the lines before the first edge: comments, a header of words, and of Matrix Market the banner and the sizes. */
static weft_status skip_head(const char *path, text_source *source, char *line, weights_state *s)
{
    static const char banner[] = "%%MatrixMarket";
    bool sizes = false, end = false;
    for (;;) {
        WEFT_TRY(text_source_line(source, line, EDGE_LINE_MAX, &end));
        const char *first = text_skip_blanks(line);
        if (end) {
            return WEFT_OK;
        }
        if (strncasecmp(first, banner, sizeof banner - 1) == 0) {
            char field[32] = "";
            WEFT_CHECK(sscanf(first, "%*s %*s %*s %31s", field) == 1 && strcasecmp(field, "pattern") != 0,
                       WEFT_ERR_DATA, "%s: line 1: a matrix of field '%s' has no values to be weights", path, field);
            s->first_id = 1;
            sizes = true;
        } else if (*first != '\0' && *first != '#' && *first != '%' && !isalpha((unsigned char)*first) &&
                   *first != '"' && *first != '_') {
            if (!sizes) { /* else the line with the sizes, before the first edge */
                text_source_unread(source);
            }
            return WEFT_OK;
        }
    }
}

static weft_status read_text(const char *path, weights_state *s)
{
    text_source *source = NULL;
    char *line = NULL;
    weft_status status;
    const text_parser parser = {.self = s, .parse = parse_rows, .comments = "#%"};
    WEFT_TRY_GOTO(text_source_open(path, EDGE_LINE_MAX, &source), status, done);
    WEFT_TRY_GOTO(weft_malloc(EDGE_LINE_MAX, 1, WEFT_MEM_WORKSPACE, (void **)&line), status, done);
    WEFT_TRY_GOTO(skip_head(path, source, line, s), status, done);
    status = text_source_parse(source, &parser, NULL);
done:
    weft_free(line);
    text_source_close(source);
    return status;
}

/* ---- .npz ---- */

/* Names of the arrays of a kind of archive. */
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

/* The ends of the edges, as arrays to be freed. */
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

static weft_status read_arrays(const reader_npz *npz, const weights_state *s)
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
    char reason[REASON];
    weft_status status;
    WEFT_TRY_GOTO(read_values(npz, layout->value, &edges, &value), status, done);
    WEFT_TRY_GOTO(read_ends(npz, layout, edges, s->csr->vertices, &ends), status, done);
    for (int64_t e = 0; e < edges; e++) {
        WEFT_CHECK_GOTO(put(s, ends.from[e], ends.to[e], (double)value[e], reason), status, done, WEFT_ERR_DATA,
                        "%s[%s]: row %" PRId64 ": %s", npz->path, layout->value, e, reason);
    }
done:
    weft_free(value);
    weft_free(ends.from);
    weft_free(ends.to);
    return status;
}

static weft_status read_npz(const char *path, int64_t memory_bytes, const weights_state *s)
{
    reader_npz npz;
    WEFT_TRY(reader_npz_open(path, memory_bytes, &npz));
    weft_status status = read_arrays(&npz, s);
    reader_npz_close(&npz);
    return status;
}

/* ---- both ---- */

static weft_status check_all_set(const char *path, const weights_state *s)
{
    const csr_graph *csr = s->csr;
    for (int64_t v = 0; v < csr->vertices; v++) {
        for (int64_t e = csr->offset[v]; e < csr->offset[v + 1]; e++) {
            WEFT_CHECK(s->bits[e] != UNSET, WEFT_ERR_DATA, "%s: has no weight for the edge %" PRId64 " -> %" PRId64,
                       path, csr->source[e] + s->first_id, v + s->first_id);
        }
    }
    return WEFT_OK;
}

weft_status reader_weights(const char *path, const csr_graph *csr, bool both_ways, int64_t memory_bytes, float **weight)
{
    void *bits = NULL;
    weft_status status;
    *weight = NULL;
    WEFT_TRY(reader_check_fits(path, (uint64_t)csr->entries * sizeof **weight, memory_bytes));
    WEFT_TRY(weft_malloc((size_t)csr->entries, sizeof **weight, WEFT_MEM_GRAPH, &bits));
    if (csr->entries > 0) {
        memset(bits, 0xff, (size_t)csr->entries * sizeof **weight); /* UNSET */
    }
    weights_state s = {.csr = csr, .both_ways = both_ways, .bits = bits};
    const bool packed = reader_name_ends(path, ".npz");
    WEFT_TRY_GOTO(packed ? read_npz(path, memory_bytes, &s) : read_text(path, &s), status, done);
    WEFT_TRY_GOTO(check_all_set(path, &s), status, done);
    *weight = bits;
    bits = NULL;
done:
    weft_free(bits);
    return status;
}
