/*
 * io/text/text_source.c: see io/text/text_source.h; ranges are in io/text/text_ranges.c.
 *
 * The first lines are looked at in a small first block, without a reader. Then two blocks take turns: while the threads
 * parse one, the reader fills the other. What follows the last '\n' of a block is copied to the head of the next. The
 * reader also looks for zero bytes and counts lines, so that a parser's error becomes a line number by counting within
 * one block; it does so while what it read is in its cache.
 */
#include "io/text/text_source.h"

#include <inttypes.h>
#include <omp.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>

#include "base/alloc.h"
#include "base/file.h"
#include "base/log.h"
#include "io/foreign_kind.h"
#include "io/text/text_ranges.h"
#include "io/text/text_stream.h"

enum { BLOCK_FIRST = 4 << 10, BLOCK_LEAST = 4 << 20, BLOCK_PER_THREAD = 2 << 20, BLOCK_MOST = 64 << 20 };
enum { READ_MOST = 256 << 10 }; /* at a time: what a core's own cache holds */
enum { LINE_MOST = 1 << 30, MESSAGE = 1024 };
#define MB 1e6

typedef struct block {
    char *memory, *text; /* text is behind TEXT_PAD bytes of memory */
    size_t capacity;
    size_t held;  /* bytes read into it */
    size_t bytes; /* of them whole lines; the rest moves on to the next block */
    int64_t lines_before, lines;
    bool full; /* filled and not yet parsed */
    bool last;
} block;

struct text_source {
    char path[FILE_PATH_MAX];
    text_stream *stream;
    int threads;
    size_t line_max, block_bytes;
    atomic_llong text_bytes;
    /* shared with the reader, under the lock */
    pthread_mutex_t lock;
    pthread_cond_t changed;
    pthread_t reader;
    bool started, stop, failed;
    block blocks[2];
    weft_status status; /* why the reader failed */
    char message[MESSAGE];
    /* of the caller */
    int current; /* which block */
    bool begun;  /* the first bytes were looked at */
    bool open;   /* it is full and `at` points into it */
    const char *at;
    int64_t line_number;
};

/* ---- the reader's thread ---- */

static weft_status grow(block *b, size_t least)
{
    size_t capacity = 2 * b->capacity > least ? 2 * b->capacity : least;
    WEFT_TRY(weft_realloc((void **)&b->memory, capacity + TEXT_PAD, 1, WEFT_MEM_WORKSPACE));
    b->text = (char *)memset(b->memory, '\n', TEXT_PAD) + TEXT_PAD;
    b->capacity = capacity;
    return WEFT_OK;
}

/* What was read last, while it is in the cache: its lines are counted, and it has no zero bytes. */
static weft_status look_at(const text_source *s, block *b, size_t from)
{
    const char *zero = memchr(b->text + from, '\0', b->held - from);
    const size_t bytes = zero == NULL ? b->held - from : (size_t)(zero - b->text) - from;
    b->lines += text_count_lines(b->text + from, bytes);
    return zero == NULL ? WEFT_OK
                        : weft_fail(WEFT_ERR_DATA, "%s: line %" PRId64 ": a zero byte; expected text", s->path,
                                    b->lines_before + 1 + b->lines);
}

/* Read until the block is full or the file ends. One byte stays free for a missing last '\n', and those that may be
 * read after it. */
static weft_status read_block(text_source *s, block *b)
{
    const size_t room = b->capacity - 1 - TEXT_PAD;
    while (b->held < room) {
        const size_t from = b->held;
        const size_t wanted = room - from < READ_MOST ? room - from : READ_MOST;
        size_t got;
        WEFT_TRY(text_stream_read(s->stream, b->text + from, wanted, &got));
        b->held += got;
        if (!s->begun) {
            s->begun = true;
            WEFT_TRY(foreign_kind_check(s->path, (const uint8_t *)b->text, got));
        }
        if (got == 0) {
            b->last = true;
            if (b->held > 0 && b->text[b->held - 1] != '\n') {
                b->text[b->held++] = '\n';
            }
        }
        WEFT_TRY(look_at(s, b, from));
        if (b->last) {
            return WEFT_OK;
        }
        atomic_fetch_add(&s->text_bytes, (long long)got);
    }
    return WEFT_OK;
}

