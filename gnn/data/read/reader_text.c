/* gnn/data/read/reader_text.c: see gnn/data/read/reader_text.h. */
#include "gnn/data/read/reader_text.h"

#include <inttypes.h>
#include <string.h>

#include "base/clock.h"
#include "base/log.h"
#include "gnn/data/build/arcs.h"
#include "io/text/text_stream.h"

static bool is_text(const char *bytes, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        unsigned char c = (unsigned char)bytes[i];
        if (c == 127 || (c < 32 && c != '\n' && c != '\r' && c != '\t')) {
            return false;
        }
    }
    return count > 0;
}

weft_status reader_text_head(const char *path, char head[TEXT_HEAD])
{
    text_stream *stream = NULL;
    size_t held = 0;
    weft_status status = text_stream_open(path, &stream);
    for (size_t got = 1; status == WEFT_OK && got > 0 && held < TEXT_HEAD - 1; held += got) {
        status = text_stream_read(stream, head + held, TEXT_HEAD - 1 - held, &got);
        got = status == WEFT_OK ? got : 0;
    }
    text_stream_close(stream);
    size_t mark = held >= TEXT_MARK ? text_mark(head) : 0;
    const char *zero = memchr(head, '\0', held);
    const bool text = is_text(head, zero != NULL ? (size_t)(zero - head) : held);
    held = text ? held - mark : 0;
    memmove(head, head + mark, held);
    head[held] = '\0';
    return status;
}

bool reader_name_ends(const char *path, const char *ending)
{
    size_t length = strlen(path);
    if (length > 3 && (strcmp(path + length - 3, ".gz") == 0 || strcmp(path + length - 3, ".xz") == 0)) {
        length -= 3;
    }
    size_t tail = strlen(ending);
    return length > tail && strncmp(path + length - tail, ending, tail) == 0;
}

static void log_rate(const char *path, const text_source *source, const raw_graph *raw, double seconds)
{
    double megabytes = (double)text_source_text_bytes(source) / 1e6;
    int64_t edges = arcs_count(raw->arcs);
    log_info("%s: read %" PRId64 " edges, %.3g MB of text in %.3g s: %.3g MB/s, %.3g edges/s%s", path, edges, megabytes,
             seconds, megabytes / seconds, (double)edges / seconds,
             arcs_spilled(raw->arcs) ? ", by way of a temporary file" : "");
}

weft_status reader_text_read(const char *path, size_t line_max,
                             weft_status (*parse)(const char *path, text_source *source, raw_graph *raw),
                             raw_graph *raw)
{
    text_source *source;
    double began = clock_seconds();
    if (raw->memory_bytes > 0 && (uint64_t)raw->memory_bytes / 2 < line_max) {
        line_max = (size_t)raw->memory_bytes / 2; /* the text of one line is held twice while it grows */
    }
    WEFT_TRY(text_source_open(path, line_max, &source));
    weft_status status;
    WEFT_TRY_GOTO(arcs_create(raw->memory_bytes, raw->beside, text_source_threads(source), &raw->arcs), status, done);
    WEFT_TRY_GOTO(parse(path, source, raw), status, done);
    log_rate(path, source, raw, clock_seconds() - began);
done:
    text_source_close(source);
    return status;
}
