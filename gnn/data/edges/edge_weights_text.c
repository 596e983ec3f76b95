/*
 * gnn/data/edges/edge_weights_text.c: weights in text, parsed by all threads: lines FROM TO WEIGHT, Matrix Market with values, METIS
 * with edge weights. Which of them a file is, is asked of the same functions as for edges.
 */
#include <ctype.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "gnn/data/convert_options.def"
#include "gnn/data/edges/edge_text.h"
#include "gnn/data/edges/edge_weights.h"
#include "gnn/data/edges/matrix_market.h"
#include "gnn/data/edges/metis_text.h"
#include "gnn/data/edges/text_head.h"

static bool parse_rows(void *self, text_piece *piece)
{
    const edge_weights *s = self;
    const char *at = piece->text;
    char reason[EDGE_WEIGHTS_REASON];
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
        if (!edge_weights_put(s, from - s->first_id, to - s->first_id, value, reason)) {
            piece->at = row;
            snprintf(piece->reason, sizeof piece->reason, "%s", reason);
            return false;
        }
        at = text_next_line(at, piece->end);
    }
    return true;
}

/* Past the lines before the first edge: comments and a header of words. */
static weft_status skip_head(text_source *source)
{
    char *line;
    bool end = false, row = false;
    WEFT_TRY(weft_malloc(EDGE_LINE_MAX, 1, WEFT_MEM_WORKSPACE, (void **)&line));
    weft_status status = WEFT_OK;
    while (status == WEFT_OK && !end && !row) {
        status = text_source_line(source, line, EDGE_LINE_MAX, &end);
        const char *first = status == WEFT_OK ? text_skip_blanks(line) : "";
        row = *first != '\0' && *first != '#' && *first != '%' && !isalpha((unsigned char)*first) && *first != '"' &&
              *first != '_';
    }
    if (status == WEFT_OK && row) {
        text_source_unread(source);
    }
    weft_free(line);
    return status;
}

static weft_status read_matrix(const char *path, text_source *source, edge_weights *s)
{
    matrix_market matrix;
    const text_parser parser = {.self = s, .parse = parse_rows, .comments = MATRIX_MARKET_COMMENTS};
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
    s->first_id = 1;
    s->both_ways = true;
    s->cure = "an edge weighs the same in both of its lines";
    return metis_weights_parse(path, source, &(metis_weights){.self = s, .put = put_neighbour});
}

static weft_status read_lines(text_source *source, edge_weights *s)
{
    const text_parser parser = {.self = s, .parse = parse_rows, .comments = "#%"};
    WEFT_TRY(skip_head(source));
    return text_source_parse(source, &parser, NULL);
}

weft_status edge_weights_text(const char *path, edge_weights *s)
{
    text_source *source;
    char head[TEXT_HEAD];
    WEFT_TRY(reader_text_head(path, head));
    const bool metis = metis_is(path, head);
    WEFT_TRY(text_source_open(path, metis ? METIS_LINE_MAX : EDGE_LINE_MAX, &source));
    weft_status status = matrix_market_is(path, head) ? read_matrix(path, source, s)
                         : metis                      ? read_metis(path, source, s)
                                                      : read_lines(source, s);
    text_source_close(source);
    return status;
}
