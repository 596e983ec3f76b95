/*
 * gnn/data/build/arcs.c: see gnn/data/build/arcs.h.
 *
 * A writer fills its chunk without a lock; a full chunk goes to the list, or to the file once the list has its half of
 * the limit. If the list then leaves too little for sorting, it follows into the file.
 */
#include "gnn/data/build/arcs.h"

#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <omp.h>
#include <pthread.h>
#include <stdatomic.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/file.h"
#include "base/isa.h"
#include "base/log.h"
#include "gnn/data/build/pairs_look.h"
#include "gnn/data/convert_options.def"
#include "graph/graph.h"
#include "io/store/store_options.def"
#include "machine/placement.h"

/* Edges in a chunk, by the limit; and what is sorted or read back at a time. */
enum { CHUNK_LEAST = 64, CHUNK_MOST = 1 << 20, CHUNK_SHARE = 32, SPAN_MOST = 65536, PAIR = 8, LOOK_MOST = 1 << 20 };

typedef struct writer {
    int32_t *chunk; /* [2 * chunk_edges], or NULL */
    int64_t used, loops;
    atomic_llong count; /* read for progress lines */
    int32_t smallest, largest;
    char apart[64]; /* keeps writers off each other's cache lines */
} writer;

typedef struct chunk {
    int32_t *pairs;
    int64_t count;
} chunk;

struct arcs {
    char beside[FILE_PATH_MAX];
    int64_t limit, chunk_edges, span_edges;
    int writers;
    writer *writer;
    pthread_mutex_t lock; /* of what follows */
    chunk *chunks;
    int64_t chunk_count, chunk_capacity;
    int fd;
    int64_t spilled;   /* edges in the file */
    int threads;       /* that sort */
    int32_t **buffers; /* [threads] of spans read back */
};

weft_status arcs_create(int64_t memory_bytes, const char *beside, int writers, arcs **out)
{
    *out = NULL;
    arcs *a;
    WEFT_TRY(WEFT_NEW_ZERO(&a, 1, WEFT_MEM_GENERAL));
    a->fd = -1;
    a->writers = writers;
    a->threads = omp_get_max_threads();
    pthread_mutex_init(&a->lock, NULL); /* cannot fail on Linux with default attributes */
    uint64_t available = placement_memory_available();
    a->limit = memory_bytes > 0 ? memory_bytes : (int64_t)((available > INT64_MAX ? INT64_MAX : available) / 2);
    a->chunk_edges = a->limit / CHUNK_SHARE / PAIR / writers;
    a->chunk_edges = a->chunk_edges < CHUNK_LEAST  ? CHUNK_LEAST
                     : a->chunk_edges > CHUNK_MOST ? CHUNK_MOST
                                                   : a->chunk_edges;
    a->span_edges = a->chunk_edges < SPAN_MOST ? a->chunk_edges : SPAN_MOST;
    weft_status status;
    WEFT_TRY_GOTO(file_path(a->beside, "%s", beside), status, done);
    WEFT_TRY_GOTO(WEFT_NEW_ZERO(&a->writer, writers, WEFT_MEM_GENERAL), status, done);
    for (int w = 0; w < writers; w++) {
        a->writer[w].smallest = INT32_MAX;
        a->writer[w].largest = -1;
    }
    *out = a;
    a = NULL;
done:
    arcs_free(a);
    return status;
}

static void free_chunks(arcs *a)
{
    for (int64_t i = 0; i < a->chunk_count; i++) {
        weft_free(a->chunks[i].pairs);
    }
    weft_free(a->chunks);
    a->chunks = NULL;
    a->chunk_count = 0;
    a->chunk_capacity = 0;
}

void arcs_free(arcs *a)
{
    if (a == NULL) {
        return;
    }
    free_chunks(a);
    for (int w = 0; w < a->writers && a->writer != NULL; w++) {
        weft_free(a->writer[w].chunk);
    }
    for (int t = 0; t < a->threads && a->buffers != NULL; t++) {
        weft_free(a->buffers[t]);
    }
    if (a->fd >= 0) {
        close(a->fd);
    }
    pthread_mutex_destroy(&a->lock);
    WEFT_FREE_ALL(a->buffers, a->writer, a);
}

/* ---- collecting ---- */

static int64_t chunk_bytes(const arcs *a)
{
    return a->chunk_edges * PAIR;
}

/* Under the lock: into the list. */
static weft_status keep_chunk(arcs *a, int32_t *pairs, int64_t count)
{
    if (a->chunk_count == a->chunk_capacity) {
        int64_t capacity = a->chunk_capacity > 0 ? 2 * a->chunk_capacity : 16;
        WEFT_TRY(weft_realloc((void **)&a->chunks, (size_t)capacity, sizeof *a->chunks, WEFT_MEM_GENERAL));
        a->chunk_capacity = capacity;
    }
    assert(count > 0 && count <= a->chunk_edges);
    a->chunks[a->chunk_count++] = (chunk){.pairs = pairs, .count = count};
    return WEFT_OK;
}

