/* gnn/data/edge_text.c: see gnn/data/edge_text.h. Ids are scanned here: short ones eight bytes at a time, others
 * without overflow checks digit by digit, as a run of more than 18 digits is refused by its length. */
#include "gnn/data/edge_text.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/log.h"

enum { BATCH = 1024, DIGITS_MAX = 18 };

typedef struct parse_state {
    const edge_text *rules;
    arcs *into;
    int64_t last_id; /* the largest that the file may name */
} parse_state;

static inline bool in_range(const parse_state *state, int64_t number)
{
    return number >= state->rules->first_id && number <= state->last_id;
}

static inline bool scan_id(const parse_state *state, const char **at, int32_t *id)
{
    const char *p = *at;
    uint64_t number = 0;
    for (unsigned digit; (digit = (unsigned)*p - '0') <= 9; p++) {
        number = 10 * number + digit;
    }
    if (p == *at || p - *at > DIGITS_MAX || !in_range(state, (int64_t)number)) {
        return false;
    }
    *id = (int32_t)((int64_t)number - state->rules->first_id);
    *at = p;
    return true;
}

/* The number of up to seven digits that the eight bytes at `at` begin with, and how many they are; 0: none, or more.
 * All digits at once: those that lie before the first other byte become the low end of a number of eight digits, whose
 * neighbours are put together three times. */
static inline int short_number(const char *at, int64_t *number)
{
    *number = 0;
#if defined(__BYTE_ORDER__) && __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
    const uint64_t each = 0x0101010101010101;
    uint64_t text;
    memcpy(&text, at, sizeof text);
    text ^= each * '0';
    const uint64_t others = (text + each * (0x80 - 10)) | text; /* the high bit: above 9; right up to the first such */
    if ((others & each * 0x80) == 0) {
        return 0;
    }
    const int digits = __builtin_ctzll(others & each * 0x80) / 8;
    text = digits == 0 ? 0 : text << (64 - 8 * digits);
    text = (text * 10 + (text >> 8)) & 0x00ff00ff00ff00ff;
    text = (text * 100 + (text >> 16)) & 0x0000ffff0000ffff;
    *number = (int64_t)((text * 10000 + (text >> 32)) & 0xffffffff);
    return digits;
#else
    (void)at;
    return 0;
#endif
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

/* Past an end of line, as text_at_end finds it. */
static inline const char *past_end(const char *at)
{
    return at + (*at == '\r' ? 2 : 1);
}

/* The common line, "12 345": two short ids with one character between them, and nothing else. Moves past the line;
 * false: look closely. */
static inline bool parse_plain(const parse_state *state, const char **at, int32_t *pair)
{
    const char *p = *at;
    int64_t from;
    int64_t to;
    const int first = short_number(p, &from);
    p += first;
    const bool apart = *p == ' ' || *p == '\t' || *p == ',';
    const int second = short_number(p + 1, &to);
    p += 1 + second;
    if (first == 0 || second == 0 || !apart || !text_at_end(p) || !in_range(state, from) || !in_range(state, to)) {
        return false;
    }
    pair[0] = (int32_t)(from - state->rules->first_id);
    pair[1] = (int32_t)(to - state->rules->first_id);
    *at = past_end(p);
    return true;
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

/* Common lines of two halves of a piece, in turn: where a line ends is known only when it is read, so that one half
 * waits while the other computes. Stops where a half ends or has another line. Returns how many of `room` pairs it
 * filled. */
static int64_t parse_plain_lines(const parse_state *state, text_piece half[2], int32_t *pairs, int64_t room)
{
    const char *first = half[0].text;
    const char *second = half[1].text;
    int64_t count = 0;
    bool plain = state->rules->columns == 2;
    while (plain && count + 2 <= room && first < half[0].end && second < half[1].end) {
        const bool one = parse_plain(state, &first, pairs + 2 * count);
        count += one;
        plain = parse_plain(state, &second, pairs + 2 * count);
        count += plain;
        plain = plain && one;
    }
    half[0].text = first;
    half[1].text = second;
    return count;
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
        half->text = past_end(at);
    }
    return true;
}

static bool parse_edges(void *self, text_piece *piece)
{
    const parse_state *state = self;
    int32_t pairs[2 * BATCH];
    int64_t count = 0;
    text_piece half[2] = {*piece, *piece};
    half[0].end = text_next_line(piece->text + (piece->end - piece->text) / 2, piece->end);
    half[1].text = half[0].end;
    while (half[1].text < half[1].end || half[0].text < half[0].end) {
        count += parse_plain_lines(state, half, pairs + 2 * count, BATCH - count);
        text_piece *rest = half[0].text < half[0].end ? &half[0] : &half[1];
        if (count < BATCH && rest->text < rest->end) {
            bool found;
            if (!parse_line(state, piece, rest, pairs + 2 * count, &found)) {
                return false;
            }
            count += found;
        }
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
    rules.columns = text_count_fields(line);
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
