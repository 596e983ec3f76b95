/*
 * gnn/data/generate/generator_csr.c: numbered draws to a symmetric CSR without duplicates.
 *
 * The stream is drawn twice: once to count the entries of each row, once to place them, so that no edge list exists
 * beside the CSR. Rows are then sorted, which removes the threads' order of arrival, freed of duplicates, and closed up
 * in place. Memory: 8 bytes a draw (both directions) plus 12 bytes a vertex. The array keeps the slack that duplicates
 * leave.
 */
#include <assert.h>
#include <omp.h>
#include <string.h>

#include "base/alloc.h"
#include "base/log.h"
#include "base/sort.h"
#include "gnn/data/generate/generator_parts.h"
#include "graph/graph.h"
#include "hal/hal.h"

enum { SLAB = 4096 /* batches */ };

/* One batch of draws: returns how many pairs it gave. */
static int draw_batch(const edge_stream *stream, int64_t batch, edge_pair *pairs)
{
    int64_t first = batch * GENERATOR_BATCH, left = stream->draws - first;
    return stream->draw(stream->self, first, left < GENERATOR_BATCH ? (int)left : GENERATOR_BATCH, pairs);
}

/* cells[v + 1] += entries of row v. Slots are reserved with relaxed atomics: only the sums matter. */
static void count_entries(const edge_stream *stream, int64_t begin, int64_t end, int threads, int64_t *cells)
{
#pragma omp parallel for schedule(static) num_threads(threads)
    for (int64_t batch = begin; batch < end; ++batch) {
        edge_pair pairs[GENERATOR_BATCH];
        int made = draw_batch(stream, batch, pairs);
        for (int i = 0; i < made; ++i) {
            __atomic_fetch_add(&cells[pairs[i].u + 1], 1, __ATOMIC_RELAXED);
            __atomic_fetch_add(&cells[pairs[i].v + 1], 1, __ATOMIC_RELAXED);
        }
    }
}

/* Reserving a whole batch before storing keeps the stores, which miss every cache, out of the way of the locked adds.
 */
static void place_entries(const edge_stream *stream, int64_t begin, int64_t end, int threads, int64_t *cursor,
                          int32_t *source)
{
#pragma omp parallel for schedule(static) num_threads(threads)
    for (int64_t batch = begin; batch < end; ++batch) {
        edge_pair pairs[GENERATOR_BATCH];
        int64_t slot[2 * GENERATOR_BATCH];
        int made = draw_batch(stream, batch, pairs);
        for (int i = 0; i < made; ++i) {
            slot[2 * i] = __atomic_fetch_add(&cursor[pairs[i].u], 1, __ATOMIC_RELAXED);
            slot[2 * i + 1] = __atomic_fetch_add(&cursor[pairs[i].v], 1, __ATOMIC_RELAXED);
        }
        for (int i = 0; i < made; ++i) {
            source[slot[2 * i]] = pairs[i].v;
            source[slot[2 * i + 1]] = pairs[i].u;
        }
    }
}

/* A whole pass over the draws, in slabs between which progress is told. source == NULL: count into cells, else place.
 */
static void pass_over_draws(const edge_stream *stream, int threads, int64_t *cells, int32_t *source)
{
    int64_t batches = (stream->draws + GENERATOR_BATCH - 1) / GENERATOR_BATCH;
    log_progress progress =
        log_progress_begin(source == NULL ? "count edges" : "place edges", "draws", (double)stream->draws);
    for (int64_t begin = 0; begin < batches; begin += SLAB) {
        int64_t end = batches - begin < SLAB ? batches : begin + SLAB;
        if (source == NULL) {
            count_entries(stream, begin, end, threads, cells);
        } else {
            place_entries(stream, begin, end, threads, cells, source);
        }
        log_progress_update(&progress, (double)end * GENERATOR_BATCH);
    }
    log_progress_end(&progress);
}

/* Sort each row and drop its repeats in place; length[v] becomes what is left. */
static void tidy_rows(int64_t n, const int64_t *offset, int threads, int32_t *source, int32_t *length)
{
#pragma omp parallel num_threads(threads)
    {
        const hal_span own = hal_split_csr(offset, n, omp_get_num_threads(), omp_get_thread_num());
        for (int64_t v = own.begin; v < own.end; ++v) {
            assert(offset[v] <= offset[v + 1]);
            length[v] = (int32_t)sort_distinct(source + offset[v], offset[v + 1] - offset[v], n);
        }
    }
}

/* Move rows left over the gaps that repeats leave; offset becomes the final one. */
static void close_gaps(int64_t n, const int32_t *length, int64_t *offset, int32_t *source)
{
    int64_t to = 0;
    for (int64_t v = 0; v < n; ++v) {
        int64_t from = offset[v];
        offset[v] = to;
        if (from != to) {
            memmove(source + to, source + from, (size_t)length[v] * sizeof *source);
        }
        to += length[v];
    }
    assert(to <= offset[n]); /* rows only shrink */
    offset[n] = to;
}

weft_status generator_csr(int64_t n, const edge_stream *stream, int threads, int64_t **offset, int32_t **source)
{
    weft_status status;
    int64_t *cursor = NULL;
    int32_t *length = NULL;
    *offset = NULL;
    *source = NULL;
    WEFT_TRY_GOTO(WEFT_NEW_ZERO(offset, n + 1, WEFT_MEM_GRAPH), status, done);
    pass_over_draws(stream, threads, *offset, NULL);
    for (int64_t v = 0; v < n; ++v) {
        (*offset)[v + 1] += (*offset)[v];
    }

    WEFT_TRY_GOTO(WEFT_NEW(source, (*offset)[n], WEFT_MEM_GRAPH), status, done);
    WEFT_TRY_GOTO(WEFT_NEW(&cursor, n, WEFT_MEM_WORKSPACE), status, done);
    memcpy(cursor, *offset, (size_t)n * sizeof *cursor);
    pass_over_draws(stream, threads, cursor, *source);
    weft_free(cursor);
    cursor = NULL;

    WEFT_TRY_GOTO(WEFT_NEW(&length, n, WEFT_MEM_WORKSPACE), status, done);
    if (*source != NULL) { /* an empty graph has no array of sources */
        tidy_rows(n, *offset, threads, *source, length);
        close_gaps(n, length, *offset, *source);
    }

done:
    WEFT_FREE_ALL(cursor, length);
    if (status != WEFT_OK) {
        WEFT_FREE_ALL(*offset, *source);
        *offset = NULL;
        *source = NULL;
    }
    return status;
}
