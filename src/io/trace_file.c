/*
 * io/trace_file.c: see io/trace_file.h.
 *
 * The viewers draw a thread's spans as a stack and misplace those that overlap without nesting, which operations under
 * way together do. The writer therefore deals each thread's spans, by begin, onto rows:
 *
 *      row 0   [------ all-reduce of bucket 1 ------]   [- wait -]
 *      row 1            [----- all-reduce of bucket 2 -----]
 */
#include "io/trace_file.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/file.h"
#include "base/trace/trace_ring.h"
#include "io/json.h"

enum { ROWS = 16, ROW_DEPTH = 32, ROW_NAME_BYTES = 64 };

/* ---- rows --------------------------------------------------------------------------------------------------- */
typedef struct trace_row {
    double end[ROW_DEPTH + 1]; /* of the spans that are open, the innermost last; under them one without end */
    unsigned depth;
    bool used;
} trace_row;

/* By begin; of two that begin together the longer one is outside. */
static int compare_spans(const void *a, const void *b)
{
    const trace_span *x = a, *y = b;
    if (x->begin != y->begin) {
        return x->begin < y->begin ? -1 : 1;
    }
    return (x->end < y->end) - (x->end > y->end);
}

/* The first row on which the span nests; the last one takes what fits nowhere. */
static int choose_row(trace_row *row, const trace_span *span)
{
    int r = 0;
    for (; r < ROWS - 1; ++r) {
        row[r].end[0] = HUGE_VAL;
        while (row[r].end[row[r].depth] <= span->begin) {
            --row[r].depth;
        }
        if (row[r].end[row[r].depth] >= span->end && row[r].depth < ROW_DEPTH) {
            row[r].end[++row[r].depth] = span->end;
            break;
        }
    }
    row[r].used = true;
    return r;
}

/* ---- the file ----------------------------------------------------------------------------------------------- */
static const char *category_name(trace_category category)
{
    static const char *const names[] = {"step", "compute", "comm", "intra", "inter", "sync"};
    return names[category];
}

/* Microseconds with three decimals, so that equal times stay equal. */
static double microseconds(double seconds)
{
    return round(seconds * 1e9) / 1e3;
}

static void write_span(json_writer *json, int rank, int row, const trace_span *span)
{
    double begin = microseconds(span->begin);
    json_object(json, NULL);
    json_text(json, "name", span->name);
    json_text(json, "cat", category_name(span->category));
    json_text(json, "ph", "X");
    json_real(json, "ts", begin);
    json_real(json, "dur", round((microseconds(span->end) - begin) * 1e3) / 1e3);
    json_int(json, "pid", rank);
    json_int(json, "tid", row);
    if (span->bytes >= 0) {
        json_object(json, "args");
        json_int(json, "bytes", span->bytes);
        json_end(json);
    }
    json_end(json);
}

/* A "metadata" event: the name of a process or of a row. */
static void write_name(json_writer *json, const char *what, int rank, int row, const char *name)
{
    json_object(json, NULL);
    json_text(json, "name", what);
    json_text(json, "ph", "M");
    json_int(json, "pid", rank);
    json_int(json, "tid", row);
    json_object(json, "args");
    json_text(json, "name", name);
    json_end(json);
    json_end(json);
}

static weft_status write_ring(json_writer *json, int rank, double since, trace_ring *ring, uint64_t *forgotten)
{
    trace_row row[ROWS] = {{.depth = 0}};
    uint64_t recorded = atomic_load_explicit(&ring->recorded, memory_order_acquire);
    uint64_t count = recorded < ring->capacity ? recorded : ring->capacity;
    trace_span *span = NULL;
    uint64_t chosen = 0;
    *forgotten += recorded - count;
    WEFT_TRY(WEFT_NEW(&span, count, WEFT_MEM_GENERAL));
    for (uint64_t i = 0; i < count; ++i) {
        if (ring->span[i].begin >= since) {
            span[chosen++] = ring->span[i];
        }
    }
    if (chosen > 0) {
        qsort(span, (size_t)chosen, sizeof *span, compare_spans);
    }
    for (uint64_t i = 0; i < chosen; ++i) {
        write_span(json, rank, ring->number * ROWS + choose_row(row, &span[i]), &span[i]);
    }
    const char *thread = atomic_load(&ring->thread);
    for (int r = 0; r < ROWS; ++r) {
        char name[ROW_NAME_BYTES];
        if (row[r].used) {
            snprintf(name, sizeof name, r == 0 ? "%s" : "%s, under way together", thread != NULL ? thread : "thread");
            write_name(json, "thread_name", rank, ring->number * ROWS + r, name);
        }
    }
    weft_free(span);
    return WEFT_OK;
}

static double wall_minus_trace(void)
{
    struct timespec t;
    clock_gettime(CLOCK_REALTIME, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec - clock_seconds();
}

static weft_status write_events(FILE *out, int rank, double since)
{
    uint64_t forgotten = trace_lost();
    char name[ROW_NAME_BYTES];
    json_writer json = json_begin(out, false);
    json_object(&json, NULL);
    json_text(&json, "displayTimeUnit", "ms");
    json_array(&json, "traceEvents");
    snprintf(name, sizeof name, "rank %d", rank);
    write_name(&json, "process_name", rank, 0, name);
    for (trace_ring *ring = trace_rings(); ring != NULL; ring = ring->next) {
        WEFT_TRY(write_ring(&json, rank, since, ring, &forgotten));
    }
    json_end(&json);
    json_object(&json, "otherData");
    json_int(&json, "rank", rank);
    json_real(&json, "wall_minus_trace_s", wall_minus_trace());
    json_int(&json, "forgotten", (int64_t)forgotten);
    json_end(&json);
    json_end(&json);
    json_line_end(&json);
    return WEFT_OK;
}

weft_status trace_write(const char *path, int rank, double since)
{
    weft_status status = WEFT_OK;
    file_writer writer;
    WEFT_CHECK(trace_on(), WEFT_ERR_INTERNAL, "%s: no trace is open", path);
    WEFT_TRY(file_writer_open(path, &writer));
    WEFT_TRY_GOTO(write_events(writer.stream, rank, since), status, done);
    return file_writer_commit(&writer);
done:
    file_writer_discard(&writer);
    return status;
}
