/*
 * table/store/table_pass.h: files behind a table: opened by their reader, passed over until the kinds of all columns
 * are settled.
 */
#pragma once

#include "table/read/table_reader.h"

typedef struct table_files {
    const char *const *paths;
    const table_request *request;
    const table_exchange *exchange;
    const table_reader *reader;
    void *self; /* of the reader */
    int threads;
    int64_t rows;
    table_sparse sparse; /* block of this rank's rows, without index and value; columns 0: none */
    sink_sparse out;     /* arrays of files_make_entries; index NULL: none */
} table_files;

/* Opens files and makes their schema. Collective. */
weft_status files_open(const char *const *paths, int count, const table_request *request,
                       const table_exchange *exchange, table_schema *schema, table_files *files);
void files_close(table_files *files);

/* Makes one array of `count` values for each column that is not dropped, all in one block. The distance of two
 * arrays is no power of two, so that the rows of all columns do not meet in one set of a cache. [out] value:
 * [schema->count + 1], NULL for dropped columns; the last is the block that the others point into. */
weft_status files_make_arrays(const table_schema *schema, int64_t count, void **value);
/* Frees the block; `value` NULL is allowed. */
void files_free_arrays(const table_schema *schema, void **value);

/* Makes room for the entries of `count` rows, from the rank's row `first` on. Passes over these rows then fill it. Room
 * that was made before is used again. */
weft_status files_make_entries(table_files *files, int64_t first, int64_t count);

/* Bytes that it takes at most to hold rows first .. first + count - 1 of the rank and to read them, beside different
 * words of categories: these take words_bytes_each (table/words.h) and their text. */
int64_t files_memory(const table_files *files, const table_schema *schema, int64_t first, int64_t count);

/* Reads rows first .. first + count - 1 once. value: of files_make_arrays, or NULL for facts alone. Local. [out] tally:
 * [schema->count], or NULL. */
weft_status files_pass(table_files *files, table_schema *schema, int64_t first, int64_t count, void *const *value,
                       table_tally *tally);

/* As files_pass, of a schema that is settled. WEFT_ERR_DATA: a file has changed since, so that a value does not fit its
 * column. tally: [schema->count] */
weft_status files_pass_again(table_files *files, table_schema *schema, int64_t first, int64_t count, void *const *value,
                             table_tally *tally);
/* Words of all columns. */
int64_t files_words(const table_schema *schema);

/* Reads this rank's rows as often as kinds change, then brings words into order. value: of files_make_arrays, or NULL
 * for facts alone; its arrays are made anew when kinds change, and codes are final afterwards. Collective. */
weft_status files_settle(table_files *files, table_schema *schema, int64_t first, int64_t count, void **value);
