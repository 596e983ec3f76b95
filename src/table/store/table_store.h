/*
 * table/store/table_store.h: a table as a folder.
 *
 *   STORE/manifest.json     format "weft-table", version 1, rows, columns, checksum of the schema, and arrays
 *                           (io/store/store_array.h)
 *   STORE/schema.jsonl      a line for each column: name, kind, role, place, words, missing, least, most
 *   STORE/real.npy          float32 [columns of that kind, rows], a column contiguous; also integer (int32), long
 *                           (int64), category (int32), id (uint64), split (uint8). `place` is a column's row there.
 *   STORE/word.npy          uint8: the words of all categories behind each other, column after column
 *   STORE/word_offset.npy   int64 [words + 1]: where each begins
 *   STORE/indptr.npy        int64 [rows + 1] of a sparse block (table/sparse_block.h), whose "columns" and "base" are
 *                           in the manifest's "sparse"; also indices (int32 or int64) and values (float32), [entries]
 *
 * There is one array a kind, not one a column, so that a table of 10,000 columns is few files.
 */
#pragma once

#include "io/store/store_array.h"
#include "table/table.h"

#define TABLE_FORMAT "weft-table"
enum { TABLE_VERSION = 1, TABLE_SCHEMA_MOST = 256 << 20 };

/* Arrays of a store: one a kind, then the words, then the sparse block. */
enum { TABLE_WORD = TABLE_KIND_COUNT, TABLE_WORD_OFFSET, TABLE_INDPTR, TABLE_INDICES, TABLE_VALUES, TABLE_ARRAYS };
const char *table_array_name(int array);

typedef struct table_manifest {
    int64_t rows, columns;
    int64_t sparse_columns, sparse_base; /* of a sparse block; 0 columns: none */
    char schema_hash[STORE_HASH_BYTES];  /* XXH3-128 of schema.jsonl */
    store_array arrays[TABLE_ARRAYS];
} table_manifest;

/* `name` is for messages. WEFT_ERR_DATA with key and value. */
weft_status table_manifest_parse(const char *name, const char *text, size_t bytes, table_manifest *manifest);
weft_status table_manifest_write(const char *folder, const table_manifest *manifest);

/* A column's place in the arrays. */
typedef struct table_place {
    int64_t place; /* row of its kind's array */
    int64_t words; /* of a category */
} table_place;

/* Reads the lines of schema.jsonl. [out] place: [columns], for weft_free. */
weft_status table_schema_parse(const char *name, const char *text, size_t bytes, int64_t columns, table_schema *schema,
                               table_place **place);
/* Writes schema.jsonl; columns that are dropped have no line. [out] hash: its checksum */
weft_status table_schema_write(const char *folder, const table_schema *schema, char hash[STORE_HASH_BYTES]);

/* Maps a store; columns point to this rank's rows. */
weft_status table_store_open(const char *path, int rank, int ranks, weft_table *table);
void table_store_unmap(struct table_mapping *mapping); /* NULL is allowed */
