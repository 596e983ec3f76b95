/*
 * table/column/sink.h: where cells go: text or numbers in, values of typed columns and facts about them out.
 *
 * Readers hand each cell over with its row, column and thread. The sink parses it by the kind of its column, stores the
 * value, and keeps facts about the cells of each thread and column. After the pass sink_sum adds up the threads;
 * schema_take (table/schema.h) says whether a column needs another kind and the pass must be repeated.
 */
#ifndef WEFT_TABLE_COLUMN_SINK_H
#define WEFT_TABLE_COLUMN_SINK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/status.h"
#include "table/column/decimal.h"
#include "table/schema.h"

enum { SINK_MISSING_MOST = 64 };

typedef struct sink_cell {
    const char *text;
    size_t bytes;
    bool quoted; /* it stood in quotes */
} sink_cell;

typedef struct sink_column {
    table_kind kind;
    bool quick;  /* a number at once: kind real or integer, and no role that limits values */
    void *value; /* of row `first` on; NULL: facts alone are wanted */
} sink_column;

typedef struct table_sink {
    table_schema *schema;
    int threads;
    int64_t first, count;                 /* rows of which values have room: first .. first + count - 1 */
    sink_column *column;                  /* [schema->count] */
    table_tally *tally;                   /* [threads][schema->count] */
    sink_cell missing[SINK_MISSING_MOST]; /* words for "no value" */
    int missing_count;
    bool missing_number; /* one of these words is a number, so cells are compared with them first */
    char point;          /* decimal point: '.' or ',' */
    char *words;         /* what `missing` points into */
} table_sink;

/* Prepares a pass over rows first .. first + count - 1. [in] value: [schema->count] arrays, NULL for columns of
 * which facts alone are wanted; `value` NULL: facts alone. */
weft_status sink_create(table_schema *schema, const char *missing, char point, int threads, int64_t first,
                        int64_t count, void *const *value, table_sink *sink);
void sink_free(table_sink *sink);

/* Stores one cell, without quotes around. WEFT_ERR_DATA: the cell does not fit its column; the message begins with the
 * column, and the reader puts file and line before it. Any thread, each with its own number. */
weft_status sink_put(table_sink *sink, int thread, int64_t row, int64_t column, const sink_cell *cell);
/* Stores one number, for readers whose files hold numbers; NaN is missing. */
weft_status sink_put_number(table_sink *sink, int thread, int64_t row, int64_t column, double value);

/* Adds up the threads. [out] tally: [schema->count] */
void sink_sum(const table_sink *sink, table_tally *tally);

static inline void sink_note(table_tally *tally, double value)
{
    tally->least = value < tally->least ? value : tally->least;
    tally->most = value > tally->most ? value : tally->most;
}

/* Stores a common number of a quick column; false leaves the cell to sink_put. */
static inline bool sink_put_quickly(const table_sink *sink, table_tally *tally, int64_t row, int64_t column,
                                    const char *text, size_t bytes)
{
    const sink_column *c = &sink->column[column];
    double value;
    bool whole;
    if (!c->quick || bytes == 0 || !decimal_read(text, bytes, sink->point, &value, &whole)) {
        return false;
    }
    if (c->kind == TABLE_REAL) {
        const float narrow = (float)value;
        if (narrow - narrow != 0) {
            return false; /* beyond float32 */
        }
        ((float *)c->value)[row - sink->first] = narrow;
    } else {
        if (!whole || value <= INT32_MIN || value > INT32_MAX) {
            return false;
        }
        ((int32_t *)c->value)[row - sink->first] = (int32_t)value;
    }
    sink_note(tally, value);
    return true;
}

#endif
