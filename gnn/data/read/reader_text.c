/* gnn/data/read/reader_text.c: see gnn/data/read/reader_parts.h. */
#include "gnn/data/read/reader_parts.h"

#include <inttypes.h>

#include "base/clock.h"
#include "base/log.h"
#include "gnn/data/build/arcs.h"

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
