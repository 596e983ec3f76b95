/*
 * base/letters/letters.h: one spelling of letters that UTF-8 can spell in two ways.
 *
 * "é" is one character (U+00E9) on most systems, and "e" with a mark (U+0065 U+0301) in names that macOS made. Both
 * look the same. Names are compared after letters_compose, which gives the first form: Unicode's NFC for scripts of the
 * Basic Multilingual Plane, Hangul included. Rare characters that NFC replaces by another one (Kelvin sign, Angstrom
 * sign) stay.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

/* Longest text that is composed [bytes]; longer ones stay as they are. */
enum { LETTERS_MAX = 1024 };

/* dst [capacity >= 1]: `text` [length bytes] with composed letters, closed by NUL. Malformed UTF-8 stays as it is.
 * Returns false if the result does not fit; dst is cut then. */
bool letters_compose(const char *text, size_t length, char *dst, size_t capacity);
