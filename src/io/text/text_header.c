/*
 * io/text/text_header.c: see io/text/text_header.h.
 *
 * The separator is that of the header, or of the first row where there is no header or it is one name alone. Rows may
 * have one field more than there are names: R writes row names so. They are believed where a decimal comma cannot have
 * cut a field in two: unless a comma separates, or where the surplus first field is a quoted number, as R quotes it.
 */
#include "io/text/text_header.h"

#include <assert.h>
#include <ctype.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "base/alloc.h"
#include "base/log.h"
#include "base/text/append.h"

enum { WORD_MAX = 32, SHOWN = 40, LISTED = 400 };

typedef struct role_names {
    const char *names, *weaker;
} role_names;

static const role_names roles[TEXT_ROLE_COUNT] = {
#define ROLE_NAMES(role, names, weaker) [role] = {names, weaker},
    TEXT_ROLES(ROLE_NAMES)
#undef ROLE_NAMES
};

/* ---- names and roles ---- */

static bool same_text(const char *at, size_t length, const char *word)
{
    return strlen(word) == length && strncasecmp(at, word, length) == 0;
}

/* The part of a name that tells its role: of Neo4j's NAME:TYPE(SPACE) the type where it is one, else the name. */
static void telling_part(const char *name, const char **from, size_t *length)
{
    static const char *const types[] = {"ID", "START_ID", "END_ID"};
    *from = name;
    *length = strlen(name);
    const char *colon = strrchr(name, ':');
    if (colon == NULL) {
        return;
    }
    const size_t type = strcspn(colon + 1, "(");
    bool known = colon == name;
    for (size_t i = 0; i < sizeof types / sizeof *types; i++) {
        known = known || same_text(colon + 1, type, types[i]);
    }
    *from = known ? colon + 1 : name;
    *length = known ? type : (size_t)(colon - name);
}

