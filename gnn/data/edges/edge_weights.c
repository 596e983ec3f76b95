/*
 * gnn/data/edges/edge_weights.c: see gnn/data/edges/edge_weights.h. Weights in text are parsed by all threads: lines
 * FROM TO WEIGHT, Matrix Market with values, METIS with edge weights. The functions that read edges say which of them a
 * file is.
 */
#include "gnn/data/edges/edge_weights.h"

#include <float.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/number.h"
#include "base/sort.h"
#include "gnn/data/convert_options.def"
#include "gnn/data/edges/matrix_market.h"
#include "gnn/data/edges/metis_text.h"
#include "gnn/data/edges/text_head.h"

static int64_t find_entry(const csr_graph *csr, int64_t from, int64_t to)
{
    const int64_t end = csr->offset[to + 1], at = sorted_first(csr->source, csr->offset[to], end, from);
    return at < end && csr->source[at] == from ? at : -1;
}

const char *edge_weights_called(const edge_weights *s, int64_t vertex, char text[EDGE_WEIGHTS_CALLED])
{
    if (s->map != NULL && s->map->text != NULL) {
        snprintf(text, EDGE_WEIGHTS_CALLED, "'%.40s'", s->map->text + s->map->item[vertex]);
    } else {
        snprintf(text, EDGE_WEIGHTS_CALLED, "%" PRId64, s->map != NULL ? s->map->item[vertex] : vertex + s->first_id);
    }
    return text;
}

static bool put_one_way(const edge_weights *s, int64_t from, int64_t to, float weight, char reason[EDGE_WEIGHTS_REASON])
{
    const int64_t e = find_entry(s->csr, from, to);
    char a[EDGE_WEIGHTS_CALLED], b[EDGE_WEIGHTS_CALLED];
    if (e < 0 && from == to) {
        return true;
    }
    if (e < 0) {
        snprintf(reason, EDGE_WEIGHTS_REASON, "a weight of the edge %s -> %s, which the graph does not have",
                 edge_weights_called(s, from, a), edge_weights_called(s, to, b));
        return false;
    }
    uint32_t bits, before;
    float other;
    memcpy(&bits, &weight, sizeof bits);
    before = __atomic_exchange_n(&s->bits[e], bits, __ATOMIC_RELAXED);
    if (before == EDGE_WEIGHTS_UNSET || before == bits) {
        return true;
    }
    memcpy(&other, &before, sizeof other);
    snprintf(reason, EDGE_WEIGHTS_REASON, "the edge %s -> %s weighs %g here and %g elsewhere in the file: %s",
             edge_weights_called(s, from, a), edge_weights_called(s, to, b), (double)weight, (double)other, s->cure);
    return false;
}

bool edge_weights_put(const edge_weights *s, int64_t from, int64_t to, double value, char reason[EDGE_WEIGHTS_REASON])
{
    const int64_t n = s->csr->vertices;
    char a[EDGE_WEIGHTS_CALLED], b[EDGE_WEIGHTS_CALLED];
    const int64_t wrong = from < 0 || from >= n ? from : to;
    if (from < 0 || from >= n || to < 0 || to >= n) {
        snprintf(reason, EDGE_WEIGHTS_REASON, "vertex %" PRId64 ": vertices are %" PRId64 " to %" PRId64,
                 wrong + s->first_id, s->first_id, n - 1 + s->first_id);
        return false;
    }
    if (!(value == 0.0 || (value >= (double)FLT_MIN && value <= (double)FLT_MAX))) {
        snprintf(reason, EDGE_WEIGHTS_REASON, "%g of the edge %s -> %s is no weight: 0, or from %g to %g",
                 number_plain(value), edge_weights_called(s, from, a), edge_weights_called(s, to, b), (double)FLT_MIN,
                 (double)FLT_MAX);
        return false;
    }
    const float weight = value == 0.0 ? 0.0F : (float)value; /* -0 and 0 are one */
    return put_one_way(s, from, to, weight, reason) && (!s->both_ways || put_one_way(s, to, from, weight, reason));
}

/* ---- text ---- */

static bool put(const edge_weights *s, text_piece *piece, const char *row, const int64_t ends[2], double weight)
{
    char reason[EDGE_WEIGHTS_REASON];
    if (!edge_weights_put(s, ends[0], ends[1], weight, reason)) {
        piece->at = row;
        snprintf(piece->reason, sizeof piece->reason, "%s", reason);
        return false;
    }
    return true;
}

/* ---- entries of Matrix Market ---- */

static bool parse_entries(void *self, text_piece *piece)
{
    const edge_weights *s = self;
    const char *at = piece->text;
    while (text_next_row(piece, &at)) {
        const char *row = at;
        int64_t ends[2];
        double value;
        for (int i = 0; i < 2; i++) {
            if (!text_scan_int(&at, &ends[i])) {
                return text_expected(piece, at, "a vertex id");
            }
            ends[i] -= s->first_id;
            at = text_skip_separator(at);
        }
        if (!text_scan_real(&at, false, &value)) {
            return text_expected(piece, at, "the weight of the edge, a number");
        }
        if (!put(s, piece, row, ends, value)) {
            return false;
        }
        at = text_next_line(at, piece->end);
    }
    return true;
}

/* These formats number vertices from 1 and have no other ids, which say nothing where those of the edges have gaps or
 * are names. */
