/*
 * gnn/data/edges/matrix_market.c: see gnn/data/edges/matrix_market.h.
 *
 * The banner may be written carelessly (one %, blanks before it): that is told. What is no banner in a file named .mtx
 * is refused, as its line of sizes would be read as an edge.
 */
#include "gnn/data/edges/matrix_market.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdio.h>
#include <strings.h>

#include "base/alloc.h"
#include "base/log.h"
#include "gnn/data/convert_options.def"
#include "gnn/data/edges/text_head.h"

enum { WORD = 32, LINE = 65536 };

static const char mark[] = "%%", name[] = "MatrixMarket";

static bool is_comment(const char *first)
{
    return strchr(MATRIX_MARKET_COMMENTS, *first) != NULL && *first != '\0';
}

/* The words behind the banner's name, however many signs and blanks stand before it; or NULL. */
static const char *past_name(const char *line)
{
    const char *at = text_skip_blanks(line);
    while (is_comment(at)) {
        at = text_skip_blanks(at + 1);
    }
    const bool begins = strncasecmp(at, name, sizeof name - 1) == 0;
    return begins && !isalnum((unsigned char)at[sizeof name - 1]) ? at + sizeof name - 1 : NULL;
}

bool matrix_market_is(const char *path, const char *head)
{
    bool found = reader_name_ends(path, ".mtx") && *head != '\0';
    for (bool more = true; !found && more && *head != '\0';) {
        const char *first = text_skip_blanks(head);
        found = past_name(first) != NULL;
        more = is_comment(first) || text_at_end(first);
        head += strcspn(head, "\n");
        head += *head == '\n';
    }
    return found;
}

static bool is_one_of(const char *word, const char *const *known)
{
    while (*known != NULL && strcasecmp(word, *known) != 0) {
        known++;
    }
    return *known != NULL;
}

/* The first line that is not empty. */
static weft_status read_banner(const char *path, int64_t number, const char *line, matrix_market *matrix)
{
    static const char *const fields[] = {"pattern", "real", "integer", NULL};
    static const char *const kinds[] = {"general", "symmetric", "skew-symmetric", NULL};
    char object[WORD] = "", layout[WORD], field[WORD], kind[WORD];
    const char *rest = past_name(line);
    const int words = rest != NULL ? sscanf(rest, "%31s %31s %31s %31s", object, layout, field, kind) : 0;
    WEFT_CHECK(words == 4 && strcasecmp(object, "matrix") == 0, WEFT_ERR_DATA,
               "%s: line %" PRId64
               ": '%.80s': expected '%s%s matrix coordinate FIELD SYMMETRY'; a list of edges with ids from 0 "
               "is read with " FLAG_FORMAT_IN " edge-list",
               path, number, line, mark, name);
    WEFT_CHECK(strcasecmp(layout, "array") != 0, WEFT_ERR_UNSUPPORTED,
               "%s: line %" PRId64 ": 'array': a dense matrix is no list of edges; write it in coordinate format", path,
               number);
    WEFT_CHECK(strcasecmp(layout, "coordinate") == 0, WEFT_ERR_DATA,
               "%s: line %" PRId64 ": '%s': expected 'coordinate'", path, number, layout);
    WEFT_CHECK(is_one_of(field, fields), WEFT_ERR_UNSUPPORTED,
               "%s: line %" PRId64 ": '%s': pattern, real and integer matrices are read", path, number, field);
    WEFT_CHECK(is_one_of(kind, kinds), WEFT_ERR_UNSUPPORTED,
               "%s: line %" PRId64 ": '%s': general, symmetric and skew-symmetric matrices are read", path, number,
               kind);
    if (number > 1 || strncmp(line, mark, sizeof mark - 1) != 0 ||
        past_name(line) != line + strlen(mark) + strlen(name)) {
        log_warn("%s: line %" PRId64 " is taken for the '%s%s' that begins the first line of a Matrix Market file",
                 path, number, mark, name);
    }
    matrix->has_values = strcasecmp(field, "pattern") != 0;
    matrix->both_ways = strcasecmp(kind, "general") != 0;
    matrix->skew = strcasecmp(kind, "skew-symmetric") == 0;
    return WEFT_OK;
}

static weft_status read_sizes(const char *path, text_source *source, char *line, matrix_market *matrix)
{
    int64_t *vertices = &matrix->vertices, *entries = &matrix->entries;
    bool end = false;
    do {
        WEFT_TRY(text_source_line(source, line, LINE, &end));
        WEFT_CHECK(!end, WEFT_ERR_DATA, "%s: ends before the line with the sizes", path);
    } while (is_comment(text_skip_blanks(line)) || *text_skip_blanks(line) == '\0');
    int64_t number = text_source_line_number(source), columns = 0;
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

static weft_status read_head(const char *path, text_source *source, char *line, matrix_market *matrix)
{
    bool end = false;
    do {
        WEFT_TRY(text_source_line(source, line, LINE, &end));
        WEFT_CHECK(!end, WEFT_ERR_DATA, "%s: is empty", path);
    } while (*text_skip_blanks(line) == '\0');
    WEFT_TRY(read_banner(path, text_source_line_number(source), line, matrix));
    return read_sizes(path, source, line, matrix);
}

weft_status matrix_market_begin(const char *path, text_source *source, matrix_market *matrix)
{
    char *line;
    *matrix = (matrix_market){.vertices = 0};
    WEFT_TRY(weft_malloc(LINE, 1, WEFT_MEM_WORKSPACE, (void **)&line));
    weft_status status = read_head(path, source, line, matrix);
    weft_free(line);
    return status;
}
