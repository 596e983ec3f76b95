/* gnn/data/edges/edge_text.c: see gnn/data/edges/edge_text.h. Common lines of two ids are read by a kernel
 * (gnn/data/edges/edge_lines.h), others of two columns here: digit by digit, without overflow checks, as a run of more
 * than 18 digits is refused by its length. What is left, and tables of other columns, is cut into fields. */
#include "gnn/data/edges/edge_text.h"

#include <inttypes.h>
#include <stdio.h>

#include "base/isa.h"
#include "gnn/data/convert_options.def"
#include "gnn/data/edges/edge_lines.h"

enum { BATCH = 4096, DIGITS_MAX = 18 };

typedef struct parse_state {
    const edge_text *rules;
    arcs *into;
    edge_ids ids;        /* what the file may name */
    edge_lines_fn lines; /* NULL: lines have more columns than two */
    bool turned;         /* pairs are collected as they stand, and the target stands first */
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
    char what[128];
    const bool open = state->rules->table != NULL && state->rules->vertices < 0 && !text_at_end(at);
    snprintf(what, sizeof what, "a vertex id, %" PRId64 " to %" PRId64 "%s", state->ids.first, state->ids.last,
             open ? " (" FLAG_RELABEL " takes names, and numbers of any size)" : "");
    return text_expected(piece, at, what);
}

/* Fields that are numbers, from the third on. */
static bool read_over(const parse_state *state, text_piece *piece, const char **at)
{
    for (int64_t column = 2; column < state->rules->columns; column++) {
        const char *field = text_skip_separator(*at), *end = field;
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

/* ---- fields of a table ---- */

static bool take_id(const parse_state *state, text_piece *piece, const text_field *field, int32_t *id)
{
    int64_t number;
    if (state->rules->map != NULL) {
        const bool found = id_map_find(state->rules->map, field, &number);
        *id = found ? (int32_t)number : 0;
        return found || text_expected(piece, field->text, "an id that was there when the file was first read");
    }
    if (!text_field_whole(field, &number) || number < state->ids.first || number > state->ids.last) {
        return fail_id(state, piece, field->text);
    }
    *id = (int32_t)(number - state->ids.first);
    return true;
}

static bool parse_fields(const parse_state *state, text_piece *piece, const char **at, int32_t *pair)
{
    edge_fields fields;
    return edge_columns_scan(state->rules->table, piece, at, &fields) &&
           take_id(state, piece, &fields.from, &pair[state->turned]) &&
           take_id(state, piece, &fields.to, &pair[!state->turned]);
}

/* As two ids where that is possible: what is wrong with other lines, that way tells better. */
static bool parse_either(const parse_state *state, text_piece *piece, const char **at, int32_t *pair)
{
    const char *row = *at;
    if (parse_edge(state, piece, at, pair)) {
        return true;
    }
    text_piece again = *piece;
    *at = row;
    return parse_fields(state, &again, at, pair);
}

/* Where the pairs of a piece go: straight into the chunk of edges, or by way of `own` where chunks are tiny. */
typedef struct sink {
    int32_t *pairs;
    int64_t count;
    int32_t own[2 * BATCH];
} sink;

/* The file names the target first. */
static void turn_pairs(int32_t *pairs, int64_t count)
{
    for (int64_t i = 0; i < count; i++) {
        const int32_t first = pairs[2 * i];
        pairs[2 * i] = pairs[2 * i + 1];
        pairs[2 * i + 1] = first;
    }
}

static bool empty_sink(const parse_state *state, text_piece *piece, sink *s)
{
    weft_status status = WEFT_OK;
    if (state->turned) {
        turn_pairs(s->pairs, s->count);
    }
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
        if (!(state->rules->table != NULL ? parse_either : parse_edge)(state, piece, &at, pair)) {
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

/* To the next field of a common row; false: something else follows than one separator. */
static inline bool next_quickly(const char **at, char separator)
{
    const char *p = *at;
    if (separator == TEXT_BLANKS) {
        *at = text_skip_blanks(p);
        return *at > p && !text_at_end(*at);
    }
    *at = text_skip_around(p + 1, separator);
    return *p == separator;
}

/* Common rows, of plain digits and of fields that are not in quotes; any other is left, with false. */
static inline bool parse_quickly(const parse_state *state, const text_piece *piece, const char **at, int32_t *pair)
{
    const edge_columns *c = state->rules->table;
    const char separator = c->header.separator, *p = text_row_begin(piece, *at, separator);
    for (int64_t j = 0; j < c->header.columns; j++) {
        if (j > 0 && !next_quickly(&p, separator)) {
            return false;
        }
        if (j == c->from || j == c->to) {
            if (!scan_id(state, &p, &pair[j == c->to])) {
                return false;
            }
        } else if (*p == '"') {
            return false;
        } else {
            while (*p != separator && *p != '\n' && *p != '\t') {
                p++;
            }
        }
    }
    p -= *p == '\n' && p[-1] == '\r';
    *at = p;
    return text_at_end(p);
}

static bool parse_table(void *self, text_piece *piece)
{
    const parse_state *state = self;
    const bool quick = state->rules->map == NULL && !state->rules->table->dictionaries;
    sink s;
    const char *at = piece->text;
    if (!open_sink(state, piece, &s)) {
        return false;
    }
    while (text_next_row(piece, &at)) {
        const char *row = at;
        int32_t *pair = s.pairs + 2 * s.count;
        if (!quick || !parse_quickly(state, piece, &at, pair)) {
            at = row;
            if (!parse_fields(state, piece, &at, pair)) {
                return false;
            }
        }
        at = text_past_end(at);
        if (++s.count == BATCH && (!empty_sink(state, piece, &s) || !open_sink(state, piece, &s))) {
            return false;
        }
    }
    return empty_sink(state, piece, &s);
}

/* Two columns of numbers, in whichever order. */
static bool is_plain(const edge_text *rules)
{
    const edge_columns *table = rules->table;
    return rules->columns == 2 && rules->map == NULL &&
           (table == NULL || (table->header.columns == 2 && !table->dictionaries));
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
                         .lines = is_plain(rules) ? lines[hal_isa_best()] : NULL};
    const bool cut = rules->table != NULL && !is_plain(rules);
    state.turned = rules->table != NULL && !cut && rules->table->from > rules->table->to;
    text_parser parser = {
        .self = &state, .parse = cut ? parse_table : parse_edges, .unit = "edges", .counted = count_edges};
    snprintf(parser.comments, sizeof parser.comments, "%s", rules->comments);
    return text_source_parse(source, &parser, NULL);
}

weft_status edge_text_table(text_source *source, const edge_columns *columns, const edge_text_ids *ids, arcs *into)
{
    const edge_text rules = {.first_id = ids->first,
                             .vertices = ids->vertices,
                             .columns = 2,
                             .comments = "#%",
                             .table = columns,
                             .map = ids->map};
    WEFT_TRY(text_header_skip(&columns->header, source));
    return edge_text_parse(source, &rules, into);
}

weft_status edge_text_read(text_source *source, const char *path, int64_t vertices, arcs *into)
{
    edge_columns columns;
    const edge_text_ids ids = {.vertices = vertices};
    WEFT_TRY(edge_columns_find(path, false, true, &columns));
    weft_status status = columns.header.columns > 0 ? edge_text_table(source, &columns, &ids, into) : WEFT_OK;
    edge_columns_free(&columns);
    return status;
}
