/*
 * base/number.h: decimal numbers as text, the same in every locale.
 *
 * strtod and printf follow the locale of the program that links the library; "0,5" in a file or a manifest would then
 * mean different things on different machines. These functions read and write '.' always.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

enum { NUMBER_TEXT_MAX = 32 };

/* Read a finite decimal number, [+-]digits[.digits][e[+-]digits], at the start of `text`; *end is set past it. False
 * when there is none (hexadecimal, "inf" and "nan" are none) or when it is too large for a double. */
bool number_scan_real(const char *text, const char **end, double *value);
/* The whole of `text`, without blanks. */
bool number_parse_real(const char *text, double *value);
bool number_parse_int(const char *text, int64_t *value);

/* The shortest decimal text that reads back to the same bits; whole numbers below 1e15 without an exponent.
 * `value` must be finite. Returns `text`. */
const char *number_format_real(double value, char text[NUMBER_TEXT_MAX]);
/* Like number_format_real for a float: the text gives the same bits when it is read as a double and rounded to a
 * float. */
const char *number_format_float(float value, char text[NUMBER_TEXT_MAX]);

const char *number_format_int(int64_t value, char text[NUMBER_TEXT_MAX]);

/* Bytes as people say them: "12 bytes", "4.5 KiB", "64 MiB"; three digits. printf("%s", number_say_bytes(n).text) */
typedef struct number_words {
    char text[NUMBER_TEXT_MAX];
} number_words;

number_words number_say_bytes(uint64_t bytes);

/* For printf: a NaN without its sign, which says where it was computed and nothing else ("nan", never "-nan"). */
static inline double number_plain(double value)
{
    return value == value ? value : (double)__builtin_nanf("");
}
