/*
 * dense/data/texts/vocabulary.h: numbers of words.
 *
 *      0   the place of a word behind the end of a text
 *      1   any word that has no number of its own
 *      2.. the words of the training texts that occur most often, the most frequent first, words of equal number in the
 *          order of their bytes
 *
 * A vocabulary is kept as text, its words in this order with blanks between them, by options and records of runs.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/status.h"

enum {
    VOCABULARY_PADDING = 0,
    VOCABULARY_UNKNOWN = 1,
    VOCABULARY_FIRST = 2,
    VOCABULARY_MOST = 1000000 /* words */
};

typedef struct vocabulary vocabulary;

/* An empty one, which learns words. Free with vocabulary_free, as all. WEFT_ERR_RESOURCE. */
weft_status vocabulary_create(vocabulary **v);
/* The words of a text that vocabulary_text gave. where: for messages. WEFT_ERR_DATA: a word stands twice, is too long,
 * or has other letters than text_next gives. */
weft_status vocabulary_parse(const char *where, const char *text, vocabulary **v);
void vocabulary_free(vocabulary *v); /* NULL is allowed */

/* Counts the words of a training text `times` times. Before vocabulary_choose. */
weft_status vocabulary_learn(vocabulary *v, const char *text, size_t bytes, int64_t times);
/* Gives the `most` most frequent words their numbers. */
weft_status vocabulary_choose(vocabulary *v, int64_t most);
/* Numbers in use: 2 and the words. */
int64_t vocabulary_size(const vocabulary *v);
/* [out] text: the words, for weft_free. */
weft_status vocabulary_text(const vocabulary *v, char **text);

/* What vocabulary_read found in a text. */
typedef struct vocabulary_found {
    int64_t words, unknown; /* of the whole text; words without a number among them */
    int64_t malformed;      /* bytes that are no UTF-8 */
} vocabulary_found;

/* [out] id[room]: numbers of the first words. Returns how many were written. */
int64_t vocabulary_read(const vocabulary *v, const char *text, size_t bytes, int64_t room, int32_t *id,
                        vocabulary_found *found);
/* Words in a vocabulary's text, and the two numbers in front; 0 for "". */
int64_t vocabulary_size_of_text(const char *text);
