/*
 * gnn/data/build/csr_build.c: see gnn/data/build/csr_build.h.
 *
 *   count    entries of each bucket (a block of consecutive destinations), each thread for itself
 *   scatter  the entries of a range of buckets, as pairs, each to its bucket: a few hundred sequential streams
 *   rows     bucket by bucket, in cache: row lengths, ids to their rows, rows sorted, duplicates removed
 *   gather   the ids of the buckets moved together, or written to the file
 *
 * No atomic operation and no random access beyond a bucket. Threads share spans when they count and scatter, and
 * buckets, by entries, when they make rows. Memory of a range: 8 bytes an entry, and 4 for the entries of the buckets
 * in work.
 */
#include "gnn/data/build/csr_build.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <omp.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/failure/failure.h"
#include "base/file.h"
#include "base/log.h"
#include "base/sort.h"
#include "gnn/data/convert_options.def"
#include "graph/graph.h"
#include "io/store/store_options.def"

/* BUCKETS streams of a cache line each fit the second-level cache; BUCKET_WIDTH counters as well. */
enum { BUCKETS = 1024, BUCKETS_MOST = 8192, BUCKET_WIDTH = 32768, NAME_TRIES = 100 };

typedef struct pair {
    int32_t to, from;
} pair;

typedef struct builder {
    const csr_input *input;
    int shift;       /* bucket of v = v >> shift */
    int64_t buckets; /* and how many there are */
    int64_t *count;  /* [threads, buckets] entries that thread t's spans put into bucket b; cursors when scattering */
    int64_t *total;  /* [buckets] */
    int64_t *kept;   /* [buckets] after removal of duplicates */
    int64_t *start;  /* [buckets + 1] first pair of a bucket within the range */
    int64_t *offset; /* [vertices + 1] row lengths in offset[v + 1] until the end */
    pair *pairs;
    int64_t first, end; /* the range: buckets first .. end - 1 */
    int fd;
    int64_t written; /* entries in the file */
    log_progress progress;
    double behind, ahead; /* of the pass in work: what was done before it, what it adds */
    first_failure failure;
} builder;

/* ---- unlinked files ---- */

