/* table/column/sink_window.c: windows of values; see table/column/sink.h. */
#include <assert.h>
#include <emmintrin.h>
#include <string.h>

#include "base/alloc.h"
#include "table/column/sink.h"

enum { LINE = 64, ROWS_LEAST = 64 /* shorter runs of values are no whole lines */ };

/* Rows of a window on `count` rows of row_bytes bytes; 0: there are too few for windows, or rows are too long. */
static int64_t rows_of(int64_t row_bytes, int64_t columns, int64_t count)
{
    /* Columns are an odd number of 16 rows apart, so that they do not meet in one set of the cache. */
    const int64_t rows = row_bytes > 0 ? ((SINK_WINDOW / row_bytes) & -32) - 16 : 0;
    return rows >= ROWS_LEAST && rows * columns >= SINK_CELLS && rows <= count / 2 ? rows : 0;
}

int64_t sink_window_bytes(const table_schema *schema, int64_t count)
{
    const int64_t row = schema_row_bytes(schema);
    return rows_of(row, schema->count, count) * row;
}

weft_status sink_open_windows(table_sink *sink)
{
    int64_t row = 0, at = 0;
    for (int64_t j = 0; j < sink->schema->count; j++) {
        row += sink->column[j].bytes;
    }
    const int64_t rows = rows_of(row, sink->schema->count, sink->count);
    if (rows == 0) {
        return WEFT_OK;
    }
    for (int64_t j = 0; j < sink->schema->count; j++) {
        sink->column[j].staged = at;
        at += rows * sink->column[j].bytes;
    }
    WEFT_TRY(WEFT_NEW_ZERO(&sink->window, sink->threads, WEFT_MEM_WORKSPACE));
    for (int t = 0; t < sink->threads; t++) {
        WEFT_TRY(WEFT_NEW(&sink->window[t].block, at, WEFT_MEM_WORKSPACE));
    }
    sink->window_rows = rows;
    return WEFT_OK;
}

void sink_close_windows(table_sink *sink)
{
    for (int t = 0; t < sink->threads && sink->window != NULL; t++) {
        weft_free(sink->window[t].block);
    }
    weft_free(sink->window);
    sink->window = NULL;
}

/* Whole lines are written past the cache. */
static void write_past(char *to, const char *from, size_t bytes)
{
    const size_t before = -(uintptr_t)to & (LINE - 1), head = before < bytes ? before : bytes;
    size_t at = head;
    memcpy(to, from, head);
    for (; at + LINE <= bytes; at += LINE) {
        for (size_t k = at; k < at + LINE; k += sizeof(__m128i)) {
            _mm_stream_si128((__m128i *)(void *)(to + k), _mm_loadu_si128((const __m128i *)(const void *)(from + k)));
        }
    }
    memcpy(to + at, from + at, bytes - at);
}

void sink_flush(table_sink *sink, int thread)
{
    sink_window *w = sink->window != NULL ? &sink->window[thread] : NULL;
    if (w == NULL || w->rows == 0) {
        return;
    }
    for (int64_t j = 0; j < sink->schema->count; j++) {
        const sink_column *c = &sink->column[j];
        if (c->value != NULL) {
            write_past((char *)c->value + (w->first - sink->first) * c->bytes, w->block + c->staged,
                       (size_t)(w->rows * c->bytes));
        }
    }
    _mm_sfence();
    w->rows = 0;
}

void sink_window_take(table_sink *sink, int thread, int64_t row, int64_t rows)
{
    sink_window *w = sink->window != NULL ? &sink->window[thread] : NULL;
    if (w == NULL) {
        return;
    }
    if (w->rows > 0 && row + rows > w->first + sink->window_rows) {
        sink_flush(sink, thread);
    }
    w->first = w->rows == 0 ? row : w->first;
    assert(row >= w->first && row <= w->first + w->rows && row + rows <= w->first + sink->window_rows);
    w->rows = row + rows > w->first + w->rows ? row + rows - w->first : w->rows;
}
