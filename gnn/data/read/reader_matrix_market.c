/*
 * gnn/data/read/reader_matrix_market.c: Matrix Market coordinate files (R. Boisvert, R. Pozo, K. Remington: The Matrix
 * Market Exchange Formats, NISTIR 5935, 1996).
 *
 *   %%MatrixMarket matrix coordinate pattern|real|integer general|symmetric|skew-symmetric
 *   % comments
 *   ROWS COLUMNS ENTRIES
 *   i j [value]          from 1; an edge i -> j, and j -> i as well where the matrix is (skew-)symmetric
 *
 * Values are read over here: gnn/data/read/reader_weights.c makes weights of them.
 */
#include <inttypes.h>
#include <stdio.h>
#include <strings.h>

#include "base/alloc.h"
#include "base/log.h"
#include "gnn/data/build/arcs.h"
#include "gnn/data/convert_options.def"
#include "gnn/data/edges/edge_text.h"
#include "gnn/data/read/reader_formats.h"
#include "gnn/data/read/reader_text.h"

enum { WORD = 32, LINE = 65536 };

static const char banner[] = "%%MatrixMarket";

static bool matches(const char *path, const char *head)
{
    (void)path;
    return strncasecmp(head, banner, sizeof banner - 1) == 0;
}

static bool is_one_of(const char *word, const char *const *known)
{
    while (*known != NULL && strcasecmp(word, *known) != 0) {
        known++;
    }
    return *known != NULL;
}

/* The first line; *columns = fields of an entry, *both = an entry means both directions. */
static weft_status read_banner(const char *path, const char *line, int64_t *columns, bool *both)
{
    static const char *const fields[] = {"pattern", "real", "integer", NULL};
    static const char *const kinds[] = {"general", "symmetric", "skew-symmetric", NULL};
    char mark[WORD];
    char object[WORD];
    char layout[WORD];
    char field[WORD];
    char kind[WORD];
    int words = sscanf(line, "%31s %31s %31s %31s %31s", mark, object, layout, field, kind);
    WEFT_CHECK(words == 5 && strcasecmp(mark, banner) == 0 && strcasecmp(object, "matrix") == 0, WEFT_ERR_DATA,
               "%s: line 1: '%.80s': expected '%s matrix coordinate FIELD SYMMETRY'", path, line, banner);
    WEFT_CHECK(strcasecmp(layout, "array") != 0, WEFT_ERR_UNSUPPORTED,
               "%s: line 1: 'array': a dense matrix is no list of edges; write it in coordinate format", path);
    WEFT_CHECK(strcasecmp(layout, "coordinate") == 0, WEFT_ERR_DATA, "%s: line 1: '%s': expected 'coordinate'", path,
               layout);
    WEFT_CHECK(is_one_of(field, fields), WEFT_ERR_UNSUPPORTED,
               "%s: line 1: '%s': pattern, real and integer matrices are read", path, field);
    WEFT_CHECK(is_one_of(kind, kinds), WEFT_ERR_UNSUPPORTED,
               "%s: line 1: '%s': general, symmetric and skew-symmetric matrices are read", path, kind);
    *columns = strcasecmp(field, "pattern") == 0 ? 2 : 3;
    *both = strcasecmp(kind, "general") != 0;
    return WEFT_OK;
}

static weft_status read_sizes(const char *path, text_source *source, char *line, int64_t *vertices, int64_t *entries)
{
    bool end = false;
    do {
        WEFT_TRY(text_source_line(source, line, LINE, &end));
        WEFT_CHECK(!end, WEFT_ERR_DATA, "%s: ends before the line with the sizes", path);
    } while (*text_skip_blanks(line) == '%' || *text_skip_blanks(line) == '\0');
    int64_t number = text_source_line_number(source);
    int64_t columns = 0;
    const char *at = text_skip_blanks(line);
    bool good = text_scan_int(&at, vertices);
    at = text_skip_blanks(at);
    good = good && text_scan_int(&at, &columns);
    at = text_skip_blanks(at);
    good = good && text_scan_int(&at, entries) && *text_skip_blanks(at) == '\0';
    WEFT_CHECK(good, WEFT_ERR_DATA, "%s: line %" PRId64 ": '%.80s': expected ROWS COLUMNS ENTRIES", path, number, line);
    WEFT_CHECK(*vertices == columns, WEFT_ERR_DATA,
               "%s: line %" PRId64 ": %" PRId64 " rows and %" PRId64 " columns: an adjacency matrix is square", path,
               number, *vertices, columns);
    WEFT_CHECK(*vertices >= 1 && *vertices <= INT32_MAX && *entries >= 0, WEFT_ERR_DATA,
               "%s: line %" PRId64 ": %" PRId64 " vertices and %" PRId64
               " entries: 1 to 2147483647 vertices are supported",
               path, number, *vertices, *entries);
    return WEFT_OK;
}

static weft_status read_entries(const char *path, text_source *source, char *line, raw_graph *raw)
{
    bool end = false;
    bool both = false;
    int64_t entries;
    edge_text rules = {.first_id = 1, .comments = "%"};
    WEFT_TRY(text_source_line(source, line, LINE, &end));
    WEFT_CHECK(!end, WEFT_ERR_DATA, "%s: is empty", path);
    WEFT_TRY(read_banner(path, line, &rules.columns, &both));
    WEFT_TRY(read_sizes(path, source, line, &raw->vertices, &entries));
    if (rules.columns > 2) {
        log_info("%s: the values of the matrix are weights where " FLAG_CONVERT_WEIGHTS " names the file, else unused",
                 path);
    }
    rules.vertices = raw->vertices;
    WEFT_TRY(edge_text_parse(source, &rules, raw->arcs));
    int64_t found = arcs_count(raw->arcs);
    WEFT_CHECK(found == entries, WEFT_ERR_DATA, "%s: %" PRId64 " entries, but its size line promises %" PRId64, path,
               found, entries);
    raw->both_ways = both;
    return WEFT_OK;
}

static weft_status parse(const char *path, text_source *source, raw_graph *raw)
{
    char *line;
    WEFT_TRY(weft_malloc(LINE, 1, WEFT_MEM_WORKSPACE, (void **)&line));
    weft_status status = read_entries(path, source, line, raw);
    weft_free(line);
    return status;
}

static weft_status read_graph(const char *path, raw_graph *raw)
{
    return reader_text_read(path, EDGE_LINE_MAX, parse, raw);
}

const reader_format reader_matrix_market = {
    .name = "matrix-market",
    .description = "Matrix Market coordinate files (.mtx): pattern, real, integer; also .gz, .xz",
    .symmetrize = true,
    .matches_text = matches,
    .read = read_graph,
};
