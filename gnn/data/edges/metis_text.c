/*
 * gnn/data/edges/metis_text.c: METIS graph files (G. Karypis: METIS 5.1.0 manual, section 4.1.1).
 *
 *   % comments
 *   VERTICES EDGES [FMT [NCON]]           FMT: three digits: vertex sizes, vertex weights, edge weights are there
 *   [size] [weights x NCON] neighbour [weight] neighbour [weight] ...      line v: vertex v, from 1
 *
 * Each edge stands in both of its lines; EDGES counts it once. An empty line is a vertex without neighbours. Sizes and
 * weights of vertices are read over.
 */
#include "gnn/data/edges/metis_text.h"

#include <inttypes.h>
#include <stdio.h>

#include "base/log.h"
#include "gnn/data/convert_options.def"
#include "gnn/data/edges/text_head.h"

enum { HEADER = 4096, BATCH = 1024, CONSTRAINTS_MAX = 4096 };

typedef struct metis_header {
    const char *path;
    int64_t vertices, edges;
    int64_t skipped; /* numbers before the neighbours: size and weights */
    bool edge_weights;
    arcs *into;                   /* what takes the edges; or */
    const metis_weights *weights; /* what takes their weights */
    bool weighs;                  /* somebody does, now or later */
} metis_header;

bool metis_is(const char *path, const char *head)
{
    bool named =
        reader_name_ends(path, ".graph") || reader_name_ends(path, ".mgraph") || reader_name_ends(path, ".metis");
    return named && head[0] != '\0';
}

/* FMT: up to three digits 0 or 1. */
static bool read_fmt(const char **at, int digits[3])
{
    char text[3];
    int count = 0;
    while (**at == '0' || **at == '1') {
        if (count == 3) {
            return false;
        }
        text[count++] = *(*at)++;
    }
    for (int i = 0; i < count; i++) {
        digits[3 - count + i] = text[i] - '0';
    }
    return count > 0;
}

static weft_status read_header(text_source *source, metis_header *h)
{
    char line[HEADER];
    bool end = false;
    do {
        WEFT_TRY(text_source_line(source, line, sizeof line, &end));
        WEFT_CHECK(!end, WEFT_ERR_DATA, "%s: ends before the header line", h->path);
    } while (*text_skip_blanks(line) == '%');
    int64_t number = text_source_line_number(source);
    int digits[3] = {0, 0, 0};
    int64_t constraints = 1;
    const char *at = text_skip_blanks(line);
    bool good = text_scan_int(&at, &h->vertices);
    at = text_skip_blanks(at);
    good = good && text_scan_int(&at, &h->edges);
    at = text_skip_blanks(at);
    if (good && *at != '\0') {
        good = read_fmt(&at, digits);
        at = text_skip_blanks(at);
    }
    if (good && *at != '\0') {
        good = text_scan_int(&at, &constraints);
    }
    WEFT_CHECK(good && *text_skip_blanks(at) == '\0', WEFT_ERR_DATA,
               "%s: line %" PRId64 ": '%.80s': expected VERTICES EDGES [FMT [NCON]]", h->path, number, line);
    WEFT_CHECK(
        h->vertices >= 1 && h->vertices <= INT32_MAX && h->edges >= 0 && h->edges <= INT64_MAX / 2, WEFT_ERR_DATA,
        "%s: line %" PRId64 ": %" PRId64 " vertices and %" PRId64 " edges: 1 to 2147483647 vertices are supported",
        h->path, number, h->vertices, h->edges);
    WEFT_CHECK(constraints >= 0 && constraints <= CONSTRAINTS_MAX, WEFT_ERR_DATA,
               "%s: line %" PRId64 ": %" PRId64 " weights a vertex; 0 to %d are read over", h->path, number,
               constraints, CONSTRAINTS_MAX);
    h->skipped = digits[0] + (digits[1] == 1 ? constraints : 0);
    h->edge_weights = digits[2] == 1;
    WEFT_CHECK(h->weights == NULL || h->edge_weights, WEFT_ERR_DATA,
               "%s: line %" PRId64
               ": '%.80s': without edge weights, which a last digit 1 of FMT (1, 11, 001, 011) tells of",
               h->path, number, line);
    if (h->weights == NULL && h->skipped > 0) {
        log_info("%s: sizes and weights of vertices are not used", h->path);
    }
    if (!h->weighs && h->edge_weights) {
        log_info("%s: the weights of edges are read where " FLAG_CONVERT_WEIGHTS " names the file, else unused",
                 h->path);
    }
    return WEFT_OK;
}

/* One whole number that is not used, and the blanks behind it. */
static bool read_over(text_piece *piece, const char **at, const char *what)
{
    const char *field = *at;
    int64_t number;
    if (!text_scan_int(at, &number) || (!text_at_end(*at) && text_skip_blanks(*at) == *at)) {
        return text_expected(piece, field, what);
    }
    *at = text_skip_blanks(*at);
    return true;
}