/* Under the lock: where in the file `count` edges go. */
static weft_status take_place(arcs *a, int64_t count, int64_t *place)
{
    if (a->fd < 0) {
        WEFT_TRY(csr_scratch_file(a->beside, &a->fd));
    }
    *place = a->spilled;
    a->spilled += count;
    return WEFT_OK;
}

static weft_status write_chunk(arcs *a, const int32_t *pairs, int64_t count, int64_t place)
{
    return csr_scratch_write(a->fd, a->beside, pairs, (size_t)count * PAIR, place * PAIR);
}

/* The writer's full chunk: to the list while that has its half of the limit, else to the file. */
static weft_status put_away(arcs *a, writer *w)
{
    int64_t place = -1;
    pthread_mutex_lock(&a->lock);
    bool fits = a->fd < 0 && (a->chunk_count + a->writers + 1) * chunk_bytes(a) <= a->limit / 2;
    weft_status status = fits ? keep_chunk(a, w->chunk, w->used) : take_place(a, w->used, &place);
    pthread_mutex_unlock(&a->lock);
    WEFT_TRY(status);
    if (fits) {
        w->chunk = NULL;
    } else {
        WEFT_TRY(write_chunk(a, w->chunk, w->used, place));
    }
    w->used = 0;
    return WEFT_OK;
}

static void look_at(writer *w, const int32_t *pairs, int64_t count)
{
    static const pairs_look_fn looks[HAL_ISAS] = {pairs_look_base, pairs_look_avx2, pairs_look_avx2};
    for (int64_t at = 0; at < count; at += LOOK_MOST) {
        const int64_t part = count - at < LOOK_MOST ? count - at : LOOK_MOST;
        w->loops += looks[hal_isa_best()](pairs + 2 * at, part, &w->smallest, &w->largest);
    }
    atomic_store_explicit(&w->count, atomic_load_explicit(&w->count, memory_order_relaxed) + count,
                          memory_order_relaxed);
}

static weft_status need_chunk(const arcs *a, writer *w)
{
    return w->chunk != NULL ? WEFT_OK : WEFT_NEW(&w->chunk, 2 * a->chunk_edges, WEFT_MEM_GRAPH);
}

weft_status arcs_room(arcs *a, int number, int64_t room, int32_t **pairs)
{
    assert(number >= 0 && number < a->writers && room >= 0);
    writer *w = &a->writer[number];
    *pairs = NULL;
    if (a->chunk_edges < room) {
        return WEFT_OK;
    }
    if (a->chunk_edges - w->used < room) {
        WEFT_TRY(put_away(a, w));
    }
    WEFT_TRY(need_chunk(a, w));
    *pairs = w->chunk + 2 * w->used;
    return WEFT_OK;
}

void arcs_take(arcs *a, int number, int64_t count)
{
    writer *w = &a->writer[number];
    assert(number >= 0 && number < a->writers && count >= 0 && count <= a->chunk_edges - w->used);
    look_at(w, w->chunk + 2 * w->used, count);
    w->used += count;
}

weft_status arcs_add(arcs *a, int number, const int32_t *pairs, int64_t count)
{
    writer *w = &a->writer[number];
    assert(number >= 0 && number < a->writers && count >= 0);
    look_at(w, pairs, count);
    while (count > 0) {
        WEFT_TRY(need_chunk(a, w));
        int64_t room = a->chunk_edges - w->used;
        int64_t part = count < room ? count : room;
        memcpy(w->chunk + 2 * w->used, pairs, (size_t)part * PAIR);
        w->used += part;
        pairs += 2 * part;
        count -= part;
        if (w->used == a->chunk_edges) {
            WEFT_TRY(put_away(a, w));
        }
    }
    return WEFT_OK;
}

int64_t arcs_count(const arcs *a)
{
    int64_t count = 0;
    for (int w = 0; w < a->writers; w++) {
        count += atomic_load_explicit(&a->writer[w].count, memory_order_relaxed);
    }
    return count;
}

int64_t arcs_loops(const arcs *a)
{
    int64_t loops = 0;
    for (int w = 0; w < a->writers; w++) {
        loops += a->writer[w].loops;
    }
    return loops;
}

int64_t arcs_smallest_id(const arcs *a)
{
    int32_t smallest = INT32_MAX;
    for (int w = 0; w < a->writers; w++) {
        smallest = a->writer[w].smallest < smallest ? a->writer[w].smallest : smallest;
    }
    return smallest;
}

int64_t arcs_largest_id(const arcs *a)
{
    int32_t largest = -1;
    for (int w = 0; w < a->writers; w++) {
        largest = a->writer[w].largest > largest ? a->writer[w].largest : largest;
    }
    return largest;
}

bool arcs_spilled(const arcs *a)
{
    return a->fd >= 0;
}

/* ---- sorting ---- */

/* What the writers still hold joins the list. */
static weft_status close_writers(arcs *a)
{
    for (int i = 0; i < a->writers; i++) {
        writer *w = &a->writer[i];
        if (w->used > 0) {
            WEFT_TRY(keep_chunk(a, w->chunk, w->used));
            w->chunk = NULL;
            w->used = 0;
        }
        weft_free(w->chunk);
        w->chunk = NULL;
    }
    return WEFT_OK;
}

