/*
 * machine/stream.c: see machine/stream.h.
 *
 * The whole measurement is one parallel region: passes are separated by barriers, and thread 0 reads the clock whether
 * it takes part or not. Thread 0 of a pinned team keeps its rank's whole mask (machine/placement.h), so it is put on
 * its CPU for the time of the measurement.
 */
#include "machine/stream.h"

#include <assert.h>
#include <omp.h>
#include <sched.h>
#include <string.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/permutation.h"
#include "machine/placement.h"
#include "machine/placement_memory.h"
#include "machine/thread_ranges.h"

enum {
    PASSES = 4,
    LEAST_BYTES = 16 << 20,
    MOST_BYTES = 192 << 20,
    MEMORY_SHARE = 16,
    SET_PASSES = 8,
    SET_BYTES = 64 << 20
};

/* As wide as the widest registers; narrower ones take several. */
typedef uint64_t words __attribute__((vector_size(64)));

typedef struct stream_run {
    const stream_request *request;
    int64_t count; /* elements of an array */
    float *a, *b, *c;
    int *slot; /* [threads] number of each thread among those that take part, -1: none */
    int slots;
    uint64_t *sum; /* [slots * 8] keeps the reads from being optimised away */
    words *set;    /* [slots * set_words] of stream_measure_set */
    int64_t set_words, row_words;
    uint32_t *row; /* [set_words / row_words] where the rows of a set begin; NULL: in order */
    stream_rates rates;
} stream_run;

size_t stream_array_bytes(uint64_t l3_bytes, int node_ranks)
{
    const uint64_t room = placement_memory_available() / MEMORY_SHARE;
    uint64_t bytes = 4 * l3_bytes < MOST_BYTES ? 4 * l3_bytes : MOST_BYTES;
    bytes = (bytes < room ? bytes : room) / (uint64_t)(node_ranks > 0 ? node_ranks : 1);
    return (size_t)(bytes < LEAST_BYTES ? LEAST_BYTES : bytes);
}

static void choose_threads(stream_run *run)
{
    const stream_request *r = run->request;
    for (int i = 0; i < r->threads; i++) {
        bool takes_part = r->thread_node < 0 || (r->cpu != NULL && memory_node_of_cpu(r->cpu[i]) == r->thread_node);
        run->slot[i] = takes_part ? run->slots++ : -1;
    }
}

static weft_status make_arrays(stream_run *run)
{
    float **const arrays[] = {&run->a, &run->b, &run->c};
    for (size_t i = 0; i < sizeof arrays / sizeof *arrays; i++) {
        WEFT_TRY(WEFT_NEW(arrays[i], run->count, WEFT_MEM_WORKSPACE));
        WEFT_CHECK(run->request->memory_node < 0 ||
                       memory_bind(*arrays[i], run->request->array_bytes, run->request->memory_node),
                   WEFT_ERR_RESOURCE, "no memory may be taken on NUMA node %d", run->request->memory_node);
    }
    return WEFT_OK;
}

static void free_arrays(stream_run *run)
{
    float *const arrays[] = {run->a, run->b, run->c};
    for (size_t i = 0; i < sizeof arrays / sizeof *arrays; i++) {
        if (arrays[i] != NULL && run->request->memory_node >= 0) {
            memory_bind(arrays[i], run->request->array_bytes, -1);
        }
        weft_free(arrays[i]);
    }
}

static void first_touch(const stream_run *run, int64_t begin, int64_t end)
{
    for (int64_t i = begin; i < end; i++) {
        run->a[i] = 0.0F;
        run->b[i] = 1.0F;
        run->c[i] = 2.0F;
    }
}

static inline __attribute__((always_inline)) uint64_t total(const words *sum)
{
    const words s = *sum;
    return s[0] + s[1] + s[2] + s[3] + s[4] + s[5] + s[6] + s[7];
}

/* Integer sums in several chains: reading is the limit, and not the latency of an addition. */
static inline __attribute__((always_inline)) uint64_t sum_in_order(const words *x, int64_t count)
{
    words sum[4] = {{0}};
    for (int64_t i = 0; i + 4 <= count; i += 4) {
        sum[0] += x[i];
        sum[1] += x[i + 1];
        sum[2] += x[i + 2];
        sum[3] += x[i + 3];
    }
    for (int64_t i = count / 4 * 4; i < count; i++) {
        sum[0] += x[i];
    }
    const words all = sum[0] + sum[1] + sum[2] + sum[3];
    return total(&all);
}

