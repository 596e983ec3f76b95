/*
 * io/text/text_ranges.c: see io/text/text_ranges.h.
 *
 * A range is as long as a core's own cache holds, so that text goes from the file to the parser once. A line belongs to
 * the range in which it begins; the thread reads on to its end. Threads take ranges in order: once one has failed, no
 * later range begins, and the first fault in the file is among those found. Lines are counted only then.
 */
#include "io/text/text_ranges.h"

#include <inttypes.h>
#include <stdio.h>

#include "base/alloc.h"

enum { RANGE_LEAST = 4 << 10, RANGE_MOST = 256 << 10, RANGES_A_THREAD = 16, LINE_USUAL = 256 };

typedef struct job {
    const text_ranges *of;
    int64_t size, bytes, count; /* of the file, of a range; how many ranges */
    atomic_llong next, failed;  /* ranges */
} job;

/* Of a thread. */
typedef struct worker {
    char *text;
    size_t capacity, held;
    int64_t place;    /* of text[0] in the file */
    text_piece piece; /* the one that failed */
    int64_t range;    /* it is in; INT64_MAX: none */
} worker;

static weft_status make_room(worker *w, size_t bytes)
{
    if (w->capacity < bytes) {
        WEFT_TRY(weft_realloc((void **)&w->text, bytes, 1, WEFT_MEM_WORKSPACE));
        w->capacity = bytes;
    }
    return WEFT_OK;
}

/* More of the file, after what is held, and the end of line that a file's last line may lack. *end: that was all. */
static weft_status read_more(const job *j, worker *w, size_t bytes, bool *end)
{
    size_t got;
    WEFT_TRY(make_room(w, w->held + bytes + 1 + TEXT_PAD));
    WEFT_TRY(text_stream_read_at(j->of->stream, w->place + (int64_t)w->held, w->text + w->held, bytes, &got));
    w->held += got;
    *end = got < bytes;
    if (*end && w->held > 0 && w->text[w->held - 1] != '\n') {
        w->text[w->held++] = '\n';
    }
    return WEFT_OK;
}

static bool fail_here(text_piece *piece, const char *at, const char *reason)
{
    piece->at = at;
    snprintf(piece->reason, sizeof piece->reason, "%s", reason);
    return false;
}

/* The piece: the lines that begin at text[from .. to); none, when none does. */
static bool find_lines(const job *j, worker *w, size_t from, size_t to, bool end, text_piece *piece)
{
    const char *before = from == 0 ? NULL : memchr(w->text, '\n', to > w->held ? w->held : to - 1);
    const size_t first = from == 0 ? 0 : before == NULL ? to : (size_t)(before - w->text) + 1;
    piece->text = w->text;
    piece->end = w->text;
    if (first >= to || first >= w->held) {
        return true;
    }
    size_t looked_at = to - 1;
    const char *last = looked_at < w->held ? memchr(w->text + looked_at, '\n', w->held - looked_at) : NULL;
    while (last == NULL && !end) {
        const char *line = memrchr(w->text + first, '\n', to - 1 - first);
        line = line == NULL ? w->text + first : line + 1;
        if (w->held - (size_t)(line - w->text) >= j->of->line_max) {
            char reason[64];
            snprintf(reason, sizeof reason, "longer than %zu bytes", j->of->line_max);
            return fail_here(piece, line, reason);
        }
        looked_at = w->held;
        const weft_status status = read_more(j, w, w->held, &end);
        if (status != WEFT_OK) {
            return text_fail(piece, status);
        }
        last = memchr(w->text + looked_at, '\n', w->held - looked_at);
    }
    piece->text = w->text + first;
    piece->end = last == NULL ? w->text + w->held : last + 1;
    const char *zero = memchr(piece->text, '\0', (size_t)(piece->end - piece->text));
    return zero == NULL || fail_here(piece, zero, "a zero byte; expected text");
}

static bool parse_range(const job *j, worker *w, int64_t range, text_piece *piece)
{
    const int64_t begin = j->of->begin + range * j->bytes, left = j->size - begin;
    const size_t from = range > 0; /* the byte before shows whether a line begins here */
    const size_t to = from + (size_t)(left < j->bytes ? left : j->bytes);
    bool end;
    w->place = begin - (int64_t)from;
    w->held = 0;
    const weft_status status = read_more(j, w, to + LINE_USUAL, &end);
    if (status != WEFT_OK) {
        return text_fail(piece, status);
    }
    if (!find_lines(j, w, from, to, end, piece) ||
        (piece->text < piece->end && !j->of->parser->parse(j->of->parser->self, piece))) {
        return false;
    }
    atomic_fetch_add(j->of->text_bytes, (long long)(to - from));
    return true;
}

static void parse_ranges(job *j, worker *w, int thread)
{
    for (;;) {
        const int64_t range = atomic_fetch_add(&j->next, 1);
        if (range >= j->count || range > atomic_load(&j->failed)) {
            return;
        }
        text_piece piece = {.parser = j->of->parser, .thread = thread};
        if (!parse_range(j, w, range, &piece)) {
            w->piece = piece;
            w->range = range;
            long long failed = atomic_load(&j->failed);
            while (range < failed && !atomic_compare_exchange_weak(&j->failed, &failed, range)) {
            }
            return;
        }
        if (thread == 0) {
            j->of->tell(j->of->self);
        }
    }
}

/* Of the worker whose fault is the first. */
static weft_status fail_at(const job *j, worker *w)
{
    int64_t line = 1;
    if (w->piece.status != WEFT_OK) {
        return weft_fail(w->piece.status, "%s", w->piece.reason);
    }
    const int64_t fault = w->place + (w->piece.at - w->text);
    for (int64_t at = 0; at < fault;) {
        size_t got;
        const int64_t left = fault - at;
        WEFT_TRY(make_room(w, RANGE_MOST));
        WEFT_TRY(
            text_stream_read_at(j->of->stream, at, w->text, (size_t)(left < RANGE_MOST ? left : RANGE_MOST), &got));
        if (got == 0) {
            break;
        }
        line += text_count_lines(w->text, got);
        at += (int64_t)got;
    }
    return weft_fail(WEFT_ERR_DATA, "%s: line %" PRId64 ": %s", j->of->path, line, w->piece.reason);
}

weft_status text_ranges_parse(const text_ranges *ranges)
{
    job j = {.of = ranges, .size = text_stream_size(ranges->stream)};
    worker *workers;
    const int64_t left = j.size - ranges->begin, share = left / ranges->threads / RANGES_A_THREAD;
    j.bytes = share < RANGE_LEAST ? RANGE_LEAST : share > RANGE_MOST ? RANGE_MOST : share;
    j.count = left > 0 ? (left + j.bytes - 1) / j.bytes : 0;
    atomic_init(&j.failed, INT64_MAX);
    WEFT_TRY(WEFT_NEW_ZERO(&workers, ranges->threads, WEFT_MEM_WORKSPACE));
#pragma omp parallel for schedule(static) num_threads(ranges->threads)
    for (int t = 0; t < ranges->threads; t++) {
        workers[t].range = INT64_MAX;
        parse_ranges(&j, &workers[t], t);
    }
    weft_status status = WEFT_OK;
    for (int t = 0; t < ranges->threads; t++) {
        if (workers[t].range == atomic_load(&j.failed) && workers[t].range < INT64_MAX) {
            status = fail_at(&j, &workers[t]);
        }
    }
    for (int t = 0; t < ranges->threads; t++) {
        weft_free(workers[t].text);
    }
    weft_free(workers);
    return status;
}