/* Where the whole lines end; the block grows until it holds one. */
static weft_status find_lines(text_source *s, block *b)
{
    for (;;) {
        WEFT_TRY(read_block(s, b));
        const char *stop = b->held > 0 ? memrchr(b->text, '\n', b->held) : NULL;
        b->bytes = stop == NULL ? 0 : (size_t)(stop - b->text) + 1;
        if (b->bytes > 0 || b->last) {
            return WEFT_OK;
        }
        WEFT_CHECK(b->held < s->line_max, WEFT_ERR_DATA, "%s: line %" PRId64 ": longer than %zu bytes", s->path,
                   b->lines_before + 1, s->line_max);
        WEFT_TRY(grow(b, 0));
    }
}

static weft_status fill(text_source *s, block *b, const block *before)
{
    size_t carried = before->held - before->bytes;
    if (b->capacity < carried + s->block_bytes) {
        WEFT_TRY(grow(b, carried + s->block_bytes));
    }
    if (carried > 0) {
        memcpy(b->text, before->text + before->bytes, carried);
    }
    b->held = carried;
    b->last = false;
    b->lines = 0; /* none in what was carried */
    b->lines_before = before->lines_before + before->lines;
    return find_lines(s, b);
}

static void *read_blocks(void *argument)
{
    text_source *s = argument;
    for (int k = 1;; k ^= 1) { /* block 0 was filled first */
        block *b = &s->blocks[k];
        pthread_mutex_lock(&s->lock);
        while (b->full && !s->stop) {
            pthread_cond_wait(&s->changed, &s->lock);
        }
        bool stop = s->stop;
        pthread_mutex_unlock(&s->lock);
        if (stop) {
            return NULL;
        }
        weft_status status = fill(s, b, &s->blocks[k ^ 1]);
        bool done = status != WEFT_OK || b->last;
        pthread_mutex_lock(&s->lock);
        if (status != WEFT_OK) {
            s->failed = true;
            s->status = status;
            snprintf(s->message, sizeof s->message, "%s", weft_error_message());
        } else {
            b->full = true;
        }
        pthread_cond_broadcast(&s->changed);
        pthread_mutex_unlock(&s->lock);
        if (done) {
            return NULL;
        }
    }
}

/* ---- opening and closing ---- */

static size_t block_bytes(const text_source *s)
{
    const size_t wanted = (size_t)s->threads * BLOCK_PER_THREAD;
    return wanted < BLOCK_LEAST ? BLOCK_LEAST : wanted > BLOCK_MOST ? BLOCK_MOST : wanted;
}

static weft_status start_reader(text_source *s)
{
    s->block_bytes = block_bytes(s);
    WEFT_CHECK(pthread_create(&s->reader, NULL, read_blocks, s) == 0, WEFT_ERR_RESOURCE,
               "%s: no thread can be started to read it", s->path);
    s->started = true;
    return WEFT_OK;
}

weft_status text_source_open(const char *path, size_t line_max, text_source **source)
{
    *source = NULL;
    text_source *s;
    WEFT_TRY(WEFT_NEW_ZERO(&s, 1, WEFT_MEM_GENERAL));
    pthread_mutex_init(&s->lock, NULL); /* neither can fail on Linux with default attributes */
    pthread_cond_init(&s->changed, NULL);
    s->threads = omp_get_max_threads();
    s->line_max = line_max < LINE_MOST ? line_max : LINE_MOST;
    s->block_bytes = BLOCK_FIRST;
    weft_status status;
    WEFT_TRY_GOTO(file_path(s->path, "%s", path), status, done);
    WEFT_TRY_GOTO(text_stream_open(path, &s->stream), status, done);
    *source = s;
    s = NULL;
done:
    text_source_close(s);
    return status;
}

void text_source_close(text_source *s)
{
    if (s == NULL) {
        return;
    }
    if (s->started) {
        pthread_mutex_lock(&s->lock);
        s->stop = true;
        pthread_cond_broadcast(&s->changed);
        pthread_mutex_unlock(&s->lock);
        pthread_join(s->reader, NULL);
    }
    text_stream_close(s->stream);
    WEFT_FREE_ALL(s->blocks[0].memory, s->blocks[1].memory);
    pthread_cond_destroy(&s->changed);
    pthread_mutex_destroy(&s->lock);
    weft_free(s);
}

/* ---- blocks, as the caller sees them ---- */