static weft_status spill_chunks(arcs *a)
{
    for (int64_t i = 0; i < a->chunk_count; i++) {
        int64_t place;
        WEFT_TRY(take_place(a, a->chunks[i].count, &place));
        WEFT_TRY(write_chunk(a, a->chunks[i].pairs, a->chunks[i].count, place));
        weft_free(a->chunks[i].pairs);
        a->chunks[i].pairs = NULL;
    }
    free_chunks(a);
    return WEFT_OK;
}

static int64_t spans_in(const arcs *a, int64_t edges)
{
    return (edges + a->span_edges - 1) / a->span_edges;
}

static csr_span pairs_as_span(const int32_t *pairs, int64_t count)
{
    return (csr_span){.from = pairs, .to = pairs + 1, .stride = 2, .count = count};
}

/* Every chunk counts as many spans as a full one has, so that span i is found without searching. */
static weft_status span_of_chunk(void *self, int64_t i, int thread, csr_span *span)
{
    (void)thread;
    const arcs *a = self;
    int64_t each = spans_in(a, a->chunk_edges);
    assert(i >= 0 && i / each < a->chunk_count);
    const chunk *c = &a->chunks[i / each];
    int64_t begin = i % each * a->span_edges, left = c->count - begin;
    *span = left <= 0 ? (csr_span){.count = 0}
                      : pairs_as_span(c->pairs + 2 * begin, left < a->span_edges ? left : a->span_edges);
    return WEFT_OK;
}

static weft_status span_of_file(void *self, int64_t i, int thread, csr_span *span)
{
    arcs *a = self;
    int64_t begin = i * a->span_edges;
    assert(begin < a->spilled && thread >= 0 && thread < a->threads);
    int64_t count = a->spilled - begin < a->span_edges ? a->spilled - begin : a->span_edges;
    const ssize_t bytes = file_read_at(a->fd, begin * PAIR, a->buffers[thread], (size_t)count * PAIR);
    WEFT_CHECK(bytes == count * PAIR, WEFT_ERR_IO, "temporary file in the folder of %s: %s", a->beside,
               bytes < 0 ? strerror(errno) : "shorter than what was written");
    *span = pairs_as_span(a->buffers[thread], count);
    return WEFT_OK;
}

static weft_status make_buffers(arcs *a)
{
    WEFT_TRY(WEFT_NEW_ZERO(&a->buffers, a->threads, WEFT_MEM_GENERAL));
    for (int t = 0; t < a->threads; t++) {
        WEFT_TRY(WEFT_NEW(&a->buffers[t], 2 * a->span_edges, WEFT_MEM_WORKSPACE));
    }
    return WEFT_OK;
}

static weft_status choose_source(arcs *a, csr_input *input)
{
    const int64_t left = a->limit - input->vertices * (int64_t)sizeof(int64_t);
    const int64_t held = a->chunk_count * chunk_bytes(a);
    WEFT_CHECK(left > 0, WEFT_ERR_RESOURCE,
               FLAG_MEMORY ": %" PRId64 " vertices need %" PRId64
                           " bytes for their offsets alone, the limit is %" PRId64,
               input->vertices, input->vertices * 8, a->limit);
    if (a->fd < 0 && left - held >= left / 2) {
        input->spans = a->chunk_count * spans_in(a, a->chunk_edges);
        input->span = span_of_chunk;
        input->limit_bytes = left - held;
        return WEFT_OK;
    }
    WEFT_TRY(spill_chunks(a));
    WEFT_TRY(make_buffers(a));
    input->spans = spans_in(a, a->spilled);
    input->span = span_of_file;
    int64_t buffers = a->threads * a->span_edges * PAIR;
    input->limit_bytes = left > buffers ? left - buffers : 0;
    return WEFT_OK;
}

weft_status arcs_build(arcs *a, int64_t vertices, bool add_reverse, bool keep_self_loops, csr_graph *graph)
{
    *graph = (csr_graph){.vertices = 0};
    WEFT_CHECK(arcs_largest_id(a) < vertices, WEFT_ERR_DATA,
               "an edge of vertex %" PRId64 ": vertices are 0 to %" PRId64, arcs_largest_id(a), vertices - 1);
    csr_input input = {.vertices = vertices,
                       .edges = arcs_count(a),
                       .self = a,
                       .threads = a->threads,
                       .add_reverse = add_reverse,
                       .keep_self_loops = keep_self_loops,
                       .beside = a->beside};
    WEFT_TRY(close_writers(a));
    WEFT_TRY(choose_source(a, &input));
    WEFT_TRY(csr_build(&input, graph));
    if (arcs_spilled(a) || graph->ranges > 1) {
        log_info("sorted %" PRId64 " edges in %d ranges of vertices within %.3g MB of memory%s", arcs_count(a),
                 graph->ranges, (double)a->limit / 1e6, arcs_spilled(a) ? ", from a temporary file" : "");
    }
    return WEFT_OK;
}
