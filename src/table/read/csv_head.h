/*
 * table/read/csv_head.h: the first rows of separated text: its separator, its header, and what its columns seem to be.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "table/rows/csv_scan.h"
#include "table/schema.h"
#include "table/table_exchange.h"

/* Names and kinds that a layout gives to columns of files without a header, or by their names. */
typedef struct csv_preset {
    char separator;                              /* '\0': found in the first rows */
    bool headless, no_quotes;                    /* the layout has no header; quotes are characters */
    void (*name)(int64_t column, char name[32]); /* NULL: columns are named c1, c2, ... */
    const char *target, *category, *drop;        /* as in a table_request, where the request has none */
} csv_preset;

/* The first rows of a file. */
typedef struct csv_head {
    char *block;
    const char *text;  /* the file from its beginning; DECIMAL_PAD bytes before it may be read */
    size_t bytes;      /* of `text` */
    size_t rows_begin; /* of the first row: behind byte order mark and header */
    size_t rows_end;   /* behind the last row that `text` holds wholly */
    bool whole;        /* `text` is the whole file */
    bool named;
    csv_marks marks;
    char point; /* decimal point */
} csv_head;

enum { CSV_HEAD_BYTES = 1 << 20, CSV_HEAD_MOST = 64 << 20 };

/* Reads the first rows and decides separator, header and decimal point. WEFT_ERR_DATA: empty, a file of another kind, a
 * header without rows. */
weft_status csv_head_read(const char *path, const table_request *request, const csv_preset *preset, csv_head *head);
void csv_head_free(csv_head *head);
/* Bytes that the first rows take, and took while they were read. */
int64_t csv_head_memory(const csv_head *head);
/* Makes the schema: names, the request's roles and kinds, and a guess of the other kinds. */
weft_status csv_head_schema(const char *path, const table_request *request, const csv_preset *preset,
                            const csv_head *head, table_schema *schema);
/* Compares the header of a further file with the first one's. [out] begin: where its rows begin. */
weft_status csv_head_match(const char *path, const csv_head *first, const char *first_path, int64_t *begin);
