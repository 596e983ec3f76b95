/*
 * base/escape.h: text of others, made safe to show.
 *
 * File names, manifests, options and values come from outside and reach the log, error messages and printed tables. A
 * terminal obeys some of the characters that they may hold, and a line break would begin a line that looks like ours.
 * Those characters are shown by their bytes: \n, \t, \r, \x1b. Everything else, UTF-8 included, stays as it is; so does
 * the backslash, hence text that was escaped before is not changed again. Messages pass here in base/status.c and
 * base/log.c; whoever prints a foreign text on stdout calls escape_say.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Length of the UTF-8 sequence at `text` (Unicode 15, table 3-7) and its code point; 0 when it is malformed. A NUL is a
 * sequence of one byte, and nothing past it is read. */
int utf8_length(const char *text, uint32_t *code);

/* Control characters (C0, DEL, C1), line and paragraph separators, marks of the writing direction, non-characters. */
bool utf8_is_harmful(uint32_t code);
/* Bytes of the whole characters of a text that fit into `room` bytes with the NUL behind them. */
size_t utf8_fitting(const char *text, size_t room);

/* dst [capacity >= 1] = `text`, harmful characters and malformed bytes escaped, cut at a whole character where it does
 * not fit. Returns the length. The two must not overlap. */
size_t escape_text(char *dst, size_t capacity, const char *text);

/* printf("name: %s\n", escape_say(name).text) */
enum { ESCAPED_MAX = 8192 };
typedef struct escaped_text {
    char text[ESCAPED_MAX];
} escaped_text;

escaped_text escape_say(const char *text);

/* A value for a line that people read: as it is, but of more than ESCAPED_SHORT bytes the beginning, and how many there
 * are: a vocabulary is one value. */
enum { ESCAPED_SHORT = 400 };
escaped_text escape_short(const char *text);
