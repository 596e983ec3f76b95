/*
 * table/rows/row_source.c: see table/rows/row_source.h. Threads take segments in order; once one has failed no later
 * segment begins, so the first fault in the files is among those found.
 */
#include "table/rows/row_source.h"

#include <assert.h>
#include <inttypes.h>
#include <omp.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/integer/search.h"
#include "io/text/text_source.h"
#include "table/rows/row_index.h"

#define ROWS_MOST (INT64_C(1) << 40)

weft_status row_source_open(const char *const *paths, int count, const row_layout *layout, row_source **source)
{
    row_source *s;
    *source = NULL;
    WEFT_TRY(WEFT_NEW_ZERO(&s, 1, WEFT_MEM_TABLE));
    weft_status status;
    s->threads = omp_get_max_threads();
    s->marks = layout->marks;
    s->count = csv_count_best();
    s->segment_bytes = layout->segment > 0 ? layout->segment : ROW_SEGMENT;
    s->rows_most = layout->rows_most > 0 ? layout->rows_most : ROWS_MOST;
    WEFT_TRY_GOTO(WEFT_NEW_ZERO(&s->file, count, WEFT_MEM_TABLE), status, done);
    for (s->files = 0; s->files < count; s->files++) {
        row_file *file = &s->file[s->files];
        file->path = paths[s->files];
        file->begin = layout->begin[s->files];
        WEFT_TRY_GOTO(text_stream_open(file->path, &file->stream), status, done);
        file->plain = text_stream_plain(file->stream);
        file->size = text_stream_size(file->stream);
    }
    *source = s;
    s = NULL;
done:
    row_source_close(s);
    return status;
}

weft_status row_source_count(row_source *s, const table_exchange *exchange)
{
    return row_index_make(s, exchange);
}

void row_source_close(row_source *s)
{
    if (s == NULL) {
        return;
    }
    for (int f = 0; f < s->files; f++) {
        row_stream_end(&s->file[f]);
        text_stream_close(s->file[f].stream);
    }
    weft_free(s->file);
    weft_free(s->segment);
    weft_free(s);
}

int64_t row_source_rows(const row_source *s)
{
    return s->rows;
}

int64_t row_source_file_row(const row_source *s, int file)
{
    assert(file >= 0 && file < s->files);
    return s->file[file].row;
}

int row_source_threads(const row_source *s)
{
    return s->threads;
}

int64_t row_source_memory(const row_source *s)
{
    const int64_t thread = s->segment_bytes + ROW_AHEAD + 2 * ROW_PAD + ROW_STACK + (int64_t)sizeof(row_piece);
    int64_t bytes = s->threads * thread + (s->segments + 1) * (int64_t)(sizeof(row_segment) + sizeof(csv_count));
    for (int f = 0; f < s->files; f++) {
        /* A compressed file is open twice: at its beginning, and where it was read up to. */
        bytes += (int64_t)sizeof(row_file) + (s->file[f].plain ? 1 << 10 : 2 * ROW_INPUT);
    }
    return bytes;
}

/* ---- faults ---- */

weft_status row_fail_at(const char *path, int64_t offset, weft_status status)
{
    enum { READ = 64 << 10 };
    char message[1024], *text = NULL;
    text_stream *stream = NULL;
    int64_t line = 1;
    size_t got = 1;
    snprintf(message, sizeof message, "%s", weft_error_message());
    if (WEFT_NEW(&text, READ, WEFT_MEM_WORKSPACE) == WEFT_OK && text_stream_open(path, &stream) == WEFT_OK) {
        while (offset > 0 && got > 0 &&
               text_stream_read(stream, text, offset < READ ? (size_t)offset : READ, &got) == WEFT_OK) {
            line += text_count_lines(text, got);
            offset -= (int64_t)got;
        }
    }
    text_stream_close(stream);
    weft_free(text);
    return weft_fail(status, "%s: line %" PRId64 ": %s", path, line, message);
}

/* ---- plain files ---- */

typedef struct read_job {
    row_source *source;
    const row_file *file;
    int64_t first, last, to; /* rows wanted; past the last segment */
    row_parse_fn parse;
    void *self;
    atomic_llong next, failed;
} read_job;

/* The fault of one thread. */
typedef struct read_fault {
    int64_t segment, offset; /* INT64_MAX: none; offset -1: not in the text */
    weft_status status;
    char message[1024];
} read_fault;

/* Where the first row of a segment begins; `bytes` if none does. [out] row: its number. */
static size_t first_row(const row_source *s, const row_segment *segment, const row_buffer *buffer, bool first,
                        size_t bytes, int64_t *row)
{
    const char *text = buffer->text;
    bool inside = segment->inside;
    *row = segment->row;
    if (first || (text[-1] == '\n' && !inside)) {
        return 0;
    }
    const size_t end = row_find_end(&s->marks, text, 0, bytes, &inside);
    const bool blank = end == 0 && !segment->inside && text[-1] == '\r' && text[-2] == '\n';
    *row += !blank;
    return end + 1 < bytes ? end + 1 : bytes;
}