/* The first block, without a reader. */
static weft_status open_first(text_source *s)
{
    block *b = &s->blocks[0];
    WEFT_TRY(fill(s, b, &s->blocks[1]));
    b->full = true;
    s->open = true;
    s->at = b->text + (b->bytes >= TEXT_MARK ? text_mark(b->text) : 0);
    return WEFT_OK;
}

/* Wait for the block after the current one; *end when there is none. */
static weft_status next_block(text_source *s, bool *end)
{
    *end = s->open && s->blocks[s->current].last;
    if (*end) {
        return WEFT_OK;
    }
    if (!s->open && !s->started) {
        return open_first(s);
    }
    if (!s->started) {
        WEFT_TRY(start_reader(s));
    }
    pthread_mutex_lock(&s->lock);
    s->blocks[s->current].full = false;
    s->current ^= 1;
    pthread_cond_broadcast(&s->changed);
    while (!s->blocks[s->current].full && !s->failed) {
        pthread_cond_wait(&s->changed, &s->lock);
    }
    bool full = s->blocks[s->current].full;
    pthread_mutex_unlock(&s->lock);
    s->open = full;
    if (!full) {
        return weft_fail(s->status, "%s", s->message);
    }
    s->at = s->blocks[s->current].text;
    return WEFT_OK;
}

static const char *block_end(const text_source *s)
{
    const block *b = &s->blocks[s->current];
    return b->text + b->bytes;
}

/* The next block with lines in it, unless the current one has some left. */
static weft_status need_lines(text_source *s, bool *end)
{
    *end = false;
    while (!*end && (!s->open || s->at == block_end(s))) {
        WEFT_TRY(next_block(s, end));
    }
    return WEFT_OK;
}

weft_status text_source_line(text_source *s, char *line, size_t capacity, bool *end)
{
    WEFT_TRY(need_lines(s, end));
    if (*end) {
        return WEFT_OK;
    }
    const char *stop = text_next_line(s->at, block_end(s)) - 1;
    size_t length = (size_t)(stop - s->at);
    length -= length > 0 && s->at[length - 1] == '\r';
    s->line_number++;
    WEFT_CHECK(length < capacity, WEFT_ERR_DATA, "%s: line %" PRId64 ": %zu bytes; at most %zu are expected here",
               s->path, s->line_number, length, capacity - 1);
    memcpy(line, s->at, length);
    line[length] = '\0';
    s->at = stop + 1;
    return WEFT_OK;
}

int64_t text_source_line_number(const text_source *s)
{
    return s->line_number;
}

weft_status text_source_skip(text_source *s, int64_t lines)
{
    for (bool end = false; lines > 0; lines--) {
        WEFT_TRY(need_lines(s, &end));
        if (end) {
            return WEFT_OK;
        }
        s->at = text_next_line(s->at, block_end(s));
        s->line_number++;
    }
    return WEFT_OK;
}

/* ---- parsing ---- */

bool text_next_row(const text_piece *piece, const char **at)
{
    const text_parser *parser = piece->parser;
    while (*at < piece->end) {
        const char *first = text_skip_blanks(*at);
        bool blank = text_at_end(first);
        if (blank ? parser->blank_is_row : memchr(parser->comments, *first, strlen(parser->comments)) == NULL) {
            *at = first;
            return true;
        }
        *at = text_next_line(first, piece->end);
    }
    return false;
}

static int64_t count_rows(const text_piece *piece)
{
    int64_t rows = 0;
    const char *at = piece->text;
    while (text_next_row(piece, &at)) {
        rows++;
        at = text_next_line(at, piece->end);
    }
    return rows;
}

/* Cut what is left of the block into a piece for each thread, at line ends. */
static void cut(const text_source *s, const text_parser *parser, text_piece *pieces)
{
    const char *end = block_end(s);
    size_t bytes = (size_t)(end - s->at);
    const char *from = s->at;
    for (int t = 0; t < s->threads; t++) {
        const char *goal = s->at + bytes * (size_t)(t + 1) / (size_t)s->threads;
        const char *to = t == s->threads - 1 ? end : goal > from ? text_next_line(goal - 1, end) : from;
        pieces[t] = (text_piece){.parser = parser, .text = from, .end = to, .thread = t};
        from = to;
    }
}

