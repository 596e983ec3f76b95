/*
 * io/text/text_field.h: fields of a row by the one separator of its file.
 *
 *   separator          a field ends at
 *   ',' ';' '\t'       it; blanks around a field do not belong to it; nothing between two of them is an empty field
 *   TEXT_BLANKS        a run of blanks and tabs: there are no empty fields
 *   TEXT_WHOLE_LINE    the end of the line: a file of one column
 *
 * A field may stand in double quotes as RFC 4180 has them: separators within belong to it, "" is one quote. It cannot
 * go on in another line. Rows end in '\n', or in "\r\n".
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "io/text/text_source.h"

#define TEXT_BLANKS     ' '
#define TEXT_WHOLE_LINE '\n'

typedef struct text_field {
    const char *text, *end; /* without quotes around; a quote within a quoted field stands there twice */
    bool quoted;
} text_field;

/* Past what stands around fields: blanks, and tabs unless they separate. */
static inline const char *text_skip_around(const char *at, char separator)
{
    while (*at == ' ' || (*at == '\t' && separator != '\t')) {
        at++;
    }
    return at;
}

/* Where a row's first field begins, `at` being its first byte that is no blank: a tab before it may separate. */
static inline const char *text_row_begin(const text_piece *piece, const char *at, char separator)
{
    while (separator == '\t' && at > piece->text && at[-1] != '\n') {
        at--;
    }
    return at;
}

/* Behind a field: move *at past the separator to the next field. false: the row ends here, or something else than the
 * separator follows, which is where *at then is. */
static inline bool text_next_field(const char **at, char separator)
{
    const char *next = text_skip_around(*at, separator);
    const bool more = separator == TEXT_BLANKS ? next > *at && !text_at_end(next)
                                               : *next == separator && separator != TEXT_WHOLE_LINE;
    *at = more && separator != TEXT_BLANKS ? text_skip_around(next + 1, separator) : next;
    return more;
}

/* The field at *at, which is where a row begins or where text_next_field left it; *at moves behind it. false: a quote
 * that is not closed in its line, or is closed within a field; *at stays. */
bool text_scan_field(const char **at, char separator, text_field *field);
/* Copies the field's text, with "" made one quote, cut to capacity - 1 bytes and NUL-terminated. Returns its length. */
size_t text_copy_field(const text_field *field, char *out, size_t capacity);
/* Copies a name that is compared: as text_copy_field does, and letters that Unicode spells in two ways are brought into
 * one form (base/letters/letters.h). */
size_t text_copy_name(const text_field *field, char *out, size_t capacity);
/* Returns true if the field is empty or a word for a missing value: NA, NaN, null, N/A (pandas, R; any case). */
bool text_field_missing(const text_field *field);
/* Returns true if the field is a finite number and nothing else. [out] value: that number. */
bool text_field_number(const text_field *field, double *value);
/* A whole number, also written with a fraction of zeros (3.0), or as numpy.savetxt does (1.2e+01). */
bool text_field_whole(const text_field *field, int64_t *value);
/* How many fields a row has; -1: a quote is not closed. */
int64_t text_fields_of(const char *row, char separator);
/* Which one separator a row uses outside quotes: ';' where there is one, else ',', else '\t', else TEXT_BLANKS;
 * TEXT_WHOLE_LINE: none of them. */
char text_separator_of(const char *row);
/* "a comma", "a tab" ..., for messages. */
const char *text_separator_name(char separator);
