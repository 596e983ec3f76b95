/* tune/space/space_read.c: see tune/space/space_read.h. A line is read from left to right, with one look ahead. */
#include "tune/space/space_read.h"

#include <string.h>

#include "base/nearest.h"
#include "base/number.h"
#include "tune/space/space_rules.h"

enum { PRIOR = SPACE_CHOICE + 1, WHEN, WORDS, LIMITS = 2, CONSTRAINTS_MAX = 64 };
static const char *const words[WORDS] = {SPACE_KINDS(CHOICE_NAME)[PRIOR] = "prior", [WHEN] = "when"};
static const char constraints_key[] = "constraints";

typedef struct line_reader {
    const char *name; /* of the file */
    int line;
    const char *start, *at, *end;
} line_reader;

typedef enum value_kind { VALUE_WHOLE, VALUE_REAL, VALUE_TEXT, VALUE_TRUTH } value_kind;

typedef struct value {
    value_kind kind;
    double number;
    int column;
    char text[SPACE_TEXT_MAX]; /* as the option is given it */
} value;

static int column_of(const line_reader *r)
{
    return (int)(r->at - r->start) + 1;
}

#define REFUSE(r, format, ...)                                                                                         \
    weft_fail(WEFT_ERR_USAGE, "%s: line %d, column %d: " format, (r)->name, (r)->line, column_of(r), __VA_ARGS__)

/* ---- words and values -------------------------------------------------------------------------------------------
 * */

/* Past blanks and, where the line may end, a comment. */
static char look(line_reader *r)
{
    while (r->at < r->end && (*r->at == ' ' || *r->at == '\t')) {
        r->at++;
    }
    if (r->at < r->end && *r->at == '#') {
        r->at = r->end;
    }
    return r->at < r->end ? *r->at : '\0';
}

static weft_status expect(line_reader *r, char sign, const char *where)
{
    if (look(r) != sign) {
        return REFUSE(r, "expected '%c' %s; a dimension is one line: lr = {log = [1e-4, 0.1]}", sign, where);
    }
    r->at++;
    return WEFT_OK;
}

static bool is_letter(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' || c == '_';
}

/* A bare key, with '-' for '_'. */
static weft_status read_key(line_reader *r, char key[SPACE_NAME_MAX], const char *what)
{
    size_t bytes = 0;
    look(r);
    const char *start = r->at;
    for (; r->at < r->end && is_letter(*r->at) && bytes + 1 < SPACE_NAME_MAX; r->at++) {
        key[bytes++] = *r->at == '_' ? '-' : *r->at;
    }
    key[bytes] = '\0';
    if (bytes == 0 || (r->at < r->end && is_letter(*r->at))) {
        r->at = start;
        return REFUSE(r, "expected %s of 1 to %d letters, digits, '-' or '_'", what, SPACE_NAME_MAX - 1);
    }
    return WEFT_OK;
}

static weft_status read_quoted(line_reader *r, value *v)
{
    const char quote = *r->at++, *start = r->at;
    while (r->at < r->end && *r->at != quote && !(quote == '"' && *r->at == '\\')) {
        r->at++;
    }
    if (r->at == r->end || *r->at != quote) {
        return REFUSE(r, "expected a closing %c: a text has no backslashes, unless it stands in single quotes", quote);
    }
    const size_t bytes = (size_t)(r->at - start);
    if (bytes == 0 || bytes >= sizeof v->text) {
        return REFUSE(r, "a text of %zu bytes: it needs 1 to %zu", bytes, sizeof v->text - 1);
    }
    memcpy(v->text, start, bytes);
    v->text[bytes] = '\0';
    v->kind = VALUE_TEXT;
    r->at++;
    return WEFT_OK;
}

