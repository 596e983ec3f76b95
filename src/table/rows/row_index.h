/* table/rows/row_index.h: segments of a file and how they are counted; shared by row_index.c, row_source.c and
 * row_stream.c. */
#pragma once

#include <stdatomic.h>

#include "io/text/text_stream.h"
#include "table/rows/row_source.h"

/* Bytes before a buffer's text, which kernels may read; bytes of a row. */
enum { ROW_PAD = 64, ROW_SEGMENT = 256 << 10, ROW_AHEAD = 4 << 10, ROW_BYTES_MOST = 1 << 30 };
/* Bytes of a parser's stack at most, and of an open compressed file. */
enum { ROW_STACK = 160 << 10, ROW_INPUT = 260 << 10 };

typedef struct row_segment {
    int64_t row; /* rows that end before the segment, over all files */
    bool inside; /* the segment begins inside quotes */
} row_segment;

typedef struct row_file {
    const char *path;
    text_stream *stream;
    int64_t begin, size;     /* of the first row; of the file, if it is plain */
    int64_t first, segments; /* its segments among all; a compressed file has one */
    int64_t row;             /* rows before the file */
    bool plain;
    struct block_reader *reader; /* where a compressed file was read up to; NULL: it is at its beginning */
} row_file;

/* A buffer of text: `text` points ROW_PAD bytes into the block. */
typedef struct row_buffer {
    char *block, *text;
    size_t capacity, held;
} row_buffer;

struct row_source {
    row_file *file; /* [files] */
    int files, threads;
    csv_marks marks;
    csv_count_fn count;
    int64_t segment_bytes, rows_most;
    row_segment *segment; /* [segments + 1] */
    int64_t segments;
    int64_t rows;
};

/* Room for `bytes` of text, with ROW_PAD before and behind. */
weft_status row_buffer_reserve(row_buffer *buffer, size_t bytes);
void row_buffer_free(row_buffer *buffer);
/* The place of the first '\n' outside quotes at or behind `from`, before `to`; `to` if there is none. [in/out]
 * inside */
size_t row_find_end(const csv_marks *marks, const char *text, size_t from, size_t to, bool *inside);

/* Counts rows of all files and fills in the segments. Collective if exchange is not NULL. */
weft_status row_index_make(row_source *source, const table_exchange *exchange);
/* Reads a plain segment with two bytes before it: [out] buffer->text[0] is its first byte, [0 .. *bytes) is of the
 * segment, and up to ROW_AHEAD bytes behind it are held as well. A last line without '\n' gets one. */
weft_status row_read_segment(const row_source *source, const row_file *file, int64_t k, row_buffer *buffer,
                             size_t *bytes, bool *end);

/* Reads a compressed file and hands rows first .. last - 1 to the parser; parse NULL: only counts. Goes on where the
 * last call ended if these rows come behind it, else begins anew. [out] rows: the file's rows up to there. */
weft_status row_stream_read(row_source *source, row_file *file, int64_t first, int64_t last, row_parse_fn parse,
                            void *self, int64_t *rows);

void row_stream_end(row_file *file);