weft_status csr_scratch_file(const char *path, int *fd)
{
    char name[FILE_PATH_MAX];
    for (int i = 0;; i++) {
        WEFT_TRY(file_temporary_name(path, name));
        *fd = open(name, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
        if (*fd >= 0) {
            break;
        }
        if (errno != EEXIST || i == NAME_TRIES) {
            return file_fail_output(errno, path);
        }
    }
    if (unlink(name) != 0) {
        weft_status status = weft_fail_errno(errno, name);
        close(*fd);
        *fd = -1;
        return status;
    }
    return WEFT_OK;
}

weft_status csr_scratch_write(int fd, const char *beside, const void *data, size_t bytes, int64_t offset)
{
    const char *at = data;
    while (bytes > 0) {
        ssize_t n = pwrite(fd, at, bytes, offset);
        if (n < 0 && errno == EINTR) {
            continue;
        }
        if (n <= 0) {
            char what[FILE_PATH_MAX + 64];
            snprintf(what, sizeof what, "temporary file in the folder of %s", beside);
            return weft_fail_errno(n < 0 ? errno : ENOSPC, what);
        }
        at += n;
        bytes -= (size_t)n;
        offset += n;
    }
    return WEFT_OK;
}

/* ---- passes over the edges ---- */

/* The calling thread has done this share of its part of the pass; the others are taken to be as far. */
static void tell(builder *b, int64_t done, int64_t of)
{
    log_progress_update(&b->progress, b->behind + b->ahead * (double)done / (double)of);
}

/* A pass begins: it adds `ahead` to what is done. */
static void begin_pass(builder *b, double ahead)
{
    b->behind += b->ahead;
    b->ahead = ahead;
}

typedef void (*span_visitor)(builder *b, const csr_span *span, int64_t *cells);

/* Every span once; the same spans for the same thread each time. */
static weft_status visit_spans(builder *b, span_visitor visit)
{
    const csr_input *input = b->input;
    assert(input->threads >= 1 && input->spans >= 0);
#pragma omp parallel for schedule(static) num_threads(input->threads)
    for (int t = 0; t < input->threads; t++) {
        int64_t begin = input->spans * t / input->threads;
        int64_t end = input->spans * (t + 1) / input->threads;
        for (int64_t i = begin; i < end; i++) {
            csr_span span;
            weft_status status = input->span(input->self, i, t, &span);
            if (status != WEFT_OK) {
                first_failure_note(&b->failure, t, status);
                break;
            }
            visit(b, &span, b->count + t * b->buckets);
            if (t == 0) {
                tell(b, i + 1, end);
            }
        }
    }
    return first_failure_tell(&b->failure);
}

static void count_span(builder *b, const csr_span *span, int64_t *count)
{
    const bool reverse = b->input->add_reverse, loops = b->input->keep_self_loops;
    for (int64_t i = 0; i < span->count; i++) {
        int32_t u = span->from[i * span->stride], v = span->to[i * span->stride];
        assert(u >= 0 && u < b->input->vertices && v >= 0 && v < b->input->vertices);
        count[v >> b->shift] += u != v || loops;
        if (reverse) {
            count[u >> b->shift] += u != v;
        }
    }
}

static void scatter_span(builder *b, const csr_span *span, int64_t *cursor)
{
    const bool reverse = b->input->add_reverse, loops = b->input->keep_self_loops;
    const int64_t first = b->first;
    const uint64_t width = (uint64_t)(b->end - b->first);
    for (int64_t i = 0; i < span->count; i++) {
        int32_t u = span->from[i * span->stride], v = span->to[i * span->stride];
        int64_t bucket = v >> b->shift;
        if ((u != v || loops) && (uint64_t)(bucket - first) < width) {
            assert(cursor[bucket] < b->start[bucket + 1]);
            b->pairs[cursor[bucket]++] = (pair){.to = v, .from = u};
        }
        bucket = u >> b->shift;
        if (reverse && u != v && (uint64_t)(bucket - first) < width) {
            assert(cursor[bucket] < b->start[bucket + 1]);
            b->pairs[cursor[bucket]++] = (pair){.to = u, .from = v};
        }
    }
}

/* ---- a range ---- */

/* Bytes that buckets first .. end - 1 need: all pairs, and the ids of the buckets that are in work at a time. */
static int64_t range_bytes(const builder *b, int64_t entries, int64_t largest)
{
    int64_t in_work = largest > entries / b->input->threads ? entries : largest * b->input->threads;
    return entries * (int64_t)sizeof(pair) + in_work * (int64_t)sizeof(int32_t);
}

/* As many buckets as fit from b->first on. */
static weft_status choose_range(builder *b)
{
    int64_t entries = 0, largest = 0;
    b->end = b->first;
    while (b->end < b->buckets) {
        int64_t more = entries + b->total[b->end];
        int64_t most = b->total[b->end] > largest ? b->total[b->end] : largest;
        int64_t need = range_bytes(b, more, most);
        if (need > b->input->limit_bytes) {
            WEFT_CHECK(b->end > b->first, WEFT_ERR_RESOURCE,
                       "the %" PRId64 " edges into vertices %" PRId64 " to %" PRId64 " need %" PRId64
                       " bytes at once, and " FLAG_MEMORY " leaves %" PRId64 ": give it more",
                       more, b->first << b->shift, ((b->first + 1) << b->shift) - 1, need, b->input->limit_bytes);
            break;
        }
        entries = more;
        largest = most;
        b->end++;
    }
    return WEFT_OK;
}

/* Where each thread's entries of each bucket go: buckets in order, in each the threads in order. The counts of the
 * range's buckets become cursors; they are not needed again. */
static void place_buckets(builder *b)
{
    int64_t at = 0;
    for (int64_t bucket = b->first; bucket < b->end; bucket++) {
        b->start[bucket] = at;
        for (int t = 0; t < b->input->threads; t++) {
            int64_t *cell = &b->count[t * b->buckets + bucket], count = *cell;
            *cell = at;
            at += count;
        }
    }
    assert(b->end > b->first);
    b->start[b->end] = at;
}

/* Rows of one bucket: its ids end up at the start of its pairs. */
static void finish_bucket(builder *b, int64_t bucket, int64_t *cursor, int32_t *ids)
{
    const int64_t vertices = b->input->vertices;
    pair *pairs = b->pairs + b->start[bucket];
    int64_t count = b->start[bucket + 1] - b->start[bucket], row = bucket << b->shift;
    int64_t rows = ((bucket + 1) << b->shift) < vertices ? INT64_C(1) << b->shift : vertices - row;
    memset(cursor, 0, (size_t)(rows + 1) * sizeof *cursor);
    for (int64_t i = 0; i < count; i++) {
        assert(pairs[i].to >= row && pairs[i].to < row + rows);
        cursor[pairs[i].to - row + 1]++;
    }
    for (int64_t v = 0; v < rows; v++) {
        cursor[v + 1] += cursor[v];
    }
    for (int64_t i = 0; i < count; i++) {
        ids[cursor[pairs[i].to - row]++] = pairs[i].from;
    }
    assert(rows == 0 || cursor[rows - 1] == count);
    int32_t *out = (int32_t *)(void *)pairs;
    int64_t kept = 0;
    for (int64_t v = 0; v < rows; v++) {
        int64_t begin = v == 0 ? 0 : cursor[v - 1]; /* filling moved each cursor to the end of its row */
        int64_t length = sort_distinct(ids + begin, cursor[v] - begin, vertices);
        memcpy(out + kept, ids + begin, (size_t)length * sizeof *ids);
        b->offset[row + v + 1] = length;
        kept += length;
    }
    b->kept[bucket] = kept;
}

/* The first bucket of thread t's share, by entries. */
static int64_t share_start(const builder *b, int t)
{
    assert(t >= 0 && t <= b->input->threads);
    int64_t goal = b->start[b->end] / b->input->threads * t, bucket = b->first;
    while (t > 0 && bucket < b->end && b->start[bucket] < goal) {
        bucket++;
    }
    return t == b->input->threads ? b->end : bucket;
}

static weft_status finish_share(builder *b, int t)
{
    const int64_t begin = share_start(b, t), end = share_start(b, t + 1);
    int64_t largest = 0;
    for (int64_t bucket = begin; bucket < end; bucket++) {
        int64_t count = b->start[bucket + 1] - b->start[bucket];
        largest = count > largest ? count : largest;
    }
    int64_t *cursor = NULL;
    int32_t *ids = NULL;
    weft_status status;
    WEFT_TRY_GOTO(WEFT_NEW(&cursor, (INT64_C(1) << b->shift) + 1, WEFT_MEM_WORKSPACE), status, done);
    WEFT_TRY_GOTO(WEFT_NEW(&ids, largest > 0 ? largest : 1, WEFT_MEM_WORKSPACE), status, done);
    for (int64_t bucket = begin; bucket < end; bucket++) {
        finish_bucket(b, bucket, cursor, ids);
        if (t == 0) {
            tell(b, bucket - begin + 1, end - begin);
        }
    }
done:
    WEFT_FREE_ALL(cursor, ids);
    return status;
}

static weft_status finish_buckets(builder *b)
{
    const int threads = b->input->threads;
#pragma omp parallel for schedule(static) num_threads(threads)
    for (int t = 0; t < threads; t++) {
        first_failure_note(&b->failure, t, finish_share(b, t));
    }
    return first_failure_tell(&b->failure);
}

/* Buckets' ids moved to the front of the pairs, in order. */
static int64_t gather_in_memory(const builder *b)
{
    int32_t *out = (int32_t *)(void *)b->pairs;
    int64_t entries = 0;
    for (int64_t bucket = b->first; bucket < b->end; bucket++) {
        assert(b->kept[bucket] <= b->start[bucket + 1] - b->start[bucket]);
        memmove(out + entries, b->pairs + b->start[bucket], (size_t)b->kept[bucket] * sizeof *out);
        entries += b->kept[bucket];
    }
    return entries;
}

static weft_status make_range(builder *b)
{
    place_buckets(b);
    WEFT_TRY(WEFT_NEW(&b->pairs, b->start[b->end] > 0 ? b->start[b->end] : 1, WEFT_MEM_GRAPH));
    begin_pass(b, (double)b->start[b->end] / 2);
    WEFT_TRY(visit_spans(b, scatter_span));
    begin_pass(b, (double)b->start[b->end] / 2);
    return finish_buckets(b);
}

/* All ranges but a single one go through the file. */
static weft_status write_range(builder *b)
{
    int64_t entries = gather_in_memory(b);
    WEFT_TRY(csr_scratch_write(b->fd, b->input->beside, b->pairs, (size_t)entries * sizeof(int32_t),
                               b->written * (int64_t)sizeof(int32_t)));
    b->written += entries;
    weft_free(b->pairs);
    b->pairs = NULL;
    return WEFT_OK;
}

/* ---- all of it ---- */

static weft_status map_file(const builder *b, csr_graph *graph)
{
    char name[FILE_PATH_MAX];
    graph->entries = b->written;
    WEFT_TRY(file_path(name, "%s (temporary file of sorted edges)", b->input->beside));
    WEFT_TRY(file_map_descriptor(b->fd, (size_t)b->written * sizeof(int32_t), name, &graph->map));
    graph->source = (const int32_t *)(const void *)graph->map.data;
    return WEFT_OK;
}

static weft_status make_ranges(builder *b, csr_graph *graph)
{
    int64_t entries = 0;
    for (int64_t bucket = 0; bucket < b->buckets; bucket++) {
        entries += b->total[bucket];
    }
    b->progress = log_progress_begin("sort edges", "edges", (double)entries);
    b->behind = 0;
    b->ahead = 0;
    for (b->first = 0; b->first < b->buckets; b->first = b->end) {
        WEFT_TRY(choose_range(b));
        bool single = b->first == 0 && b->end == b->buckets;
        if (!single && b->fd < 0) {
            WEFT_TRY(csr_scratch_file(b->input->beside, &b->fd));
        }
        WEFT_TRY(make_range(b));
        graph->ranges++;
        if (single) {
            graph->entries = gather_in_memory(b);
            graph->memory = (int32_t *)(void *)b->pairs;
            graph->source = graph->memory;
            b->pairs = NULL;
        } else {
            WEFT_TRY(write_range(b));
        }
    }
    log_progress_end(&b->progress);
    return b->fd >= 0 ? map_file(b, graph) : WEFT_OK;
}

static weft_status prepare(builder *b)
{
    const int64_t vertices = b->input->vertices;
    int64_t most = vertices / BUCKET_WIDTH > BUCKETS ? vertices / BUCKET_WIDTH : BUCKETS;
    most = most > BUCKETS_MOST ? BUCKETS_MOST : most;
    while (((vertices - 1) >> b->shift) + 1 > most) {
        b->shift++;
    }
    b->buckets = ((vertices - 1) >> b->shift) + 1;
    WEFT_TRY(WEFT_NEW_ZERO(&b->count, b->input->threads * b->buckets, WEFT_MEM_WORKSPACE));
    WEFT_TRY(WEFT_NEW_ZERO(&b->total, b->buckets, WEFT_MEM_WORKSPACE));
    WEFT_TRY(WEFT_NEW_ZERO(&b->kept, b->buckets, WEFT_MEM_WORKSPACE));
    WEFT_TRY(WEFT_NEW_ZERO(&b->start, b->buckets + 1, WEFT_MEM_WORKSPACE));
    WEFT_TRY(WEFT_NEW_ZERO(&b->offset, vertices + 1, WEFT_MEM_GRAPH));
    b->progress = log_progress_begin("count edges", "edges", (double)b->input->edges);
    begin_pass(b, (double)b->input->edges);
    WEFT_TRY(visit_spans(b, count_span));
    log_progress_end(&b->progress);
    for (int t = 0; t < b->input->threads; t++) {
        for (int64_t bucket = 0; bucket < b->buckets; bucket++) {
            b->total[bucket] += b->count[t * b->buckets + bucket];
        }
    }
    return WEFT_OK;
}

weft_status csr_build(const csr_input *input, csr_graph *graph)
{
    *graph = (csr_graph){.vertices = input->vertices};
    WEFT_CHECK(input->vertices >= 1 && input->vertices <= INT32_MAX, WEFT_ERR_UNSUPPORTED,
               "%" PRId64 " vertices; 1 to 2147483647 are supported", input->vertices);
    builder b = {.input = input, .fd = -1};
    weft_status status;
    WEFT_TRY_GOTO(prepare(&b), status, done);
    WEFT_TRY_GOTO(make_ranges(&b, graph), status, done);
    for (int64_t v = 0; v < input->vertices; v++) {
        b.offset[v + 1] += b.offset[v];
    }
    graph->offset = b.offset;
    b.offset = NULL;
done:
    if (b.fd >= 0) {
        close(b.fd); /* a mapping keeps the file */
    }
    WEFT_FREE_ALL(b.count, b.total, b.kept, b.start, b.offset, b.pairs);
    if (status != WEFT_OK) {
        csr_graph_free(graph);
    }
    return status;
}

void csr_graph_free(csr_graph *graph)
{
    file_map_close(&graph->map);
    WEFT_FREE_ALL(graph->memory, graph->offset);
    *graph = (csr_graph){.vertices = 0};
}