static inline __attribute__((always_inline)) uint64_t sum_rows(const words *x, const uint32_t *row, int64_t rows,
                                                               int64_t row_words)
{
    words sum[2] = {{0}};
    for (int64_t i = 0; i < rows; i++) {
        const words *at = x + row[i];
        for (int64_t j = 0; j < row_words; j++) {
            sum[j % 2] += at[j];
        }
    }
    const words all = sum[0] + sum[1];
    return total(&all);
}

/* What one thread reads: words in order, or where `row` is given rows of some. */
typedef struct stretch {
    const words *x;
    int64_t count;
    const uint32_t *row; /* [count / row_words] */
    int64_t row_words;
} stretch;

/* Rows of one line and two, which blocks of aggregation have, without an inner loop. */
static inline __attribute__((always_inline)) uint64_t sum_body(const stretch *s)
{
    return s->row == NULL      ? sum_in_order(s->x, s->count)
           : s->row_words == 1 ? sum_rows(s->x, s->row, s->count, 1)
           : s->row_words == 2 ? sum_rows(s->x, s->row, s->count / 2, 2)
                               : sum_rows(s->x, s->row, s->count / s->row_words, s->row_words);
}

/* Narrow loads would not reach what a cache gives. */
#if defined(__x86_64__)
static __attribute__((target("avx512f"))) uint64_t sum_avx512(const stretch *s)
{
    return sum_body(s);
}

static __attribute__((target("avx2"))) uint64_t sum_avx2(const stretch *s)
{
    return sum_body(s);
}
#endif

static uint64_t sum_words(const stretch *s)
{
#if defined(__x86_64__)
    if (__builtin_cpu_supports("avx512f")) {
        return sum_avx512(s);
    }
    if (__builtin_cpu_supports("avx2")) {
        return sum_avx2(s);
    }
#endif
    return sum_body(s);
}

/* Whole words: the few floats before and after them are not worth a thought. */
static uint64_t read_share(const float *x, int64_t begin, int64_t end)
{
    const int64_t floats = sizeof(words) / sizeof(float), first = (begin + floats - 1) / floats;
    const int64_t last = end / floats;
    const stretch share = {.x = (const words *)x + first, .count = last - first};
    return last > first ? sum_words(&share) : 0;
}

static void triad_share(const stream_run *run, int64_t begin, int64_t end)
{
    float *restrict a = run->a;
    const float *restrict b = run->b;
    const float *restrict c = run->c;
    for (int64_t i = begin; i < end; i++) {
        a[i] = b[i] + 3.0F * c[i];
    }
}

static void run_thread(stream_run *run, int thread)
{
    const int slot = run->slot[thread];
    const double bytes = (double)run->count * sizeof(float);
    int64_t begin = 0, end = 0;
    if (slot >= 0) {
        begin = split_even(run->count, slot, run->slots);
        end = split_even(run->count, slot + 1, run->slots);
        assert(slot < run->slots && begin <= end && end <= run->count);
        first_touch(run, begin, end);
    }
    for (int pass = 0; pass < 2 * PASSES; pass++) {
        const bool triad = pass % 2 == 1;
        double started = 0.0;
#pragma omp barrier
        started = clock_seconds();
        if (slot >= 0 && triad) {
            triad_share(run, begin, end);
        } else if (slot >= 0) {
            run->sum[(size_t)slot * 8] += read_share(run->b, begin, end);
        }
#pragma omp barrier
        if (thread == 0) {
            const double rate = (triad ? 3.0 : 1.0) * bytes / (clock_seconds() - started);
            double *best = triad ? &run->rates.triad : &run->rates.read;
            *best = rate > *best ? rate : *best;
        }
    }
}

