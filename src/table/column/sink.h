/*
 * table/column/sink.h: where cells go: text or numbers in, values of typed columns and facts about them out.
 *
 * Readers hand each cell over with its row, column and thread. The sink parses it by the kind of its column, stores the
 * value, and keeps facts about the cells of each thread and column. After the pass sink_sum adds up the threads;
 * schema_take (table/schema.h) says whether a column needs another kind and the pass must be repeated.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/file.h"
#include "base/status.h"
#include "table/column/cell_scan.h"
#include "table/column/decimal.h"
#include "table/schema.h"

enum { SINK_MISSING_MOST = 64 };

typedef struct sink_cell {
    const char *text;
    size_t bytes;
    bool quoted; /* the cell stood in quotes */
} sink_cell;

/* How sink_put_block takes the common cells of a column. */
typedef enum sink_quick {
    SINK_CLOSELY, /* every cell is left to sink_put */
    SINK_REALS,
    SINK_REALS_REQUIRED, /* a missing cell is left to sink_put, which refuses it */
    SINK_INTEGERS,
    SINK_LONGS,
    SINK_WORDS,
    SINK_IDS,
    SINK_NOTHING /* the column is dropped */
} sink_quick;

typedef struct sink_column {
    table_kind kind;
    sink_quick quick;
    void *value;    /* array whose first value is of row `first`; NULL: facts alone are wanted */
    int64_t bytes;  /* of a value; 0 if value is NULL */
    int64_t staged; /* bytes before the column in the block of a sink_window */
} sink_column;

/*
 * Values of a few rows of one thread on their way to the columns. They are collected column by column in the thread's
 * cache and then written past it in whole lines, because a line of a large array that is written in small pieces is
 * read from memory first.
 */
typedef struct sink_window {
    _Alignas(64) char *block; /* threads write to no line of another */
    int64_t first, rows;      /* rows first .. first + rows - 1 are in the block */
} sink_window;

enum { SINK_WINDOW = 160 << 10 /* bytes of a thread's window at most */ };

/* Where the entries of a sparse block go. */
typedef struct sink_sparse {
    const int64_t *start; /* begins with row `first`, whose first entry goes to place 0 */
    void *index;          /* int32_t or int64_t; NULL: entries are only looked at */
    float *value;
    int index_bytes;
} sink_sparse;

static inline void sink_put_entry(const sink_sparse *sparse, int64_t place, int64_t feature, float value)
{
    if (sparse->index_bytes == 4) {
        ((int32_t *)sparse->index)[place] = (int32_t)feature;
    } else {
        ((int64_t *)sparse->index)[place] = feature;
    }
    sparse->value[place] = value;
}

typedef struct table_sink {
    table_schema *schema;
    int threads;
    int64_t first, count;                 /* rows of which values have room: first .. first + count - 1 */
    sink_column *column;                  /* [schema->count] */
    table_tally *tally;                   /* [threads][schema->count] */
    sink_cell missing[SINK_MISSING_MOST]; /* words for "no value" */
    int missing_count;
    sink_window *window;    /* [threads]; NULL: values go to the columns at once */
    int64_t window_rows;    /* rows that a window has room for */
    sink_sparse sparse;     /* of readers that have a sparse block */
    uint64_t missing_marks; /* sink_mark of each word for "no value" */
    bool missing_number;    /* a word for "no value" is a number, so cells are compared with these words first */
    char point;             /* decimal point: '.' or ',' */
    char *words;            /* what `missing` points into */
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

/* Where the value of a cell goes; NULL: facts alone are wanted. */
static inline void *sink_slot(const table_sink *sink, int thread, int64_t row, int64_t column)
{
    const sink_column *c = &sink->column[column];
    const sink_window *w = sink->window != NULL ? &sink->window[thread] : NULL;
    if (c->value == NULL) {
        return NULL;
    }
    return w != NULL && row >= w->first && row - w->first < w->rows ? w->block + c->staged + (row - w->first) * c->bytes
                                                                    : (char *)c->value + (row - sink->first) * c->bytes;
}

/* Bytes of a thread's window on `count` rows; 0: there are none. */
int64_t sink_window_bytes(const table_schema *schema, int64_t count);
/* Makes windows where there are rows enough for them. */
weft_status sink_open_windows(table_sink *sink);
void sink_close_windows(table_sink *sink);
/* Makes rows row .. row + rows - 1 part of the thread's window, if there are windows. */
void sink_window_take(table_sink *sink, int thread, int64_t row, int64_t rows);
/* Writes the rows of the thread's window to the columns: after the last row of a run, and before other threads read. */
void sink_flush(table_sink *sink, int thread);

/* The id that stands for a word. */
static inline uint64_t sink_id(const char *text, size_t bytes)
{
    const uint64_t hash = file_checksum(text, bytes, 0);
    return hash != TABLE_NO_ID ? hash : 1;
}

/* Adds up the threads. [out] tally: [schema->count] */
void sink_sum(const table_sink *sink, table_tally *tally);

static inline void sink_note(table_tally *tally, double value)
{
    tally->least = value < tally->least ? value : tally->least;
    tally->most = value > tally->most ? value : tally->most;
}

/* Bit of `missing_marks` for a word of this length and first letter, in any case. */
static inline uint64_t sink_mark(const char *text, size_t bytes)
{
    return UINT64_C(1) << (((unsigned)(uint8_t)*text | 0x20U) + 7 * (unsigned)bytes) % 64;
}

enum {
    CELL_LEFT = 64,   /* bit of a cell that sink_put_block has left to sink_put */
    SINK_AHEAD = 8,   /* bytes behind the bits of a block that are read */
    SINK_CELLS = 2048 /* cells of a block at most */
};

/* Cells of rows row .. row + rows - 1 and columns column .. column + columns - 1, row after row, as a kernel of
 * table/column/cell_scan.h has read them. */
typedef struct sink_block {
    const char *text;
    const int32_t *before, *end; /* [rows * columns] the cell is text[before + 1 .. end) */
    const double *value;         /* [rows * columns] */
    uint8_t *found; /* [rows * columns + SINK_AHEAD] bits of the cells; those that are left get CELL_LEFT */
    int64_t row, rows, column, columns;
} sink_block;

static inline const char *sink_cell_begin(const sink_block *block, size_t cell)
{
    return block->text + block->before[cell] + 1;
}

/* Stores the common cells of a block: short numbers, short bare words and empty cells. Blocks of one thread go on where
 * the last one ended, or sink_flush comes between. [out] left: the number of cells with CELL_LEFT, which are for
 * sink_put. WEFT_ERR_RESOURCE: no memory for a word. */
weft_status sink_put_block(table_sink *sink, int thread, const sink_block *block, int64_t *left);
