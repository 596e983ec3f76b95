/*
 * table/rows/row_stream.c: a compressed file from its beginning: a block is unpacked, cut into a piece for each
 * thread at row ends, and parsed. What follows the last row end moves on to the next block.
 */
#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/failure/failure.h"
#include "table/rows/row_index.h"

typedef struct block_reader {
    row_source *source;
    row_file *file;
    text_stream *stream;
    row_buffer buffer;
    int64_t place; /* of buffer.text in the unpacked file */
    int64_t row;   /* of the row that begins there */
    bool end;
    int64_t first, last;
    row_parse_fn parse;
    void *self;
    row_piece *piece;
} block_reader;

static weft_status skip_bytes(block_reader *r, int64_t bytes)
{
    while (bytes > 0) {
        size_t got;
        const size_t wanted = bytes < (int64_t)r->buffer.capacity ? (size_t)bytes : r->buffer.capacity;
        WEFT_TRY(text_stream_read(r->stream, r->buffer.text, wanted, &got));
        WEFT_CHECK(got > 0, WEFT_ERR_IO, "%s: became shorter while it was read", r->file->path);
        bytes -= (int64_t)got;
        r->place += (int64_t)got;
    }
    return WEFT_OK;
}

/* Fills the buffer up to `wanted` bytes, or to the end of the file, whose last line gets a '\n' if it has none. */
static weft_status fill_block(block_reader *r, size_t wanted)
{
    row_buffer *b = &r->buffer;
    WEFT_TRY(row_buffer_reserve(b, wanted + 1));
    while (b->held < wanted && !r->end) {
        size_t got;
        WEFT_TRY(text_stream_read(r->stream, b->text + b->held, wanted - b->held, &got));
        const char *zero = memchr(b->text + b->held, '\0', got);
        if (zero != NULL) {
            (void)weft_fail(WEFT_ERR_DATA, "a zero byte; expected text");
            return row_fail_at(r->file->path, r->place + (zero - b->text), WEFT_ERR_DATA);
        }
        b->held += got;
        r->end = got == 0;
    }
    if (r->end && b->held > 0 && b->text[b->held - 1] != '\n') {
        b->text[b->held++] = '\n';
    }
    return WEFT_OK;
}

/* The end of the first row that ends at or behind `goal`; if there is none, the end of the last row; else `from`. A row
 * begins at `from`. */
static size_t row_end_near(const row_source *s, const char *text, size_t from, size_t goal, size_t held)
{
    bool inside = (s->count(&s->marks, text + from, goal - from).quotes & 1) != 0;
    size_t last = from;
    const size_t found = row_find_end(&s->marks, text, goal, held, &inside);
    if (found < held) {
        return found + 1;
    }
    inside = false;
    for (size_t at = from; (at = row_find_end(&s->marks, text, at, held, &inside)) < held; at++) {
        last = at + 1;
    }
    return last;
}

/* Cuts the block into a piece for each thread. [out] whole: bytes of all pieces, everything at the end of the file.
 * Returns the number of rows. */
static int64_t cut_block(block_reader *r, size_t *whole)
{
    const row_source *s = r->source;
    const size_t held = r->buffer.held, aim = !r->end && held > 2 * ROW_AHEAD ? held - ROW_AHEAD : held;
    int64_t row = r->row;
    size_t from = 0;
    for (int t = 0; t < s->threads; t++) {
        const size_t share = aim / (size_t)s->threads * (size_t)(t + 1);
        const size_t goal = t + 1 == s->threads ? aim : share;
        const bool rest = t + 1 == s->threads && r->end;
        const size_t to = rest ? held : row_end_near(s, r->buffer.text, from, goal > from ? goal : from, held);
        const csv_count count = s->count(&s->marks, r->buffer.text + from, to - from);
        r->piece[t] = (row_piece){.text = r->buffer.text + from,
                                  .end = r->buffer.text + to,
                                  .row = row,
                                  .first = r->first,
                                  .last = r->last,
                                  .thread = t};
        row += count.rows[0] + (rest && (count.quotes & 1) != 0); /* a quote that is not closed: its parser tells */
        from = to;
    }
    *whole = from;
    return row - r->row;
}