static weft_status read_value(line_reader *r, value *v)
{
    int64_t whole;
    const char sign = look(r), *start = r->at;
    v->column = column_of(r);
    if (sign == '"' || sign == '\'') {
        return read_quoted(r, v);
    }
    size_t bytes = 0;
    for (; r->at < r->end && (is_letter(*r->at) || *r->at == '.' || *r->at == '+'); r->at++) {
        bytes++;
    }
    if (bytes < sizeof v->text) {
        memcpy(v->text, start, bytes);
        v->text[bytes] = '\0';
        v->kind = VALUE_TRUTH;
        if (strcmp(v->text, "true") == 0 || strcmp(v->text, "false") == 0) {
            return WEFT_OK;
        }
        v->kind = number_parse_int(v->text, &whole) ? VALUE_WHOLE : VALUE_REAL;
        if (number_parse_real(v->text, &v->number)) {
            return WEFT_OK;
        }
    }
    r->at = start;
    return REFUSE(r, "expected a decimal number, a text in quotes, %s", "true or false");
}

/* ---- one dimension ----------------------------------------------------------------------------------------------
 * */

typedef struct value_list {
    value *at; /* [count] */
    int count, room;
} value_list;

typedef struct draft {
    space_dimension dimension;
    value_list list; /* limits or choices */
    char **choice;
    bool has_kind, has_prior, has_when;
    value prior;
    char parent[SPACE_NAME_MAX];
    value_list when; /* choices of the parent */
} draft;

/* word: whose values they are. */
static weft_status read_list(line_reader *r, const char *word, int most, value_list *list)
{
    WEFT_TRY(expect(r, '[', "before the values"));
    do {
        if (list->count == most) {
            return REFUSE(r, "%s has %d values at most", word, most);
        }
        if (list->count == list->room) {
            list->room = list->room > 0 ? 2 * list->room : LIMITS;
            WEFT_TRY(weft_realloc((void **)&list->at, (size_t)list->room, sizeof *list->at, WEFT_MEM_WORKSPACE));
        }
        WEFT_TRY(read_value(r, &list->at[list->count]));
        list->count++;
    } while (look(r) == ',' && r->at++ != NULL);
    return expect(r, ']', "or ',' behind a value");
}

/* [out] text: weft_free; those of the list, in its order. */
static weft_status list_texts(const value_list *list, char ***text)
{
    WEFT_TRY(WEFT_NEW(text, list->count, WEFT_MEM_WORKSPACE));
    for (int i = 0; i < list->count; i++) {
        (*text)[i] = list->at[i].text;
    }
    return WEFT_OK;
}

/* {model = ["gat", "gatv2"]} */
static weft_status read_when(line_reader *r, draft *d)
{
    d->has_when = true;
    WEFT_TRY(expect(r, '{', "before the name of a choice: when = {model = [\"gat\"]}"));
    WEFT_TRY(read_key(r, d->parent, "the name of a choice"));
    WEFT_TRY(expect(r, '=', "behind the name of a choice"));
    WEFT_TRY(read_list(r, words[WHEN], SPACE_CHOICES_MAX, &d->when));
    return expect(r, '}', "behind the values: a condition is of one choice");
}

static weft_status read_part(line_reader *r, draft *d)
{
    char key[SPACE_NAME_MAX];
    int word = 0;
    WEFT_TRY(read_key(r, key, "a word"));
    while (word < WORDS && strcmp(words[word], key) != 0) {
        word++;
    }
    if (word == WORDS) {
        const char *near = nearest_word(key, words, WORDS);
        return REFUSE(r, "unknown word \"%s\": range, log, integer, integer-log or choice, and prior or when%s%s%s",
                      key, near != NULL ? ": did you mean " : "", near != NULL ? near : "", near != NULL ? "?" : "");
    }
    if (word == PRIOR ? d->has_prior : word == WHEN ? d->has_when : d->has_kind) {
        return REFUSE(r, "\"%s\" is one too many: a dimension is of one kind, with one prior and one condition", key);
    }
    WEFT_TRY(expect(r, '=', "behind the word"));
    if (word == PRIOR) {
        d->has_prior = true;
        return read_value(r, &d->prior);
    }
    if (word == WHEN) {
        return read_when(r, d);
    }
    d->has_kind = true;
    d->dimension.kind = (space_kind)word;
    return read_list(r, words[word], word == SPACE_CHOICE ? SPACE_CHOICES_MAX : LIMITS, &d->list);
}

