/*
 * table/rows/row_index.c: counts the rows of segments. Each is counted for both cases, that it begins inside quotes
 * and that it begins outside; which case holds is known when the quotes of all segments before it are added up.
 */
#include "table/rows/row_index.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/failure/failure.h"
#include "machine/thread_ranges.h"

weft_status row_buffer_reserve(row_buffer *buffer, size_t bytes)
{
    if (bytes <= buffer->capacity) {
        return WEFT_OK;
    }
    WEFT_TRY(weft_realloc((void **)&buffer->block, bytes + 2 * (size_t)ROW_PAD, 1, WEFT_MEM_WORKSPACE));
    memset(buffer->block, '\n', ROW_PAD);
    buffer->text = buffer->block + ROW_PAD;
    buffer->capacity = bytes;
    return WEFT_OK;
}

void row_buffer_free(row_buffer *buffer)
{
    weft_free(buffer->block);
    *buffer = (row_buffer){.block = NULL};
}

size_t row_find_end(const csv_marks *marks, const char *text, size_t from, size_t to, bool *inside)
{
    for (size_t at = from; at < to; at++) {
        if (marks->quote != '\0' && text[at] == marks->quote) {
            *inside = !*inside;
        } else if (text[at] == '\n' && !*inside) {
            return at;
        }
    }
    return to;
}

weft_status row_read_segment(const row_source *s, const row_file *file, int64_t k, row_buffer *buffer, size_t *bytes,
                             bool *end)
{
    const int64_t begin = file->begin + k * s->segment_bytes;
    const int64_t before = k > 0 ? 2 : 0;
    const int64_t left = file->size - begin;
    size_t got;
    WEFT_TRY(row_buffer_reserve(buffer, (size_t)s->segment_bytes + ROW_AHEAD));
    /* What stands before the first row counts as an empty line. */
    memset(buffer->text - ROW_PAD, '\n', ROW_PAD);
    WEFT_TRY(text_stream_read_at(file->stream, begin - before, buffer->text - before,
                                 (size_t)(s->segment_bytes + ROW_AHEAD - 1 + before), &got));
    WEFT_CHECK(got >= (size_t)before, WEFT_ERR_IO, "%s: became shorter while it was read", file->path);
    buffer->held = got - (size_t)before;
    *end = (int64_t)buffer->held >= left;
    buffer->held = *end ? (size_t)left : buffer->held;
    if (*end && buffer->held > 0 && buffer->text[buffer->held - 1] != '\n') {
        buffer->text[buffer->held++] = '\n';
    }
    const size_t wanted = (size_t)s->segment_bytes;
    *bytes = *end && left <= s->segment_bytes ? buffer->held : wanted;
    WEFT_CHECK(*end || buffer->held >= wanted, WEFT_ERR_IO, "%s: became shorter while it was read", file->path);
    return WEFT_OK;
}

static const row_file *file_of_segment(const row_source *s, int64_t segment)
{
    int f = 0;
    while (f + 1 < s->files && s->file[f + 1].first <= segment) {
        f++;
    }
    return &s->file[f];
}

/* ---- counting ---- */

static weft_status count_segment(const row_source *s, int64_t segment, row_buffer *buffer, csv_count *count)
{
    const row_file *file = file_of_segment(s, segment);
    size_t bytes;
    bool end;
    *count = (csv_count){.quotes = 0};
    if (!file->plain) {
        return WEFT_OK; /* counted when it is unpacked */
    }
    WEFT_TRY(row_read_segment(s, file, segment - file->first, buffer, &bytes, &end));
    *count = s->count(&s->marks, buffer->text, bytes);
    return WEFT_OK;
}

/* Counts segments from .. to - 1 on all threads. */
static weft_status count_segments(const row_source *s, int64_t from, int64_t to, csv_count *count)
{
    first_failure failure = {.status = WEFT_OK};
#pragma omp parallel num_threads(s->threads)
    {
        row_buffer buffer = {.block = NULL};
#pragma omp for schedule(dynamic, 4)
        for (int64_t i = from; i < to; i++) {
            first_failure_note(&failure, i, count_segment(s, i, &buffer, &count[i - from]));
        }
        row_buffer_free(&buffer);
    }
    return first_failure_tell(&failure);
}

