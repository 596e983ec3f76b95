/*
 * io/text/text_words.h: the different words of one column of a table, in the order of their bytes.
 *
 *   text_words *words;
 *   WEFT_TRY(text_words_read(&columns, &words));        one column is wanted: columns.place
 *   ... text_columns_each again: text_words_find(words, field) is the word's number
 *   text_words_free(words);
 *
 * Letters that Unicode can spell in two ways are one (text_copy_name). Every thread collects words of its own, which are merged and sorted: numbers do not depend on threads. Memory: each
 * different word once a thread.
 */
#ifndef WEFT_IO_TEXT_TEXT_WORDS_H
#define WEFT_IO_TEXT_TEXT_WORDS_H

#include "io/text/text_table.h"

typedef struct text_words text_words;

/* Missing fields are no words; a number that stands without quotes is refused with its line (WEFT_ERR_DATA). */
weft_status text_words_read(const text_columns *columns, text_words **words);
void text_words_free(text_words *words);
int64_t text_words_count(const text_words *words);
const char *const *text_words_list(const text_words *words); /* [count], ascending */
/* [out] number: -1 = no word of the list. Fails for lack of memory only. Any thread. */
weft_status text_words_find(const text_words *words, const text_field *field, int64_t *number);

#endif