/* A limit is a number, and a whole one where, and only where, the kind is of whole numbers. */
static weft_status check_number(line_reader *r, const draft *d, const value *v)
{
    const bool whole = d->dimension.kind == SPACE_INTEGER || d->dimension.kind == SPACE_INTEGER_LOG;
    r->at = r->start + v->column - 1;
    if (v->kind != VALUE_WHOLE && v->kind != VALUE_REAL) {
        return REFUSE(r, "%s is no number; texts are for choice = [...]", v->text);
    }
    if (whole && v->kind != VALUE_WHOLE) {
        return REFUSE(r, "%s is not written as a whole number, as %s asks", v->text, words[d->dimension.kind]);
    }
    return WEFT_OK;
}

static weft_status take_limits(line_reader *r, draft *d)
{
    const space_kind kind = d->dimension.kind;
    if (d->list.count != LIMITS) {
        return REFUSE(r, "%s has %d value: it needs the lowest and the highest", words[kind], d->list.count);
    }
    WEFT_TRY(check_number(r, d, &d->list.at[0]));
    WEFT_TRY(check_number(r, d, &d->list.at[1]));
    if ((kind == SPACE_RANGE || kind == SPACE_LOG) && d->list.at[0].kind == VALUE_WHOLE &&
        d->list.at[1].kind == VALUE_WHOLE) {
        return REFUSE(r, "%s from %s to %s could mean whole numbers or all: write %s = [%s, %s], or %s.0", words[kind],
                      d->list.at[0].text, d->list.at[1].text, kind == SPACE_LOG ? "integer-log" : "integer",
                      d->list.at[0].text, d->list.at[1].text, d->list.at[0].text);
    }
    d->dimension.low = d->list.at[0].number;
    d->dimension.high = d->list.at[1].number;
    if (d->has_prior) {
        WEFT_TRY(check_number(r, d, &d->prior));
    }
    d->dimension.prior = d->prior.number;
    return WEFT_OK;
}

static weft_status take_choices(line_reader *r, draft *d)
{
    int prior = -1;
    WEFT_TRY(list_texts(&d->list, &d->choice));
    for (int i = 0; i < d->list.count; i++) {
        prior = strcmp(d->list.at[i].text, d->prior.text) == 0 ? i : prior;
    }
    if (d->has_prior && prior < 0) {
        r->at = r->start + d->prior.column - 1;
        return REFUSE(r, "the prior %s is none of the choices: write it as it stands there", d->prior.text);
    }
    d->dimension.choices = d->list.count;
    d->dimension.choice = d->choice;
    d->dimension.prior = prior;
    return WEFT_OK;
}

static weft_status read_draft(line_reader *r, draft *d)
{
    WEFT_TRY(read_key(r, d->dimension.name, "the name of an option"));
    WEFT_TRY(expect(r, '=', "behind the name"));
    WEFT_TRY(expect(r, '{', "before what the dimension is"));
    do {
        WEFT_TRY(read_part(r, d));
    } while (look(r) == ',' && r->at++ != NULL);
    WEFT_TRY(expect(r, '}', "or ',' behind it"));
    if (look(r) != '\0') {
        return REFUSE(r, "expected the end of the line, not '%c'", *r->at);
    }
    if (!d->has_kind) {
        return REFUSE(r, "%s has no values: add range, log, integer, integer-log or choice", d->dimension.name);
    }
    d->dimension.has_prior = d->has_prior;
    return d->dimension.kind == SPACE_CHOICE ? take_choices(r, d) : take_limits(r, d);
}

static weft_status add_condition(search_space *space, const draft *d)
{
    char **text = NULL;
    WEFT_TRY(list_texts(&d->when, &text));
    const weft_status status = space_add_condition(space, d->parent, text, d->when.count);
    weft_free(text);
    return status;
}

/* A refusal of what a line says gets the file and the line. */
static weft_status at_line(const line_reader *r, weft_status status)
{
    return status == WEFT_ERR_USAGE ? weft_fail_context(status, "%s: line %d: ", r->name, r->line) : status;
}

static weft_status read_dimension(line_reader *r, search_space *space)
{
    draft d = {0};
    weft_status status = read_draft(r, &d);
    status = status == WEFT_OK ? at_line(r, space_add(space, &d.dimension)) : status;
    status = status == WEFT_OK && d.has_when ? at_line(r, add_condition(space, &d)) : status;
    WEFT_FREE_ALL(d.list.at, d.when.at, d.choice);
    return status;
}

