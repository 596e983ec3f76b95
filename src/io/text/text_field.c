/* io/text/text_field.c: see io/text/text_field.h. */
#include "io/text/text_field.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "base/letters/letters.h"

/* The quote that closes a field whose text begins at `at`; NULL: none does. */
static const char *closing_quote(const char *at)
{
    for (; !text_at_end(at); at++) {
        if (*at == '"') {
            if (at[1] != '"') {
                return at;
            }
            at++;
        }
    }
    return NULL;
}

static bool ends_field(const char *at, char separator)
{
    return text_at_end(at) || *at == separator || (separator == TEXT_BLANKS && *at == '\t');
}

bool text_scan_field(const char **at, char separator, text_field *field)
{
    const char *first = text_skip_around(*at, separator);
    field->quoted = *first == '"';
    if (field->quoted) {
        const char *close = closing_quote(first + 1);
        if (close == NULL ||
            !(ends_field(close + 1, separator) || ends_field(text_skip_around(close + 1, separator), separator))) {
            return false;
        }
        field->text = first + 1;
        field->end = close;
        *at = close + 1;
        return true;
    }
    const char *end = first;
    while (!ends_field(end, separator)) {
        end++;
    }
    *at = end;
    while (end > first && (end[-1] == ' ' || end[-1] == '\t')) {
        end--;
    }
    field->text = first;
    field->end = end;
    return true;
}

size_t text_copy_field(const text_field *field, char *out, size_t capacity)
{
    size_t length = 0;
    for (const char *at = field->text; at < field->end && length + 1 < capacity; at++) {
        out[length++] = *at;
        at += field->quoted && *at == '"'; /* the second one of two */
    }
    out[length] = '\0';
    return length;
}

size_t text_copy_name(const text_field *field, char *out, size_t capacity)
{
    char composed[LETTERS_MAX];
    size_t length = text_copy_field(field, out, capacity);
    bool plain = true;
    for (size_t i = 0; i < length; i++) {
        plain = plain && (out[i] & 0x80) == 0;
    }
    if (!plain && length < sizeof composed && letters_compose(out, length, composed, sizeof composed) &&
        strlen(composed) < capacity) {
        length = strlen(composed);
        memcpy(out, composed, length + 1);
    }
    return length;
}

bool text_field_missing(const text_field *field)
{
    static const char *const words[] = {"", "na", "nan", "-nan", "n/a", "#n/a", "null", "<na>"};
    char word[8];
    if (field->end - field->text >= (ptrdiff_t)sizeof word) {
        return false;
    }
    text_copy_field(field, word, sizeof word);
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        if (strcasecmp(word, words[i]) == 0) {
            return true;
        }
    }
    return false;
}

bool text_field_number(const text_field *field, double *value)
{
    const char *at = field->text;
    return text_scan_real(&at, false, value) && at == field->end;
}

/* 1.2e+01 is 12, as numpy.savetxt writes it. Without a point, 1e3 may be a name. */
static bool is_whole_power(const text_field *field, int64_t *value)
{
    const double most = 9007199254740992.0; /* 2^53: all whole numbers up to it are told apart */
    double number;
    if (memchr(field->text, '.', (size_t)(field->end - field->text)) == NULL || !text_field_number(field, &number) ||
        !(number >= -most && number <= most)) {
        return false;
    }
    *value = (int64_t)number;
    return (double)*value == number;
}

bool text_field_whole(const text_field *field, int64_t *value)
{
    const char *at = field->text;
    if (!text_scan_int(&at, value)) {
        return false;
    }
    if (*at == '.' && at < field->end) {
        at++;
        while (*at == '0') {
            at++;
        }
    }
    return at == field->end || is_whole_power(field, value);
}

int64_t text_fields_of(const char *row, char separator)
{
    text_field field;
    const char *at = row;
    int64_t fields = 0;
    do {
        if (!text_scan_field(&at, separator, &field)) {
            return -1;
        }
        fields++;
    } while (text_next_field(&at, separator));
    return fields;
}

char text_separator_of(const char *row)
{
    bool semicolon = false, comma = false, tab = false, blank = false;
    const char *at = text_skip_blanks(row);
    for (bool quoted = false; !text_at_end(at); at++) {
        quoted ^= *at == '"';
        semicolon = semicolon || (!quoted && *at == ';');
        comma = comma || (!quoted && *at == ',');
        tab = tab || (!quoted && *at == '\t');
        blank = blank || (!quoted && *at == ' ' && !text_at_end(text_skip_blanks(at)));
    }
    return semicolon ? ';' : comma ? ',' : tab ? '\t' : blank ? TEXT_BLANKS : TEXT_WHOLE_LINE;
}

const char *text_separator_name(char separator)
{
    return separator == ','               ? "a comma"
           : separator == ';'             ? "a semicolon"
           : separator == '\t'            ? "a tab"
           : separator == TEXT_WHOLE_LINE ? "the end of the line"
                                          : "a blank";
}