/* Each thread its own set, as often as makes SET_BYTES. */
static void read_sets(stream_run *run, int thread)
{
    const int slot = run->slot[thread];
    const double set_bytes = (double)run->set_words * sizeof(words);
    assert(run->set_words > 0 && slot < run->slots);
    const int64_t times = SET_BYTES / (run->set_words * (int64_t)sizeof(words)) + 1;
    words *set = slot >= 0 ? run->set + slot * run->set_words : NULL;
    if (slot >= 0) {
        memset(set, 0, (size_t)run->set_words * sizeof *set);
    }
    const stretch all = {.x = set, .count = run->set_words, .row = run->row, .row_words = run->row_words};
    for (int pass = 0; pass < SET_PASSES; pass++) {
        double started = 0.0;
#pragma omp barrier
        started = clock_seconds();
        for (int64_t i = 0; slot >= 0 && i < times; i++) {
            run->sum[(size_t)slot * 8] += sum_words(&all);
        }
#pragma omp barrier
        if (thread == 0) {
            const double rate = set_bytes * (double)times * (double)run->slots / (clock_seconds() - started);
            run->rates.read = rate > run->rates.read ? rate : run->rates.read;
        }
    }
}

/* work: what one thread does; every thread of the team meets every barrier of it. */
static void run_team(stream_run *run, void (*work)(stream_run *run, int thread))
{
    const stream_request *r = run->request;
#pragma omp parallel num_threads(r->threads)
    {
        const int thread = omp_get_thread_num();
        cpu_set old;
        cpu_set one = {.bits = {0}};
        bool moved = thread == 0 && r->cpu != NULL && placement_current_mask(&old) == WEFT_OK;
        if (moved) {
            cpu_set_add(&one, r->cpu[0]);
            moved = sched_setaffinity(0, sizeof one, (const cpu_set_t *)(const void *)&one) == 0;
        }
        if (omp_get_num_threads() == r->threads) { /* the same for all: nobody is left at a barrier */
            work(run, thread);
        }
        if (moved) {
            sched_setaffinity(0, sizeof old, (const cpu_set_t *)(const void *)&old);
        }
    }
}

/* Nothing else when no thread takes part: run->slots stays 0. */
static weft_status begin(stream_run *run)
{
    WEFT_TRY(WEFT_NEW(&run->slot, run->request->threads, WEFT_MEM_GENERAL));
    choose_threads(run);
    return run->slots > 0 ? WEFT_NEW_ZERO(&run->sum, (size_t)run->slots * 8, WEFT_MEM_GENERAL) : WEFT_OK;
}

static void end(stream_run *run)
{
    free_arrays(run);
    WEFT_FREE_ALL(run->set, run->row, run->slot, run->sum);
}

weft_status stream_measure(const stream_request *request, stream_rates *rates)
{
    stream_run run = {.request = request, .count = (int64_t)(request->array_bytes / sizeof(float))};
    weft_status status = WEFT_OK;
    WEFT_TRY_GOTO(begin(&run), status, done);
    if (run.slots > 0) {
        WEFT_TRY_GOTO(make_arrays(&run), status, done);
        run_team(&run, run_thread);
    }
done:
    *rates = run.rates;
    end(&run);
    return status;
}

static weft_status order_rows(stream_run *run)
{
    assert(run->row_words > 0 && run->set_words % run->row_words == 0);
    const int64_t rows = run->set_words / run->row_words;
    const permutation order = permutation_make((uint64_t)rows, 0, 0, 0);
    WEFT_TRY(WEFT_NEW(&run->row, rows, WEFT_MEM_WORKSPACE));
    for (int64_t i = 0; i < rows; i++) {
        run->row[i] = (uint32_t)(permute(&order, (uint64_t)i) * (uint64_t)run->row_words);
    }
    return WEFT_OK;
}

weft_status stream_measure_set(const stream_request *request, size_t set_bytes, size_t row_bytes, double *read)
{
    const int64_t row_words = (int64_t)((row_bytes + sizeof(words) - 1) / sizeof(words));
    const int64_t unit = row_words > 0 ? row_words : 1;
    stream_run run = {.request = request,
                      .set_words = ((int64_t)(set_bytes / sizeof(words)) / unit + 1) * unit,
                      .row_words = row_words};
    weft_status status = WEFT_OK;
    WEFT_TRY_GOTO(begin(&run), status, done);
    if (run.slots > 0) {
        WEFT_TRY_GOTO(WEFT_NEW(&run.set, run.slots * run.set_words, WEFT_MEM_WORKSPACE), status, done);
        WEFT_TRY_GOTO(row_words > 0 ? order_rows(&run) : WEFT_OK, status, done);
        run_team(&run, read_sets);
    }
done:
    *read = run.rates.read;
    end(&run);
    return status;
}