/* Lower case, without blanks and marks; false: too long to be a word of the table. */
static bool plain_word(const char *name, char word[WORD_MAX])
{
    const char *from;
    size_t length, used = 0;
    telling_part(name, &from, &length);
    for (size_t i = 0; i < length; i++) {
        const char c = from[i];
        const bool upper = c >= 'A' && c <= 'Z';
        if (upper || (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || (c & 0x80) != 0) {
            if (used + 1 >= WORD_MAX) {
                return false;
            }
            word[used++] = (char)(upper ? c - 'A' + 'a' : c);
        }
    }
    word[used] = '\0';
    return used > 0;
}

static bool among(const char *word, const char *words)
{
    const size_t length = strlen(word);
    while (*words != '\0') {
        const size_t next = strcspn(words, " ");
        if (next == length && memcmp(words, word, length) == 0) {
            return true;
        }
        words += next + (words[next] == ' ');
    }
    return false;
}

static weft_status find_among(const text_header *h, const char *words, int64_t *column)
{
    *column = -1;
    for (int64_t j = 0; j < h->columns; j++) {
        char word[WORD_MAX];
        if (j == h->index || !plain_word(h->name[j], word) || !among(word, words)) {
            continue;
        }
        WEFT_CHECK(*column < 0, WEFT_ERR_DATA,
                   "%s: line %" PRId64
                   ": the columns '%.*s' and '%.*s' mean the same: leave one of them out, or give it another name",
                   h->path, h->line, SHOWN, h->name[*column], SHOWN, h->name[j]);
        *column = j;
    }
    return WEFT_OK;
}

weft_status text_header_find(const text_header *h, text_role role, int64_t *column)
{
    *column = -1;
    if (!h->named) {
        return WEFT_OK;
    }
    WEFT_TRY(find_among(h, roles[role].names, column));
    return *column >= 0 ? WEFT_OK : find_among(h, roles[role].weaker, column);
}

weft_status text_header_take_ids(text_header *h, int64_t *column)
{
    text_field field;
    int64_t number;
    WEFT_TRY(text_header_find(h, TEXT_ID, column));
    if (*column < 0 && h->index == 0 && text_header_sample(h, 0, &field) && !text_field_whole(&field, &number)) {
        *column = 0;
        h->index = -1;
    }
    return WEFT_OK;
}

bool text_header_is_weak(const text_header *h, int64_t column, text_role role)
{
    char word[WORD_MAX];
    return h->named && column != h->index && plain_word(h->name[column], word) && among(word, roles[role].weaker);
}

bool text_name_is(const char *name, text_role role)
{
    char word[WORD_MAX];
    return plain_word(name, word) && (among(word, roles[role].names) || among(word, roles[role].weaker));
}

bool text_same_name(const char *a, const char *b)
{
    char word[2][WORD_MAX];
    return strcmp(a, b) == 0 || (plain_word(a, word[0]) && plain_word(b, word[1]) && strcmp(word[0], word[1]) == 0);
}

bool text_header_is(const text_header *h, int64_t column, text_role role)
{
    return h->named && column != h->index && text_name_is(h->name[column], role);
}

/* ---- the first lines ---- */

/* A copy of the next line that is no comment, with the end that scanners of rows want; NULL: there is none. */
static weft_status next_content(text_source *source, size_t line_max, char **line, int64_t *number)
{
    char *buffer;
    bool end = false;
    weft_status status;
    *line = NULL;
    WEFT_TRY(weft_malloc(line_max + 2, 1, WEFT_MEM_WORKSPACE, (void **)&buffer));
    for (;;) {
        WEFT_TRY_GOTO(text_source_line(source, buffer, line_max, &end), status, done);
        const char first = *text_skip_blanks(buffer);
        if (end || (first != '\0' && first != '#' && first != '%')) {
            break;
        }
    }
    if (!end) {
        const size_t length = strlen(buffer);
        memcpy(buffer + length, "\n", 2);
        *number = text_source_line_number(source);
        WEFT_TRY_GOTO(weft_malloc(length + 2, 1, WEFT_MEM_WORKSPACE, (void **)line), status, done);
        memcpy(*line, buffer, length + 2);
    }
done:
    weft_free(buffer);
    return status;
}

/* A number, also one with a decimal comma (which is refused where it is read), or a missing one. */
static bool is_value(const text_field *field)
{
    const char *at = field->text;
    double number;
    return text_field_missing(field) ||
           (text_scan_real(&at, false, &number) && (at == field->end || (*at == ',' && isdigit((unsigned char)at[1]))));
}

/* The first field that is not empty is text: a header, unless what follows shows otherwise. */
static bool begins_with_text(const char *line, char separator)
{
    text_field field;
    const char *at = line;
    do {
        if (!text_scan_field(&at, separator, &field)) {
            return true; /* the quote is told where the columns are counted */
        }
        if (field.end > field.text) {
            return !is_value(&field);
        }
    } while (text_next_field(&at, separator));
    return false;
}

/* Nothing, then 0, 1, 2, ..., above a row that begins with 0: pandas' index and its names of nameless columns. */
static bool is_counted_header(const text_header *h)
{
    text_field field;
    int64_t number, j = 0;
    const char *at = h->first, *below = h->row;
    if (h->row == NULL || h->separator == TEXT_BLANKS || !text_scan_field(&below, h->separator, &field) ||
        !text_field_whole(&field, &number) || number != 0) {
        return false;
    }
    do {
        const bool good = text_scan_field(&at, h->separator, &field) &&
                          (j == 0 ? field.end == field.text : text_field_whole(&field, &number) && number == j - 1);
        if (!good) {
            return false;
        }
        j++;
    } while (text_next_field(&at, h->separator));
    return j > 1;
}

static weft_status count_columns(const text_header *h, const char *line, int64_t number, int64_t *columns)
{
    *columns = text_fields_of(line, h->separator);
    WEFT_CHECK(*columns >= 0, WEFT_ERR_DATA,
               "%s: line %" PRId64
               ": a quote (\") is not closed where its field ends; fields do not go on in another line",
               h->path, number);
    return WEFT_OK;
}

/* Names of `names` columns, behind a nameless first one where `index` is 0. */
static weft_status cut_names(text_header *h, int64_t names)
{
    const int64_t before = h->columns - names;
    const size_t length = strlen(h->first);
    const char *at = h->first;
    text_field field;
    WEFT_TRY(weft_malloc((size_t)h->columns * sizeof *h->name + length + (size_t)h->columns + 1, 1, WEFT_MEM_WORKSPACE,
                         (void **)&h->name));
    char *text = (char *)(h->name + h->columns);
    for (int64_t j = 0; j < h->columns; j++) {
        h->name[j] = text;
        *text = '\0';
        if (j >= before && text_scan_field(&at, h->separator, &field)) {
            text += text_copy_field(&field, text, (size_t)(field.end - field.text) + 1);
            (void)text_next_field(&at, h->separator);
        }
        text++;
    }
    return WEFT_OK;
}

static bool is_quoted_number(const char *row, char separator)
{
    text_field field;
    int64_t number;
    return text_scan_field(&row, separator, &field) && field.quoted && text_field_whole(&field, &number);
}

static weft_status refuse_widths(const text_header *h, int64_t names, int64_t fields)
{
    const bool commas = fields > names && h->separator == ',';
    const char other = text_separator_of(h->row);
    char reason[160] = "";
    if (fields < names && other != h->separator && other != TEXT_WHOLE_LINE) {
        snprintf(reason, sizeof reason, ": %s separates there, %s in line %" PRId64 "; one separator a file",
                 text_separator_name(other), text_separator_name(h->separator), h->line);
    } else if (commas || h->separator == TEXT_BLANKS) {
        snprintf(reason, sizeof reason, "%s",
                 commas ? ": decimal commas? (numbers are written 0.5; R's row names: row.names = FALSE)"
                        : ": words with blanks in them? (they need quotes)");
    }
    return weft_fail(WEFT_ERR_DATA,
                     "%s: line %" PRId64 " has %" PRId64 " names, line %" PRId64 " has %" PRId64 " fields%s", h->path,
                     h->line, names, h->row_line, fields, reason);
}

/* Compare the numbers of names and fields; a surplus first field may be R's row name. */
static weft_status match_widths(text_header *h, int64_t names)
{
    int64_t fields = names;
    WEFT_TRY(h->row != NULL ? count_columns(h, h->row, h->row_line, &fields) : WEFT_OK);
    h->columns = fields;
    if (fields == names) {
        return WEFT_OK;
    }
    const bool quoted = is_quoted_number(h->row, h->separator);
    const bool row_names = h->separator == ',' ? quoted : h->separator != TEXT_BLANKS || quoted || names > 1;
    if (fields == names + 1 && row_names) {
        h->index = 0;
        return WEFT_OK;
    }
    return refuse_widths(h, names, fields);
}

static bool is_index_name(const char *name)
{
    static const char unnamed[] = "unnamed:"; /* pandas' word for a column that had no name when it was read */
    return *name == '\0' || strncasecmp(name, unnamed, sizeof unnamed - 1) == 0;
}

static weft_status take_names(text_header *h)
{
    int64_t names;
    if (h->separator == TEXT_WHOLE_LINE && h->row != NULL) { /* one name: the rows show whether there is a separator */
        const char of_row = text_separator_of(h->row);
        const bool words = of_row == TEXT_BLANKS && !is_quoted_number(h->row, TEXT_BLANKS);
        h->separator = words ? TEXT_WHOLE_LINE : of_row;
    }
    if (h->separator == TEXT_BLANKS && h->row != NULL && text_separator_of(h->row) == TEXT_WHOLE_LINE) {
        h->separator = TEXT_WHOLE_LINE; /* one name with blanks in it */
    }
    WEFT_TRY(count_columns(h, h->first, h->line, &names));
    WEFT_TRY(match_widths(h, names));
    WEFT_TRY(cut_names(h, names));
    h->named = true;
    h->index = h->index == 0 || (h->columns > 1 && is_index_name(h->name[0])) ? 0 : -1;
    return WEFT_OK;
}

/* Tabs in a table of numbers may stand in runs, to align it. */
static char separator_of_rows(const char *row)
{
    const char separator = text_separator_of(row);
    return separator == '\t' ? TEXT_BLANKS : separator;
}

static weft_status look_at(text_source *source, size_t line_max, text_header *h)
{
    WEFT_TRY(next_content(source, line_max, &h->first, &h->line));
    if (h->first == NULL) {
        return WEFT_OK;
    }
    h->separator = text_separator_of(h->first);
    WEFT_TRY(next_content(source, line_max, &h->row, &h->row_line));
    return begins_with_text(h->first, h->separator) || is_counted_header(h) ? take_names(h) : text_header_drop(h);
}

weft_status text_header_drop(text_header *h)
{
    assert(h->index < 0);
    WEFT_FREE_ALL(h->name, h->row);
    h->separator = h->named ? h->separator : separator_of_rows(h->first);
    h->row = h->first;
    h->row_line = h->line;
    h->name = NULL;
    h->first = NULL;
    h->named = false;
    return count_columns(h, h->row, h->line, &h->columns);
}

weft_status text_header_read(const char *path, size_t line_max, text_header *header)
{
    text_source *source;
    *header = (text_header){.path = path, .separator = TEXT_BLANKS, .index = -1};
    WEFT_TRY(text_source_open(path, line_max, &source));
    weft_status status = look_at(source, line_max, header);
    text_source_close(source);
    if (status != WEFT_OK) {
        text_header_free(header);
    }
    return status;
}

void text_header_free(text_header *h)
{
    WEFT_FREE_ALL(h->name, h->row, h->first);
    *h = (text_header){.path = h->path, .index = -1};
}

weft_status text_header_skip(const text_header *h, text_source *source)
{
    return h->named ? text_source_skip(source, h->line) : WEFT_OK;
}

/* ---- for callers ---- */

bool text_header_sample(const text_header *h, int64_t column, text_field *field)
{
    const char *at = h->row;
    for (int64_t j = 0; at != NULL && text_scan_field(&at, h->separator, field); j++) {
        if (j == column) {
            return true;
        }
        if (!text_next_field(&at, h->separator)) {
            break;
        }
    }
    return false;
}

const char *text_header_column(const text_header *h, int64_t column, char text[64])
{
    if (h->named && h->name[column][0] != '\0') {
        snprintf(text, 64, "column '%.*s'", SHOWN, h->name[column]);
    } else {
        snprintf(text, 64, "column %" PRId64, column + 1);
    }
    return text;
}

void text_header_tell_unused(const text_header *h, const bool *used)
{
    char list[LISTED] = "";
    int64_t unused = 0;
    for (int64_t j = 0; h->named && j < h->columns; j++) {
        const bool skipped = used != NULL && !used[j] && j != h->index;
        unused += skipped;
        if (skipped && strlen(list) + SHOWN + 8 < LISTED) {
            text_append_item(list, sizeof list, "'%.*s'", SHOWN, h->name[j]);
        }
    }
    if (unused > 0) {
        log_warn("%s: %s left out: %s%s", h->path, unused == 1 ? "a column is" : "columns are", list,
                 strlen(list) + SHOWN + 8 < LISTED ? "" : ", ...");
    }
    if (h->index == 0) {
        log_info("%s: the first column is left out: it has no name, so it is an index or row names", h->path);
    }
}
