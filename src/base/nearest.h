/*
 * base/nearest.h: "did you mean".
 *
 * A name is near within a third of the word's length, or when the word is the beginning of it (three letters at least).
 * Upper and lower case, '-' and '_' are the same.
 */
#pragma once

enum { NEAREST_WORD_MAX = 64 }; /* longer words have no near name, longer names are near to nothing */

/* Nearest of `count` names by edit distance (or one that the word abbreviates), or NULL when none is near. */
const char *nearest_word(const char *word, const char *const *names, int count);
