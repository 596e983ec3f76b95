/*
 * table/words.h: the words of one column, each once, and their codes.
 *
 * While a file is read, all threads add words, and a word's code is its place in the order in which words came.
 * words_sort then orders the words by their bytes, so that final codes depend neither on threads nor on ranks. Each
 * thread looks a word up in an index of its own and takes the lock only for a word that is new to it.
 *
 * Memory: each word once, WORDS_BYTES, and words_bytes_each() for each word.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/status.h"

typedef struct table_words table_words;

weft_status words_create(int threads, table_words **words);
void words_free(table_words *words); /* NULL is allowed */

/* [out] code: the word's code; the word is added if it is new. Several threads at once, each with its own number.
 * WEFT_ERR_RESOURCE: no memory. WEFT_ERR_DATA: more than 2147483646 different words. */
weft_status words_add(table_words *words, int thread, const char *text, size_t bytes, int32_t *code);
/* Returns the number of different words. */
int64_t words_count(const table_words *words);
/* The word of a code, NUL-terminated. [out] bytes: its length. Valid until words_free. */
const char *words_text(const table_words *words, int64_t code, size_t *bytes);

/* Bytes of a column's words at most, while `threads` threads add them or they are sorted: those that it takes at once,
 * and those of each word beside the bytes of its text. */
enum { WORDS_BYTES = 300 << 10 };
static inline int64_t words_bytes_each(int threads)
{
    return 2 * 24 + 36 + 64 * ((int64_t)threads + 1);
}

/* Orders the words by their bytes; codes change. [out] order: [count] the final code of each code before, for
 * weft_free; NULL if no code changed. No thread may add words meanwhile. */
weft_status words_sort(table_words *words, int32_t **order);
