/*
 * base/text/layer_words.h: texts of networks, one layer a line: words with blanks between them, a comment behind '#'.
 *
 *      start: conv 6 5 pad=2                    a comment
 *
 * A room that has such networks knows its kinds of layers; what all of them share is here. A text also has a form in
 * one line, for options and records of runs: without comments, and with "; " between layers.
 *
 * Failures are WEFT_ERR_DATA and name the text and the line. Nothing here is collective.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/status.h"

enum { LAYER_WORDS_MOST = 64, LAYER_WORD_BYTES = 96, LAYER_NAME_BYTES = 64 };

/* The words of a line. */
typedef struct layer_words {
    const char *where; /* name of the text */
    int line, count;
    char word[LAYER_WORDS_MOST][LAYER_WORD_BYTES];
} layer_words;

#define WORDS_CHECK(words, condition, format, ...)                                                                     \
    WEFT_CHECK(condition, WEFT_ERR_DATA, "%s: line %d: " format, (words)->where, (words)->line, __VA_ARGS__)

/* Calls take for each line that has words; take may change them. A byte order mark in front is skipped. Stops at a
 * failure. */
weft_status layer_words_each(const char *text, const char *where,
                             weft_status (*take)(void *context, layer_words *words), void *context);

/* Removes "NAME:" in front of a layer from the words. [out] name: [LAYER_NAME_BYTES] it, "" where there is none. Fails
 * if it has other than letters, digits, '.', '_' and '-', or no word follows. */
weft_status layer_words_name(layer_words *words, char *name);

/* [out] kind: number of a word among the names. example: kinds that a message shows where no name is near. */
weft_status layer_words_kind(const layer_words *words, const char *word, const char *const *names, int count,
                             const char *example, int *kind);

/* A whole number from least to most. what: its name in messages. */
weft_status layer_words_count(const layer_words *words, const char *what, const char *text, int64_t least, int64_t most,
                              int64_t *value);
/* KEY=VALUE words from `first` on have different keys. Call it before these words are changed. */
weft_status layer_words_keys(const layer_words *words, int first);
/* "on" or "off". */
weft_status layer_words_switch(const layer_words *words, const char *what, const char *text, bool *value);
/* A probability, at least 0 and less than 1. */
weft_status layer_words_chance(const layer_words *words, const char *what, const char *text, double *value);

/* [out] name: [bytes] a network's: "nets/my.net" is called my. */
void layer_words_title(const char *path, char *name, int bytes);

/* [out] text: of the form in one line, for weft_free. */
weft_status layer_words_unfold(const char *line, char **text);
/* [out] line: the form in one line of a text, for weft_free. Fails at a word with a semicolon. */
weft_status layer_words_fold(const char *text, const char *where, char **line);
