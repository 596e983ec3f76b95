/*
 * table/read/table_reader.h: the ways in which tables come as files; a new one is a row of table_readers
 * (table/readers.c).
 *
 * A reader opens files and makes a schema of their first rows. Then it reads any range of rows, once or several times:
 * without arrays to survey the columns, with arrays to fill them.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "table/column/sink.h"
#include "table/schema.h"
#include "table/table_exchange.h"

enum { READER_HEAD = 4096 };

/* The first bytes of a file, unpacked. */
typedef struct reader_head {
    const char *path;
    const char *text;
    size_t bytes;
} reader_head;

typedef struct table_reader {
    const char *name;
    const char *description; /* for help */
    /* Returns true if a file that begins so is of this layout; the first reader of the list that says so is taken. */
    bool (*recognise)(const reader_head *head);
    /* Opens the files and looks at their first rows. Every rank alone. [out] self: for close, NULL on failure */
    weft_status (*open)(const char *const *paths, int count, const table_request *request, void **self);
    /* Counts rows and makes the schema, in which kinds may be unseen. Collective: a rank that fails still takes
     * part. */
    weft_status (*begin)(void *self, const table_request *request, const table_exchange *exchange, table_schema *schema,
                         int64_t *rows);
    /* The sparse block of this rank's rows, without index and value, after `begin`; columns 0: none. The caller frees
     * `start` after close. NULL: the reader makes columns alone. */
    table_sparse (*sparse)(void *self);
    /* Number of the first row of a file, over all files; after `begin`. NULL: the reader takes one file. */
    int64_t (*file_row)(const void *self, int file);
    /* Bytes that the reader holds and its passes take at most, beside the columns; after `begin`. */
    int64_t (*memory)(const void *self);
    /* The decimal point of the files' numbers, for the sink; NULL: '.' */
    char (*point)(const void *self);
    /* Hands the cells of rows first .. first + count - 1 to the sink, on several threads. */
    weft_status (*read)(void *self, int64_t first, int64_t count, table_sink *sink);
    void (*close)(void *self);
} table_reader;

extern const table_reader table_reader_csv, table_reader_libsvm, table_reader_arrays, table_reader_criteo,
    table_reader_avazu;

/* The reader of this index, NULL at the end of the list. */
const table_reader *table_reader_at(int index);
/* The reader that the request names, or that recognises the first file. WEFT_ERR_DATA: none does, with what the file is
 * and a cure. WEFT_ERR_USAGE: no reader has that name. */
weft_status table_reader_find(const char *path, const table_request *request, const table_reader **reader);