/* Counts of all ranks, where one that failed handed in nothing. */
static weft_status gather_counts(const row_source *s, const table_exchange *exchange, weft_status counted,
                                 const csv_count *own, int64_t segments, csv_count **count)
{
    void *all;
    size_t *bytes_of, bytes = 0;
    char message[1024];
    snprintf(message, sizeof message, "%s", weft_error_message());
    WEFT_TRY(exchange->gather(exchange->self, own, counted == WEFT_OK ? (size_t)segments * sizeof *own : 0, &all,
                              &bytes_of));
    for (int r = 0; r < exchange->ranks; r++) {
        bytes += bytes_of[r];
    }
    weft_free(bytes_of);
    if (counted == WEFT_OK && bytes == (size_t)s->segments * sizeof *own) {
        *count = all;
        return WEFT_OK;
    }
    weft_free(all);
    return counted != WEFT_OK ? weft_fail(counted, "%s", message)
                              : weft_fail(WEFT_ERR_DATA, "%s: another rank could not count rows", s->file[0].path);
}

/* All ranks count a share; every rank gets all counts. */
static weft_status count_together(const row_source *s, const table_exchange *exchange, csv_count **count)
{
    const int rank = exchange != NULL ? exchange->rank : 0, ranks = exchange != NULL ? exchange->ranks : 1;
    const int64_t from = split_even(s->segments, rank, ranks), to = split_even(s->segments, rank + 1, ranks);
    csv_count *own = NULL;
    weft_status status = WEFT_NEW(&own, to - from + 1, WEFT_MEM_WORKSPACE);
    status = status == WEFT_OK ? count_segments(s, from, to, own) : status;
    if (exchange == NULL && status == WEFT_OK) {
        *count = own;
        return WEFT_OK;
    }
    status = exchange == NULL ? status : gather_counts(s, exchange, status, own, to - from, count);
    weft_free(own);
    return status;
}

/* ---- adding up ---- */

static weft_status add_file(row_source *s, row_file *file, const csv_count *count)
{
    bool inside = false;
    file->row = s->rows;
    if (!file->plain) {
        int64_t rows;
        s->segment[file->first] = (row_segment){.row = s->rows};
        WEFT_TRY(row_stream_read(s, file, 0, INT64_MAX, NULL, NULL, &rows));
        s->rows += rows;
        return WEFT_OK;
    }
    for (int64_t k = file->first; k < file->first + file->segments; k++) {
        s->segment[k] = (row_segment){.row = s->rows, .inside = inside};
        s->rows += count[k].rows[inside];
        inside = inside != ((count[k].quotes & 1) != 0);
    }
    s->rows += inside; /* a row whose quote is not closed: its parser tells */
    return WEFT_OK;
}

weft_status row_index_make(row_source *s, const table_exchange *exchange)
{
    csv_count *count = NULL;
    weft_status status;
    assert(s->segment_bytes > 0);
    for (int f = 0; f < s->files; f++) {
        row_file *file = &s->file[f];
        const int64_t left = file->size - file->begin;
        file->first = s->segments;
        file->segments = !file->plain ? 1 : left > 0 ? (left + s->segment_bytes - 1) / s->segment_bytes : 0;
        s->segments += file->segments;
    }
    WEFT_TRY_GOTO(count_together(s, exchange, &count), status, done);
    WEFT_CHECK_GOTO(count != NULL, status, done, WEFT_ERR_INTERNAL, "no counts of %" PRId64 " segments", s->segments);
    WEFT_TRY_GOTO(WEFT_NEW(&s->segment, s->segments + 1, WEFT_MEM_TABLE), status, done);
    for (int f = 0; f < s->files; f++) {
        WEFT_TRY_GOTO(add_file(s, &s->file[f], count), status, done);
        WEFT_CHECK_GOTO(s->rows <= s->rows_most, status, done, WEFT_ERR_UNSUPPORTED,
                        "%s: %" PRId64 " rows by the end of this file; at most %" PRId64 " are read", s->file[f].path,
                        s->rows, s->rows_most);
    }
    s->segment[s->segments] = (row_segment){.row = s->rows};
done:
    weft_free(count);
    return status;
}
