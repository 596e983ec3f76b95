/* gnn/data/edges/edge_text.c: see gnn/data/edges/edge_text.h. Common lines are read by a kernel (gnn/data/edges/edge_lines.h), all others
 * here: digit by digit, without overflow checks, as a run of more than 18 digits is refused by its length. */
#include "gnn/data/edges/edge_text.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/isa.h"
#include "base/log.h"
#include "gnn/data/convert_options.def"
#include "gnn/data/edges/edge_lines.h"

enum { BATCH = 4096, DIGITS_MAX = 18 };

typedef struct parse_state {
    const edge_text *rules;
    arcs *into;
    edge_ids ids;        /* what the file may name */
    edge_lines_fn lines; /* NULL: lines have more columns than two */
} parse_state;

static inline bool scan_id(const parse_state *state, const char **at, int32_t *id)
{
    const char *p = *at;
    uint64_t number = 0;
    for (unsigned digit; (digit = (unsigned)*p - '0') <= 9; p++) {
        number = 10 * number + digit;
    }
    if (p == *at || p - *at > DIGITS_MAX || (int64_t)number < state->ids.first || (int64_t)number > state->ids.last) {
        return false;
    }
    *id = (int32_t)((int64_t)number - state->ids.first);
    *at = p;
    return true;
}

static bool fail_id(const parse_state *state, text_piece *piece, const char *at)
{
    char what[64];
    snprintf(what, sizeof what, "a vertex id, %" PRId64 " to %" PRId64, state->ids.first, state->ids.last);
    return text_expected(piece, at, what);
}

/* Fields that are numbers, from the third on. */
static bool read_over(const parse_state *state, text_piece *piece, const char **at)
{
    for (int64_t column = 2; column < state->rules->columns; column++) {
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
    snprintf(what, sizeof what, "the end of the line after %" PRId64 " fields", state->rules->columns);
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

/* Where the pairs of a piece go: straight into the chunk of edges, or by way of `own` where chunks are tiny. */
typedef struct sink {
    int32_t *pairs;
    int64_t count;
    int32_t own[2 * BATCH];
} sink;

static bool empty_sink(const parse_state *state, text_piece *piece, sink *s)
{
    weft_status status = WEFT_OK;
    if (s->pairs == s->own) {
        status = arcs_add(state->into, piece->thread, s->own, s->count);
    } else {
        arcs_take(state->into, piece->thread, s->count);
    }
    return status == WEFT_OK || text_fail(piece, status);
}

static bool open_sink(const parse_state *state, text_piece *piece, sink *s)
{
    const weft_status status = arcs_room(state->into, piece->thread, BATCH, &s->pairs);
    s->pairs = s->pairs == NULL ? s->own : s->pairs;
    s->count = 0;
    return status == WEFT_OK || text_fail(piece, status);
}

/* Any line, of the half that is not at its end. Returns whether it was read; *found: there was one. */
static bool parse_line(const parse_state *state, text_piece *piece, text_piece *half, int32_t *pair, bool *found)
{
    const char *at = half->text;
    /* A line that begins with a digit is a row; where all have long ids or weights, each comes here. */
    *found = (*at >= '0' && *at <= '9') || text_next_row(half, &at);
    half->text = half->end;
    if (*found) {
        if (!parse_edge(state, piece, &at, pair)) {
            return false;
        }
        half->text = text_past_end(at);
    }
    return true;
}

/* Common lines of both halves. Returns how many. */
static int64_t parse_lines(const parse_state *state, text_piece half[2], int32_t *pairs, int64_t room)
{
    const char *text[2] = {half[0].text, half[1].text};
    const char *const end[2] = {half[0].end, half[1].end};
    const int64_t count = state->lines(&state->ids, text, end, pairs, room);
    half[0].text = text[0];
    half[1].text = text[1];
    return count;
}

static bool parse_edges(void *self, text_piece *piece)
{
    const parse_state *state = self;
    sink s;
    text_piece half[2] = {*piece, *piece};
    half[0].end = text_next_line(piece->text + (piece->end - piece->text) / 2, piece->end);
    half[1].text = half[0].end;
    if (!open_sink(state, piece, &s)) {
        return false;
    }
    while (half[1].text < half[1].end || half[0].text < half[0].end) {
        if (BATCH - s.count <= EDGE_LINES_ROOM && (!empty_sink(state, piece, &s) || !open_sink(state, piece, &s))) {
            return false;
        }
        if (state->lines != NULL) {
            s.count += parse_lines(state, half, s.pairs + 2 * s.count, BATCH - s.count - 1); /* and a line */
        }
        text_piece *rest = half[0].text < half[0].end ? &half[0] : &half[1];
        if (rest->text < rest->end) {
            bool found;
            if (!parse_line(state, piece, rest, s.pairs + 2 * s.count, &found)) {
                return false;
            }
            s.count += found;
        }
    }
    return empty_sink(state, piece, &s);
}

static int64_t count_edges(void *self)
{
    const parse_state *state = self;
    return arcs_count(state->into);
}

weft_status edge_text_parse(text_source *source, const edge_text *rules, arcs *into)
{
    static const edge_lines_fn lines[HAL_ISAS] = {edge_lines_base, edge_lines_avx2, edge_lines_avx512};
    const int64_t vertices = rules->vertices >= 0 ? rules->vertices : INT32_MAX;
    parse_state state = {.rules = rules,
                         .into = into,
                         .ids = {.first = rules->first_id, .last = rules->first_id + vertices - 1},
                         .lines = rules->columns == 2 ? lines[hal_isa_best()] : NULL};
    text_parser parser = {.self = &state, .parse = parse_edges, .unit = "edges", .counted = count_edges};
    snprintf(parser.comments, sizeof parser.comments, "%s", rules->comments);
    return text_source_parse(source, &parser, NULL);
}

weft_status edge_text_read(text_source *source, const char *path, int64_t vertices, bool weighed, arcs *into)
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
    rules.columns = text_count_fields(line);
    WEFT_CHECK_GOTO(rules.columns >= 2, status, done, WEFT_ERR_DATA,
                    "%s: line %" PRId64 ": '%.40s': expected two vertex ids", path, text_source_line_number(source),
                    line);
    if (rules.columns > 2 && !weighed) {
        log_warn(
            "%s: what follows the two ids of each line (weights, times) is not used as long as " FLAG_CONVERT_WEIGHTS
            " does not name the file: its third field is a weight then",
            path);
    }
    text_source_unread(source);
    status = edge_text_parse(source, &rules, into);
done:
    weft_free(line);
    return status;
}
