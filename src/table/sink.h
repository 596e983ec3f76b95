/*
 * table/sink.h: where cells go: text or numbers in, values of typed columns and facts about them out.
 *
 * Readers hand each cell over with its row, column and thread. The sink parses it by the kind of its column, stores the
 * value, and keeps for each thread and column what the cells were: missing ones, range, and what kind they need. After
 * the pass sink_finish adds up the threads; columns whose cells need a wider kind are widened, and the pass is repeated.
 */
#ifndef WEFT_TABLE_SINK_H
#define WEFT_TABLE_SINK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/status.h"
#include "table/schema.h"

/* Facts about the cells of one column, as one thread saw them. */
typedef struct sink_tally {
    int64_t missing;
    double least, most;
    bool word, fraction, wide; /* a cell was no number; was a number with a fraction; did not fit int32 */
} sink_tally;

typedef struct sink_cell {
    const char *text;
    size_t bytes;
    bool quoted; /* text has no quotes around it any more; a doubled quote stands for one */
} sink_cell;

typedef struct table_sink {
    table_schema *schema;
    int threads;
    int64_t first, count; /* rows that arrays have room for */
    void **array;         /* [schema->count] values of row `first` on; NULL entries are not stored; NULL: survey only */
    sink_tally *tally;    /* [threads][schema->count] */
    const char *missing;  /* list of words */
    bool missing_number;  /* one of these words is a number, so cells are compared with the list first */
    char point;           /* decimal point: '.' or ',' */
} table_sink;

weft_status sink_create(table_schema *schema, const table_request *request, int threads, table_sink *sink);
void sink_free(table_sink *sink);

/* Stores one cell. Returns false and a reason [reason_bytes] if the cell does not fit its column. Any thread. */
bool sink_put(table_sink *sink, int thread, int64_t row, int64_t column, const sink_cell *cell, char *reason,
              size_t reason_bytes);
/* Stores one number, for readers whose files hold numbers. */
bool sink_put_number(table_sink *sink, int thread, int64_t row, int64_t column, double value, char *reason,
                     size_t reason_bytes);

#endif