static weft_status parse_block(block_reader *r)
{
    const int threads = r->source->threads;
    first_failure failure = {.status = WEFT_OK};
#pragma omp parallel for schedule(static) num_threads(threads)
    for (int t = 0; t < threads; t++) {
        row_piece *piece = &r->piece[t];
        if (piece->text < piece->end && piece->row < r->last) {
            first_failure_note(&failure, t, r->parse(r->self, piece));
        }
    }
    const weft_status status = first_failure_tell(&failure);
    const char *at = r->piece[failure.place].at;
    return status == WEFT_ERR_DATA && at != NULL ? row_fail_at(r->file->path, r->place + (at - r->buffer.text), status)
                                                 : status;
}

/* [out] *done: the rows that were asked for have been read; what follows them stays in the buffer. */
static weft_status read_block(block_reader *r, bool *done)
{
    size_t whole, wanted = (size_t)r->source->segment_bytes * (size_t)r->source->threads;
    int64_t rows;
    for (;; wanted = 2 * r->buffer.held) {
        WEFT_TRY(fill_block(r, wanted));
        rows = cut_block(r, &whole);
        if (whole > 0 || r->end) {
            break;
        }
        WEFT_CHECK(r->buffer.held < ROW_BYTES_MOST, WEFT_ERR_DATA,
                   "%s: a row longer than %d bytes: is a quote not closed?", r->file->path, ROW_BYTES_MOST);
    }
    if (r->parse != NULL && r->row + rows > r->first) {
        WEFT_TRY(parse_block(r));
    }
    *done = r->row + rows > r->last || (r->end && whole == r->buffer.held);
    if (r->row + rows > r->last) {
        return WEFT_OK;
    }
    r->row += rows;
    r->place += (int64_t)whole;
    r->buffer.held -= whole;
    if (r->buffer.held > 0) {
        memmove(r->buffer.text, r->buffer.text + whole, r->buffer.held);
    }
    memset(r->buffer.text - 2, '\n', 2); /* a row begins here */
    return WEFT_OK;
}

void row_stream_end(row_file *file)
{
    block_reader *r = file->reader;
    if (r != NULL) {
        text_stream_close(r->stream);
        row_buffer_free(&r->buffer);
        weft_free(r->piece);
        weft_free(r);
        file->reader = NULL;
    }
}

static weft_status begin_anew(row_source *s, row_file *file)
{
    block_reader *r;
    row_stream_end(file);
    WEFT_TRY(WEFT_NEW_ZERO(&r, 1, WEFT_MEM_WORKSPACE));
    file->reader = r;
    *r = (block_reader){.source = s, .file = file, .row = file->row};
    WEFT_TRY(WEFT_NEW(&r->piece, s->threads, WEFT_MEM_WORKSPACE));
    WEFT_TRY(text_stream_open(file->path, &r->stream));
    WEFT_TRY(row_buffer_reserve(&r->buffer, (size_t)s->segment_bytes * (size_t)s->threads + 1));
    return skip_bytes(r, file->begin);
}

weft_status row_stream_read(row_source *s, row_file *file, int64_t first, int64_t last, row_parse_fn parse, void *self,
                            int64_t *rows)
{
    weft_status status = WEFT_OK;
    assert(!file->plain);
    if (file->reader == NULL || file->reader->row > first) {
        status = begin_anew(s, file);
    }
    block_reader *r = file->reader;
    for (bool done = status != WEFT_OK; !done && status == WEFT_OK;) {
        r->first = first;
        r->last = last;
        r->parse = parse;
        r->self = self;
        status = read_block(r, &done);
        done = done || r->row >= last;
    }
    *rows = status == WEFT_OK ? r->row - file->row : 0;
    if (status != WEFT_OK || r->end) {
        row_stream_end(file);
    }
    return status;
}