static bool is_constraints(line_reader *r)
{
    const size_t bytes = sizeof constraints_key - 1;
    look(r);
    return (size_t)(r->end - r->at) > bytes && memcmp(r->at, constraints_key, bytes) == 0 && !is_letter(r->at[bytes]);
}

static weft_status read_constraints(line_reader *r, search_space *space)
{
    value_list list = {0};
    r->at += sizeof constraints_key - 1;
    weft_status status = expect(r, '=', "behind constraints");
    status = status == WEFT_OK ? read_list(r, constraints_key, CONSTRAINTS_MAX, &list) : status;
    if (status == WEFT_OK && look(r) != '\0') {
        status = REFUSE(r, "expected the end of the line, not '%c'", *r->at);
    }
    for (int i = 0; i < list.count && status == WEFT_OK; i++) {
        status = at_line(r, space_add_constraint(space, list.at[i].text));
    }
    weft_free(list.at);
    return status;
}

/* ---- the file ---------------------------------------------------------------------------------------------------
 * */

/* [out] here: the section is [space]. seen: it has been here. */
static weft_status read_header(line_reader *r, bool *here, bool *seen)
{
    char key[SPACE_NAME_MAX];
    r->at++;
    WEFT_TRY(read_key(r, key, "the name of a section"));
    if (strcmp(key, "space") == 0 && look(r) == '.') {
        return REFUSE(r, "a section of one dimension: write it as one line below [space]: %s",
                      "lr = {log = [1e-4, 0.1]}");
    }
    WEFT_TRY(expect(r, ']', "behind the name of a section"));
    *here = strcmp(key, "space") == 0;
    if (*here && (look(r) != '\0' || *seen)) {
        return REFUSE(r, "[space] %s",
                      *seen ? "stands in the file twice: put its lines together" : "is a line of its own");
    }
    *seen |= *here;
    return WEFT_OK;
}

static weft_status read_lines(line_reader *r, const char *text, size_t bytes, search_space *space, char *rest)
{
    bool here = false, seen = false;
    const char *end = text + bytes;
    for (const char *next = text; next < end; r->line++) {
        const char *newline = memchr(next, '\n', (size_t)(end - next));
        r->start = r->at = next;
        r->end = newline != NULL ? newline : end;
        r->end -= r->end > r->start && r->end[-1] == '\r';
        next = newline != NULL ? newline + 1 : end;
        const bool header = look(r) == '[';
        if (header) {
            WEFT_TRY(read_header(r, &here, &seen));
        } else if (here && look(r) != '\0') {
            WEFT_TRY(is_constraints(r) ? read_constraints(r, space) : read_dimension(r, space));
        }
        if (here) {
            memset(rest + (r->start - text), ' ', (size_t)(r->end - r->start));
        }
    }
    WEFT_CHECK(seen && space->count > 0, WEFT_ERR_USAGE,
               "%s: no dimension: write [space], and below it lines such as lr = {log = [1e-4, 0.1]}", r->name);
    return WEFT_OK;
}

weft_status space_read(const char *name, const char *text, size_t bytes, search_space *space, char **rest)
{
    line_reader r = {.name = name, .line = 1};
    *space = (search_space){0};
    *rest = NULL;
    WEFT_CHECK(bytes <= SPACE_FILE_MAX, WEFT_ERR_USAGE, "%s: %zu bytes, at most %d are read", name, bytes,
               SPACE_FILE_MAX);
    WEFT_CHECK(bytes == 0 || memchr(text, '\0', bytes) == NULL, WEFT_ERR_USAGE, "%s: a NUL byte: not a text file",
               name);
    WEFT_TRY(WEFT_NEW_ZERO(rest, bytes + 1, WEFT_MEM_WORKSPACE));
    if (bytes > 0) {
        memcpy(*rest, text, bytes);
    }
    const weft_status status = read_lines(&r, text, bytes, space, *rest);
    if (status != WEFT_OK) {
        space_free(space);
        weft_free(*rest);
        *rest = NULL;
    }
    return status;
}