/* Where the last row of a segment ends, reading on as far as needed. */
static weft_status last_row(const read_job *job, int64_t k, row_buffer *buffer, size_t bytes, bool end, size_t *stop)
{
    const row_source *s = job->source;
    const row_segment *next = &s->segment[k + 1];
    bool inside = next->inside;
    size_t looked = bytes;
    if (end && bytes == buffer->held) {
        *stop = bytes;
        return WEFT_OK;
    }
    if (buffer->text[bytes - 1] == '\n' && !inside) {
        *stop = bytes;
        return WEFT_OK;
    }
    for (;;) {
        *stop = row_find_end(&s->marks, buffer->text, looked, buffer->held, &inside);
        if (*stop < buffer->held || end) {
            *stop += *stop < buffer->held;
            return WEFT_OK;
        }
        looked = buffer->held;
        WEFT_CHECK(looked < ROW_BYTES_MOST, WEFT_ERR_DATA, "a row longer than %d bytes: is a quote not closed?",
                   ROW_BYTES_MOST);
        const int64_t place = job->file->begin + (k - job->file->first) * s->segment_bytes + (int64_t)looked;
        size_t got;
        WEFT_TRY(row_buffer_reserve(buffer, 2 * looked + 1));
        WEFT_TRY(text_stream_read_at(job->file->stream, place, buffer->text + looked, looked, &got));
        buffer->held += got;
        end = got < looked;
        if (end && buffer->text[buffer->held - 1] != '\n') {
            buffer->text[buffer->held++] = '\n';
        }
    }
}

static weft_status read_segment(const read_job *job, int64_t k, int thread, row_buffer *buffer, int64_t *offset)
{
    const row_source *s = job->source;
    const row_file *file = job->file;
    const int64_t begin = file->begin + (k - file->first) * s->segment_bytes;
    size_t bytes, stop;
    bool end;
    *offset = -1;
    WEFT_TRY(row_read_segment(s, file, k - file->first, buffer, &bytes, &end));
    assert(k >= file->first && k < file->first + file->segments && thread < s->threads);
    row_piece piece = {.first = job->first, .last = job->last, .thread = thread};
    const size_t from = first_row(s, &s->segment[k], buffer, k == file->first, bytes, &piece.row);
    if (from >= bytes || piece.row >= job->last) {
        return WEFT_OK;
    }
    *offset = begin + (int64_t)from;
    WEFT_TRY(last_row(job, k, buffer, bytes, end, &stop));
    piece.text = buffer->text + from;
    piece.end = buffer->text + stop;
    const char *zero = memchr(piece.text, '\0', (size_t)(piece.end - piece.text));
    if (zero != NULL) {
        *offset = begin + (zero - buffer->text);
        return weft_fail(WEFT_ERR_DATA, "a zero byte; expected text");
    }
    const weft_status status = job->parse(job->self, &piece);
    *offset = piece.at != NULL ? begin + (piece.at - buffer->text) : -1;
    return status;
}

static void read_segments(read_job *job, int thread, read_fault *fault)
{
    row_buffer buffer = {.block = NULL};
    for (;;) {
        const int64_t k = atomic_fetch_add(&job->next, 1);
        int64_t offset;
        if (k >= job->to || k > atomic_load(&job->failed)) {
            break;
        }
        const weft_status status = read_segment(job, k, thread, &buffer, &offset);
        if (status != WEFT_OK) {
            *fault = (read_fault){.segment = k, .offset = offset, .status = status};
            snprintf(fault->message, sizeof fault->message, "%s", weft_error_message());
            long long failed = atomic_load(&job->failed);
            while (k < failed && !atomic_compare_exchange_weak(&job->failed, &failed, k)) {
            }
            break;
        }
    }
    row_buffer_free(&buffer);
}

static weft_status tell_fault(const read_job *job, const read_fault *fault)
{
    (void)weft_fail(fault->status, "%s", fault->message);
    return fault->status == WEFT_ERR_DATA && fault->offset >= 0
               ? row_fail_at(job->file->path, fault->offset, WEFT_ERR_DATA)
               : fault->status;
}

/* The last segment of the file that begins with row `row` or an earlier one. */
static int64_t segment_of_row(const row_source *s, const row_file *file, int64_t row)
{
    int64_t low = file->first;
    SEARCH_FIRST(low, file->first + file->segments - 1, s->segment[at + 1].row <= row);
    /* The row may begin in a segment before, of which the end is not counted yet. */
    while (low > file->first && s->segment[low].row == row) {
        low--;
    }
    return low;
}

static weft_status read_plain(row_source *s, const row_file *file, int64_t first, int64_t last, row_parse_fn parse,
                              void *self)
{
    read_job job = {.source = s, .file = file, .first = first, .last = last, .parse = parse, .self = self};
    read_fault *fault;
    weft_status status = WEFT_OK;
    WEFT_TRY(WEFT_NEW(&fault, s->threads, WEFT_MEM_WORKSPACE));
    atomic_init(&job.next, segment_of_row(s, file, first > file->row ? first : file->row));
    atomic_init(&job.failed, INT64_MAX);
    job.to = file->first + file->segments;
    while (job.to > file->first + 1 && s->segment[job.to - 1].row >= last) {
        job.to--;
    }
#pragma omp parallel for schedule(static) num_threads(s->threads)
    for (int t = 0; t < s->threads; t++) {
        fault[t].segment = INT64_MAX;
        read_segments(&job, t, &fault[t]);
    }
    for (int t = 0; t < s->threads && status == WEFT_OK; t++) {
        if (fault[t].segment < INT64_MAX && fault[t].segment == atomic_load(&job.failed)) {
            status = tell_fault(&job, &fault[t]);
        }
    }
    weft_free(fault);
    return status;
}

weft_status row_source_read(row_source *s, int64_t first, int64_t count, row_parse_fn parse, void *self)
{
    assert(first >= 0 && count >= 0 && first + count <= s->rows);
    for (int f = 0; f < s->files && count > 0; f++) {
        row_file *file = &s->file[f];
        const int64_t next = f + 1 < s->files ? s->file[f + 1].row : s->rows;
        int64_t rows;
        if (next <= first || file->row >= first + count) {
            continue;
        }
        WEFT_TRY(file->plain ? read_plain(s, file, first, first + count, parse, self)
                             : row_stream_read(s, file, first, first + count, parse, self, &rows));
    }
    return WEFT_OK;
}
