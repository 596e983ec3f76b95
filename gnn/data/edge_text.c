/* gnn/data/edge_text.c: see gnn/data/edge_text.h. Ids are scanned here, without overflow checks digit by digit: a run
 * of more than 18 digits is refused by its length. */
#include "gnn/data/edge_text.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdio.h>

#include "base/alloc.h"
#include "base/log.h"

enum { BATCH = 1024, DIGITS_MAX = 18 };

typedef struct parse_state {
    const edge_text *rules;
    arcs *into;
    int64_t last_id; /* the largest that the file may name */
} parse_state;

static inline bool scan_id(const parse_state *state, const char **at, int32_t *id)
{
    const char *p = *at;
    uint64_t number = 0;
    for (unsigned digit; (digit = (unsigned)*p - '0') <= 9; p++) {
        number = 10 * number + digit;
    }
    if (p == *at || p - *at > DIGITS_MAX || (int64_t)number > state->last_id ||
        (int64_t)number < state->rules->first_id) {
        return false;
    }
    *id = (int32_t)((int64_t)number - state->rules->first_id);
    *at = p;
    return true;
}

static bool fail_id(const parse_state *state, text_piece *piece, const char *at)
{
    char what[64];
    snprintf(what, sizeof what, "a vertex id, %" PRId64 " to %" PRId64, state->rules->first_id, state->last_id);
    return text_expected(piece, at, what);
}

/* Fields that are numbers, from the third on. */
static bool read_over(const parse_state *state, text_piece *piece, const char **at)
{
    for (int column = 2; column < state->rules->columns; column++) {
        const char *field = text_skip_separator(*at);
        const char *end = field;
        double number;
        if (field == *at || !text_scan_real(&end, true, &number)) {
            return text_expected(piece, field, "a number");
        }
        *at = end;
    }
    *at = text_skip_blanks(*at);
    if (text_at_end(*at)) {
        return true;
    }
    char what[64];
    snprintf(what, sizeof what, "the end of the line after %d fields", state->rules->columns);
    return text_expected(piece, *at, what);
}

static inline bool parse_edge(const parse_state *state, text_piece *piece, const char **at, int32_t *pair)
{
    if (!scan_id(state, at, &pair[0])) {
        return fail_id(state, piece, *at);
    }
    const char *second = text_skip_separator(*at);
    if (second == *at && !text_at_end(second)) {
        return text_expected(piece, *at, "a separator after the id");
    }
    *at = second;
    if (!scan_id(state, at, &pair[1])) {
        return fail_id(state, piece, *at);
    }
    return (state->rules->columns == 2 && **at == '\n') || read_over(state, piece, at);
}

static bool put_pairs(const parse_state *state, text_piece *piece, const int32_t *pairs, int64_t count)
{
    weft_status status = arcs_add(state->into, piece->thread, pairs, count);
    return status == WEFT_OK || text_fail(piece, status);
}

static bool parse_edges(void *self, text_piece *piece)
{
    const parse_state *state = self;
    int32_t pairs[2 * BATCH];
    int64_t count = 0;
    const char *at = piece->text;
    while (at < piece->end) {
        /* The common line begins with a digit; anything else is looked at closely. */
        if ((*at < '0' || *at > '9') && !text_next_row(piece, &at)) {
            break;
        }
        int32_t *pair = pairs + 2 * count;
        if (!parse_edge(state, piece, &at, pair)) {
            return false;
        }
        at += *at == '\r';
        at++;
        count++;
        if (count == BATCH) {
            if (!put_pairs(state, piece, pairs, count)) {
                return false;
            }
            count = 0;
        }
    }
    return put_pairs(state, piece, pairs, count);
}

static int64_t count_edges(void *self)
{
    const parse_state *state = self;
    return arcs_count(state->into);
}

weft_status edge_text_parse(text_source *source, const edge_text *rules, arcs *into)
{
    parse_state state = {.rules = rules,
                         .into = into,
                         .last_id = rules->first_id + (rules->vertices >= 0 ? rules->vertices : INT32_MAX) - 1};
    text_parser parser = {.self = &state, .parse = parse_edges, .unit = "edges", .counted = count_edges};
    snprintf(parser.comments, sizeof parser.comments, "%s", rules->comments);
    return text_source_parse(source, &parser, NULL);
}

/* Fields of a line, as separators cut it. */
static int count_fields(const char *line)
{
    int fields = 0;
    const char *at = text_skip_blanks(line);
    while (*at != '\0') {
        fields++;
        while (*at != '\0' && *at != ' ' && *at != '\t' && *at != ',' && *at != ';') {
            at++;
        }
        const char *next = text_skip_separator(at);
        if (next == at && *at != '\0') {
            break;
        }
        at = next;
    }
    return fields;
}

weft_status edge_text_read(text_source *source, const char *path, int64_t vertices, arcs *into)
{
    char *line;
    bool header = false;
    bool end = false;
    edge_text rules = {.vertices = vertices, .comments = "#%"};
    WEFT_TRY(weft_malloc(EDGE_LINE_MAX, 1, WEFT_MEM_WORKSPACE, (void **)&line));
    weft_status status;
    for (;;) {
        WEFT_TRY_GOTO(text_source_line(source, line, EDGE_LINE_MAX, &end), status, done);
        const char *first = text_skip_blanks(line);
        if (end || *first == '\0' || *first == '#' || *first == '%') {
            if (end) {
                break;
            }
            continue;
        }
        if (header || (!isalpha((unsigned char)*first) && *first != '"' && *first != '_')) {
            break;
        }
        header = true;
        log_info("%s: line %" PRId64 " is a header and skipped: %.60s", path, text_source_line_number(source), first);
    }
    if (end) {
        goto done;
    }
    rules.columns = count_fields(line);
    WEFT_CHECK_GOTO(rules.columns >= 2, status, done, WEFT_ERR_DATA,
                    "%s: line %" PRId64 ": '%.40s': expected two vertex ids", path, text_source_line_number(source),
                    line);
    if (rules.columns > 2) {
        log_warn("%s: what follows the two ids of each line (weights, times) is not used", path);
    }
    text_source_unread(source);
    status = edge_text_parse(source, &rules, into);
done:
    weft_free(line);
    return status;
}