static weft_status number_rows(const text_source *s, const text_parser *parser, text_piece *pieces, int64_t *rows)
{
#pragma omp parallel for schedule(static) num_threads(s->threads)
    for (int t = 0; t < s->threads; t++) {
        pieces[t].rows = count_rows(&pieces[t]);
    }
    for (int t = 0; t < s->threads; t++) {
        pieces[t].row = *rows;
        *rows += pieces[t].rows;
    }
    return parser->reserve != NULL ? parser->reserve(parser->self, *rows) : WEFT_OK;
}

static weft_status fail_at(const text_source *s, const text_piece *piece)
{
    if (piece->status != WEFT_OK) {
        return weft_fail(piece->status, "%s", piece->reason);
    }
    const block *b = &s->blocks[s->current];
    int64_t line = b->lines_before + 1 + text_count_lines(b->text, (size_t)(piece->at - b->text));
    return weft_fail(WEFT_ERR_DATA, "%s: line %" PRId64 ": %s", s->path, line, piece->reason);
}

static weft_status parse_block(const text_source *s, const text_parser *parser, text_piece *pieces, int64_t *rows)
{
    cut(s, parser, pieces);
    if (parser->count_rows) {
        WEFT_TRY(number_rows(s, parser, pieces, rows));
    }
    int first = s->threads;
#pragma omp parallel for schedule(static) num_threads(s->threads) reduction(min : first)
    for (int t = 0; t < s->threads; t++) {
        if (!parser->parse(parser->self, &pieces[t]) && t < first) {
            first = t;
        }
    }
    return first < s->threads ? fail_at(s, &pieces[first]) : WEFT_OK;
}

typedef struct teller {
    const text_source *source;
    const text_parser *parser;
    log_progress progress;
} teller;

static void tell_progress(void *self)
{
    teller *t = self;
    const text_source *s = t->source;
    if (t->parser->counted != NULL) {
        t->progress.count = (double)t->parser->counted(t->parser->self);
    }
    const int64_t done = text_stream_plain(s->stream) ? atomic_load(&s->text_bytes) : text_stream_consumed(s->stream);
    log_progress_update(&t->progress, (double)done / MB);
}

static weft_status parse_blocks(text_source *s, const text_parser *parser, teller *t, int64_t *rows)
{
    text_piece *pieces;
    WEFT_TRY(WEFT_NEW(&pieces, s->threads, WEFT_MEM_WORKSPACE));
    weft_status status = WEFT_OK;
    for (bool end = false; status == WEFT_OK;) {
        status = need_lines(s, &end);
        if (status != WEFT_OK || end) {
            break;
        }
        status = parse_block(s, parser, pieces, rows);
        s->at = block_end(s);
        tell_progress(t);
    }
    weft_free(pieces);
    return status;
}

/* All that follows what was looked at in the first block. */
static weft_status parse_ranges(text_source *s, const text_parser *parser, teller *t)
{
    block *b = &s->blocks[0];
    const text_ranges ranges = {.path = s->path,
                                .stream = s->stream,
                                .parser = parser,
                                .threads = s->threads,
                                .line_max = s->line_max,
                                .begin = s->at - b->text,
                                .text_bytes = &s->text_bytes,
                                .tell = tell_progress,
                                .self = t};
    atomic_store(&s->text_bytes, ranges.begin);
    s->at = block_end(s);
    b->last = true;
    return text_ranges_parse(&ranges);
}

weft_status text_source_parse(text_source *s, const text_parser *parser, int64_t *rows)
{
    int64_t seen = 0;
    bool end = false;
    teller t = {.source = s,
                .parser = parser,
                .progress = log_progress_begin("read", "MB", (double)text_stream_size(s->stream) / MB)};
    t.progress.counted = parser->counted != NULL ? parser->unit : NULL;
    WEFT_TRY(need_lines(s, &end));
    /* Files without a size (of /proc) and those that shrink are read until they end. */
    const bool ranges = !end && !parser->count_rows && text_stream_plain(s->stream) && !s->started &&
                        !s->blocks[0].last && text_stream_size(s->stream) > (int64_t)s->blocks[0].held;
    WEFT_TRY(ranges ? parse_ranges(s, parser, &t) : parse_blocks(s, parser, &t, &seen));
    log_progress_end(&t.progress);
    if (rows != NULL) {
        *rows = seen;
    }
    return WEFT_OK;
}

int text_source_threads(const text_source *s)
{
    return s->threads;
}

int64_t text_source_text_bytes(const text_source *s)
{
    return atomic_load(&s->text_bytes);
}
