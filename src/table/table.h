/*
 * table/table.h: tables of rows and typed columns, from files or from a store, each rank with its range of rows.
 *
 * The rows of all files, in the order in which the files are named, have numbers 0 .. rows - 1. Rank r of P holds rows
 * rows * r / P up to rows * (r + 1) / P, so the order of rows is the same for every P. This room knows no MPI: ranks
 * talk through a table_exchange that the caller fills in.
 *
 *   table_request request = {.target = "price", .index_base = -1};
 *   WEFT_TRY(table_open(&path, 1, &request, NULL, &table));          NULL: one rank
 *   const float *x = table.column[j].data;                           [table.count], of kind table.schema.field[j].kind
 *   table_close(&table);
 *
 * Files are CSV, LIBSVM, .npy, .npz, or the layouts of Criteo and Avazu (table/read/table_reader.h); text may be
 * compressed with gzip or xz. A folder with a manifest is a store: its arrays are mapped, so a table may be larger
 * than memory.
 *
 * Memory of a table from files is `memory` bytes at most: rows of this rank * schema_row_bytes, about 400 KiB a
 * thread, 1.5 MiB, and 40 bytes for each 256 KiB of text. Beside it each different word of a category takes
 * words_bytes_each (table/words.h) and its text, and a compressed file the window of its decoder. Plain files are read
 * twice, once to count rows.
 *
 * A caller that needs few columns at a time may bound the memory of columns (table_request.room). If all do not fit,
 * the columns of numbers that are features wait in two halves, of which one stands in memory at a time (table_hold);
 * the files are read once more for each change.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/status.h"
#include "table/column.h"
#include "table/schema.h"
#include "table/sparse_block.h"
#include "table/table_exchange.h"

typedef struct table_column {
    table_kind kind;
    const void *data; /* [table.count] values, as table/column.h stores this kind; NULL: dropped, or no rows */
    int64_t gone;     /* first values whose memory was given back (table_release_rows) */
} table_column;

typedef struct weft_table {
    int64_t rows;         /* of all ranks */
    int64_t first, count; /* this rank's rows: first .. first + count - 1 */
    table_schema schema;
    table_column *column;          /* [schema.count] */
    table_sparse sparse;           /* of LIBSVM files with many features; columns 0: none */
    int64_t *file_row;             /* [files] number of the first row of each file; NULL for stores */
    char hash[33];                 /* of a store: names its content; "" for files */
    int64_t memory;                /* bytes that reading files was going to take at most; 0 for stores */
    void *block;                   /* what the columns of files point into; NULL for stores */
    struct table_halves *halves;   /* columns that wait; NULL: all stand in memory */
    struct table_mapping *mapping; /* of a store; NULL for files */
} weft_table;

/*
 * Opens a store (one path), or reads files. `exchange` NULL: one rank. Collective.
 * WEFT_ERR_NOINPUT: no such file. WEFT_ERR_DATA: file, line, column, value and cure. WEFT_ERR_USAGE: a request that the
 * columns contradict. Every rank returns the same status, and the message of the first fault in the order of rows.
 */
weft_status table_open(const char *const *paths, int count, const table_request *request,
                       const table_exchange *exchange, weft_table *table);
void table_close(weft_table *table);
/* The half of the waiting columns that a column belongs to, 1 or 2; 0: it does not wait. The same on all ranks. */
int table_half(const weft_table *table, int64_t column);
/* Reads the half of a waiting column if it does not stand in memory, and gives back the other half, whose data become
 * NULL. WEFT_ERR_DATA: a file has changed since the table was opened. Local. */
weft_status table_hold(weft_table *table, int64_t column);
/* Gives the memory of a column's values before `end` back, as far as it is not given back yet. Local. */
void table_release_rows(weft_table *table, int64_t column, int64_t end);
/* Gives the memory of a column's values back: its data become NULL. Local. */
void table_release(weft_table *table, int64_t column);
/* Returns true if the path is a folder with a manifest of a table store. */
bool table_is_store(const char *path);
/* Compares every array of an open store with its checksum. WEFT_ERR_DATA names the damaged file. */
weft_status table_verify(const weft_table *table);

/* Reads files and writes a store, block by block: takes `memory` bytes at most beside the words (0: 256 MiB). An
 * existing store is refused unless force. */
weft_status table_convert(const char *const *paths, int count, const table_request *request, int64_t memory,
                          const char *out, bool force);