/* The weight of the edge from -> to, which the line of `to` names at `field`. */
static bool take_weight(const metis_header *h, text_piece *piece, const char *field, int64_t from, int64_t to,
                        const char **at)
{
    const char *written = *at;
    int64_t weight;
    if (!text_scan_int(at, &weight) || (!text_at_end(*at) && text_skip_blanks(*at) == *at)) {
        return text_expected(piece, written, "the weight of the edge");
    }
    *at = text_skip_blanks(*at);
    piece->at = field;
    return h->weights->put(h->weights->self, from, to, (double)weight, piece->reason);
}

static bool fail_neighbour(const metis_header *h, text_piece *piece, int64_t row, const char *at)
{
    char what[128];
    snprintf(what, sizeof what, "a neighbour of vertex %" PRId64 ", 1 to %" PRId64, row + 1, h->vertices);
    return text_expected(piece, at, what);
}

/* The edges neighbour -> row of one line, put into pairs[] and handed on when that is full. */
static bool parse_row(const metis_header *h, text_piece *piece, int64_t row, const char **at, int32_t *pairs,
                      int64_t *count)
{
    for (int64_t i = 0; i < h->skipped; i++) {
        if (!read_over(piece, at, "the size or weight of the vertex")) {
            return false;
        }
    }
    while (!text_at_end(*at)) {
        const char *field = *at;
        int64_t id;
        if (!text_scan_int(at, &id) || id < 1 || id > h->vertices ||
            (!text_at_end(*at) && text_skip_blanks(*at) == *at)) {
            return fail_neighbour(h, piece, row, field);
        }
        *at = text_skip_blanks(*at);
        if (h->weights != NULL) {
            if (!take_weight(h, piece, field, id - 1, row, at)) {
                return false;
            }
            continue;
        }
        if (h->edge_weights && !read_over(piece, at, "the weight of the edge")) {
            return false;
        }
        pairs[2 * *count] = (int32_t)(id - 1);
        pairs[2 * *count + 1] = (int32_t)row;
        if (++*count == BATCH) {
            weft_status status = arcs_add(h->into, piece->thread, pairs, *count);
            if (status != WEFT_OK) {
                return text_fail(piece, status);
            }
            *count = 0;
        }
    }
    return true;
}

static bool parse_rows(void *self, text_piece *piece)
{
    const metis_header *h = self;
    int32_t pairs[2 * BATCH];
    int64_t count = 0;
    const char *at = piece->text;
    for (int64_t row = piece->row; text_next_row(piece, &at); row++) {
        if (row >= h->vertices) {
            if (!text_at_end(at)) {
                return text_expected(piece, at, "no more lines than the header has vertices");
            }
        } else if (!parse_row(h, piece, row, &at, pairs, &count)) {
            return false;
        }
        at = text_next_line(at, piece->end);
    }
    weft_status status = h->into != NULL ? arcs_add(h->into, piece->thread, pairs, count) : WEFT_OK;
    return status == WEFT_OK || text_fail(piece, status);
}

static int64_t count_edges(void *self)
{
    const metis_header *h = self;
    return arcs_count(h->into);
}

weft_status metis_weights_parse(const char *path, text_source *source, const metis_weights *weights)
{
    metis_header h = {.path = path, .weights = weights, .weighs = true};
    const text_parser parser = {
        .self = &h, .parse = parse_rows, .count_rows = true, .blank_is_row = true, .comments = "%"};
    WEFT_TRY(read_header(source, &h));
    return text_source_parse(source, &parser, NULL);
}

weft_status metis_edges_parse(const char *path, text_source *source, bool weighs, arcs *into, int64_t *vertices)
{
    metis_header h = {.path = path, .into = into, .weighs = weighs};
    WEFT_TRY(read_header(source, &h));
    const text_parser parser = {.self = &h,
                                .parse = parse_rows,
                                .count_rows = true,
                                .blank_is_row = true,
                                .comments = "%",
                                .unit = "edges",
                                .counted = count_edges};
    int64_t rows;
    WEFT_TRY(text_source_parse(source, &parser, &rows));
    WEFT_CHECK(rows >= h.vertices, WEFT_ERR_DATA, "%s: ends after the line of vertex %" PRId64 " of %" PRId64, path,
               rows, h.vertices);
    WEFT_CHECK(arcs_count(into) == 2 * h.edges, WEFT_ERR_DATA,
               "%s: its lines name %" PRId64 " neighbours; the header's %" PRId64
               " edges, each in two lines, make %" PRId64,
               path, arcs_count(into), h.edges, 2 * h.edges);
    *vertices = h.vertices;
    return WEFT_OK;
}