static weft_status check_counted(const char *path, const edge_weights *s)
{
    const id_map *map = s->map;
    const bool counted =
        map == NULL || (map->text == NULL && map->count > 0 && (map->item[0] == 0 || map->item[0] == 1) &&
                        map->item[map->count - 1] - map->item[0] == map->count - 1);
    WEFT_CHECK(counted, WEFT_ERR_USAGE,
               FLAG_RELABEL ": %s has no ids but 1 to %" PRId64
                            "; give the weights in a table of text, by the ids of the edges",
               path, map == NULL ? 0 : map->count);
    return WEFT_OK;
}

static weft_status read_matrix(const char *path, text_source *source, edge_weights *s)
{
    matrix_market matrix;
    WEFT_TRY(check_counted(path, s));
    const text_parser parser = {.self = s, .parse = parse_entries, .comments = MATRIX_MARKET_COMMENTS};
    WEFT_TRY(matrix_market_begin(path, source, &matrix));
    WEFT_CHECK(matrix.has_values, WEFT_ERR_DATA, "%s: line 1: a matrix of field 'pattern' has no values to be weights",
               path);
    WEFT_CHECK(
        !matrix.skew, WEFT_ERR_DATA,
        "%s: line 1: beside each value of a skew-symmetric matrix stands its negative, and no weight is negative",
        path);
    s->first_id = 1;
    s->cure = matrix.both_ways ? "an entry of a symmetric matrix is both directions' weight" : s->cure;
    s->both_ways = s->both_ways || matrix.both_ways;
    return text_source_parse(source, &parser, NULL);
}

static bool put_neighbour(const void *self, int64_t from, int64_t to, double weight, char *reason)
{
    return edge_weights_put(self, from, to, weight, reason);
}

/* Each edge stands in both of its lines, and weighs the same there. */
static weft_status read_metis(const char *path, text_source *source, edge_weights *s)
{
    WEFT_TRY(check_counted(path, s));
    s->first_id = 1;
    s->both_ways = true;
    s->cure = "an edge weighs the same in both of its lines";
    return metis_weights_parse(path, source, &(metis_weights){.self = s, .put = put_neighbour});
}

/* ---- tables ---- */

typedef struct table_state {
    const edge_weights *weights;
    const edge_columns *columns;
} table_state;

static bool take_end(const edge_weights *s, text_piece *piece, const text_field *field, int64_t *vertex)
{
    if (s->map != NULL) {
        return id_map_find(s->map, field, vertex) ||
               text_expected(piece, field->text, "the id of a vertex of the graph");
    }
    if (!text_field_whole(field, vertex)) {
        return text_expected(piece, field->text, "a vertex id");
    }
    *vertex -= s->first_id;
    return true;
}

static bool no_weight(text_piece *piece, const text_field *field)
{
    enum { SHOWN = 32 };
    const size_t length = (size_t)(field->end - field->text);
    if (memchr(field->text, ',', length) == NULL) {
        return text_expected(piece, field->text, "the weight of the edge, a number");
    }
    piece->at = field->text;
    snprintf(piece->reason, sizeof piece->reason,
             "'%.*s': a comma within the weight of the edge: decimal commas? Numbers are written 0.5",
             length > SHOWN ? SHOWN : (int)length, field->text);
    return false;
}

static bool parse_table(void *self, text_piece *piece)
{
    const table_state *t = self;
    const char *at = piece->text;
    while (text_next_row(piece, &at)) {
        const char *row = at;
        edge_fields fields;
        int64_t ends[2];
        double value;
        if (!edge_columns_scan(t->columns, piece, &at, &fields) ||
            !take_end(t->weights, piece, &fields.from, &ends[0]) ||
            !take_end(t->weights, piece, &fields.to, &ends[1])) {
            return false;
        }
        if (!text_field_number(&fields.weight, &value)) {
            return no_weight(piece, &fields.weight);
        }
        if (!put(t->weights, piece, row, ends, value)) {
            return false;
        }
        at = text_past_end(at);
    }
    return true;
}

static weft_status read_table(const char *path, text_source *source, const edge_weights *s)
{
    edge_columns columns;
    WEFT_TRY(edge_columns_find(path, true, !s->told, &columns));
    table_state t = {.weights = s, .columns = &columns};
    const text_parser parser = {.self = &t, .parse = parse_table, .comments = "#%"};
    weft_status status = text_header_skip(&columns.header, source);
    status = status == WEFT_OK ? text_source_parse(source, &parser, NULL) : status;
    edge_columns_free(&columns);
    return status;
}

weft_status edge_weights_text(const char *path, edge_weights *s)
{
    text_source *source;
    char head[TEXT_HEAD];
    WEFT_TRY(reader_text_head(path, head));
    const edge_file_kind kind = s->kind != EDGE_FILE_AUTO      ? s->kind
                                : matrix_market_is(path, head) ? EDGE_FILE_MATRIX_MARKET
                                : metis_is(path, head)         ? EDGE_FILE_METIS
                                                               : EDGE_FILE_TABLE;
    const bool metis = kind == EDGE_FILE_METIS;
    WEFT_TRY(text_source_open(path, metis ? METIS_LINE_MAX : EDGE_LINE_MAX, &source));
    weft_status status = kind == EDGE_FILE_MATRIX_MARKET ? read_matrix(path, source, s)
                         : metis                         ? read_metis(path, source, s)
                                                         : read_table(path, source, s);
    text_source_close(source);
    return status;
}
