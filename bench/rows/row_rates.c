/*
 * bench/rows/row_rates.c: look-ups and updates of rows of embeddings beside what the machine's memory gives.
 *
 *     row_rates ROWS [ROUNDS] [sgd|row-adagrad|adagrad] [f32|bf16] [expiry]
 *
 * Rows have 16 numbers. Each figure is millions of rows a second, the best of the rounds, for 2^19 random keys at
 * once, as a large batch has them. The limit of memory is that of a plain array of 64-byte rows by their numbers, with
 * the same prefetching and no index. Memory is told beside its plan (row_store_bytes): what the store holds, and what
 * the process has more. With `expiry` seven eighths of the rows are made, and keys of as many rows again come under a
 * bound of the plan of all: those that were not seen for longest leave. No rate is printed before rows that were
 * read are those that were made, and each update has moved its row.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "embed/pool/key_sort.h"
#include "embed/rows/row_store.h"
#include "machine/thread_ranges.h"

enum { BATCH = 1 << 19, WIDTH = 16, AHEAD = 16 };

static uint64_t mix(uint64_t x)
{
    x = (x ^ x >> 31) * UINT64_C(0x7fb5d329728ea185);
    x = (x ^ x >> 27) * UINT64_C(0x81dadef4bc2dd44d);
    return x ^ x >> 33;
}

static void *must(void *block)
{
    if (block == NULL) {
        fprintf(stderr, "no memory\n");
        exit(1);
    }
    return block;
}

static void *huge(size_t bytes)
{
    void *block = NULL;
    if (weft_calloc(bytes, 1, WEFT_MEM_GENERAL, &block) != WEFT_OK) {
        exit(1);
    }
    return must(block);
}

static void check(weft_status status)
{
    if (status != WEFT_OK) {
        fprintf(stderr, "%s\n", weft_error_message());
        exit(1);
    }
}

static void require(int condition, const char *what)
{
    if (!condition) {
        fprintf(stderr, "row_rates: %s\n", what);
        exit(1);
    }
}

/* Ascending distinct keys of rows, at random. Returns how many. */
static int64_t draw(int64_t rows, uint64_t seed, uint64_t *key)
{
    static key_pair pair[BATCH], other[BATCH];
    int64_t n = 0;
    for (int64_t i = 0; i < BATCH; ++i) {
        pair[i].key = mix(mix(seed * BATCH + (uint64_t)i) % (uint64_t)rows);
    }
    const key_pair *sorted = key_sort(pair, other, BATCH);
    for (int64_t i = 0; i < BATCH; ++i) {
        if (i == 0 || sorted[i].key != sorted[i - 1].key) {
            key[n++] = sorted[i].key;
        }
    }
    return n;
}

/* ---- limits ---- */

/* Copies rows, or adds to them, in blocks with prefetching. */
static void plain(float *table, const int64_t *row, int64_t n, float *out, int write)
{
#pragma omp parallel for schedule(static)
    for (int64_t i = 0; i < n; ++i) {
        if (i + AHEAD < n) {
            __builtin_prefetch(table + row[i + AHEAD] * WIDTH);
        }
        float *restrict from = table + row[i] * WIDTH;
        float *restrict to = out + i * WIDTH;
#pragma omp simd
        for (int j = 0; j < WIDTH; ++j) {
            if (write) {
                from[j] -= 0.5F * to[j];
            } else {
                to[j] = from[j];
            }
        }
    }
}

static void best(double *seconds, double begin)
{
    const double now = clock_seconds() - begin;
    *seconds = now < *seconds ? now : *seconds;
}

static void measure_plain(int64_t rows, int rounds, float *buffer)
{
    float *table = huge((size_t)rows * WIDTH * sizeof *table);
    int64_t *row = huge(BATCH * sizeof *row);
    double gather = INFINITY, scatter = INFINITY;
    for (int64_t i = 0; i < rows * WIDTH; i += WIDTH) {
        table[i] = (float)(i / WIDTH % 8191);
    }
    for (int round = 0; round < rounds; ++round) {
        for (int64_t i = 0; i < BATCH; ++i) {
            row[i] = (int64_t)(mix((uint64_t)(round * BATCH + i) + 99) % (uint64_t)rows);
        }
        double begin = clock_seconds();
        plain(table, row, BATCH, buffer, 0);
        best(&gather, begin);
        for (int64_t i = 0; i < BATCH; ++i) {
            require(buffer[i * WIDTH] == (float)(row[i] % 8191), "a gathered row is another");
            buffer[i * WIDTH] = 0.0F;
        }
        begin = clock_seconds();
        plain(table, row, BATCH, buffer, 1);
        best(&scatter, begin);
    }
    printf("limit of memory:  gather %6.1f   read-modify-write %6.1f\n", BATCH / gather * 1e-6, BATCH / scatter * 1e-6);
    weft_free(table);
    weft_free(row);
}

/* ---- the store ---- */

typedef struct rates {
    double find, read, update, sighted;
} rates;

/* New keys, from number `first` to before `end`. Returns the seconds of making their rows. */
static double bring(row_store *store, int64_t first, int64_t end, uint64_t *key, int64_t *row, const int32_t *times)
{
    static key_pair pair[BATCH], other[BATCH];
    double seconds = 0.0;
    for (; first < end; first += BATCH) {
        const int64_t n = end - first < BATCH ? end - first : BATCH;
        for (int64_t i = 0; i < n; ++i) {
            pair[i].key = mix((uint64_t)(first + i));
        }
        const key_pair *sorted = key_sort(pair, other, n);
        for (int64_t i = 0; i < n; ++i) {
            key[i] = sorted[i].key;
        }
        const double begin = clock_seconds();
        check(row_store_touch(store, key, times, n, true, row));
        seconds += clock_seconds() - begin;
    }
    return seconds;
}

static void fill(row_store *store, const embed_desc *desc, int64_t rows, uint64_t *key, int64_t *row,
                 const int32_t *times)
{
    const uint64_t before = clock_rss_bytes();
    const double seconds = bring(store, 0, rows, key, row, times);
    const double plan = (double)row_store_bytes(desc, rows), resident = (double)clock_rss_bytes() - (double)before;
    const row_figures f = row_store_figures(store);
    require(f.rows == rows, "rows are missing");
    printf("made: %6.1f   %.2f GB, %.1f bytes a row of %lld, load %.2f\n", (double)rows / seconds * 1e-6,
           (double)f.bytes * 1e-9, (double)f.bytes / (double)rows, (long long)f.row_bytes, f.load);
    printf("plan: %.2f GB; held %+.1f %%, resident %+.1f %%\n", plan * 1e-9, ((double)f.bytes / plan - 1.0) * 100.0,
           (resident / plan - 1.0) * 100.0);
}

/* Keys come where memory has no room: old rows leave, and no key is refused. */
static void expire(row_store *store, int64_t rows, uint64_t *key, int64_t *row, const int32_t *times)
{
    const double seconds = bring(store, rows, 2 * rows, key, row, times);
    const row_figures f = row_store_figures(store);
    require(f.expired > 0 && f.refused == 0, "no row has left, or a key was refused");
    printf("with expiry: %6.1f   %lld rows, %lld left, %.2f GB\n", (double)rows / seconds * 1e-6, (long long)f.rows,
           (long long)f.expired, (double)f.bytes * 1e-9);
}

static void measure_store(row_store *store, const embed_desc *desc, int64_t rows, int rounds, float *buffer,
                          float *before)
{
    uint64_t *key = huge(BATCH * sizeof *key);
    int64_t *row = huge(BATCH * sizeof *row);
    int32_t *times = huge(BATCH * sizeof *times);
    float *gradient = huge((size_t)BATCH * WIDTH * sizeof *gradient);
    rates least = {INFINITY, INFINITY, INFINITY, INFINITY};
    fill(store, desc, rows, key, row, times);
    for (int64_t i = 0; i < BATCH * WIDTH; ++i) {
        gradient[i] = 1.0F;
    }
    int64_t n = 0;
    for (int round = 0; round < rounds; ++round) {
        n = draw(rows, (uint64_t)round + 7, key);
        double begin = clock_seconds();
        check(row_store_touch(store, key, NULL, n, false, row));
        best(&least.find, begin);
        begin = clock_seconds();
        row_store_read(store, row, n, before, WIDTH);
        best(&least.read, begin);
        n = draw(rows, (uint64_t)round + 1007, key);
        begin = clock_seconds();
        check(row_store_touch(store, key, times, n, true, row));
        best(&least.sighted, begin);
        begin = clock_seconds();
        row_store_update(store, row, n, gradient, WIDTH, 0.125);
        best(&least.update, begin);
        row_store_read(store, row, n, buffer, WIDTH);
        check(row_store_touch(store, key, NULL, n, false, row));
        row_store_read(store, row, n, before, WIDTH);
        row_store_update(store, row, n, gradient, WIDTH, 0.125);
        row_store_read(store, row, n, buffer, WIDTH);
        for (int64_t i = 0; i < n; ++i) {
            require(row[i] >= 0 && buffer[i * WIDTH] < before[i * WIDTH], "an update has not moved its row");
        }
    }
    const double m = (double)n * 1e-6;
    printf("store: find %6.1f   read %6.1f   update %6.1f   index + gather %6.1f   index + update %6.1f\n",
           m / least.find, m / least.read, m / least.update, m / (least.find + least.read),
           m / (least.sighted + least.update));
    if (desc->expire_after > 0) {
        expire(store, rows, key, row, times);
    }
    weft_free(key), weft_free(row), weft_free(times), weft_free(gradient);
}

int main(int argc, char **argv)
{
    static const char *const rules[] = {EMBED_RULES(CHOICE_NAME)};
    const int64_t rows = argc > 1 ? atoll(argv[1]) : 1 << 22;
    const int rounds = argc > 2 ? atoi(argv[2]) : 5;
    embed_desc desc = {.fields = 1, .width = WIDTH, .spread = 0.1, .seed = 1};
    for (int i = 0; argc > 3 && i <= EMBED_LAZY_ADAM; ++i) {
        desc.rule = strcmp(argv[3], rules[i]) == 0 ? (embed_rule)i : desc.rule;
    }
    desc.number = argc > 4 && strcmp(argv[4], "bf16") == 0 ? EMBED_BF16 : EMBED_F32;
    int64_t filled = rows;
    if (argc > 5 && strcmp(argv[5], "expiry") == 0) {
        filled = rows / 8 * 7;
        desc.memory_most = row_store_bytes(&desc, rows);
        desc.expire_after = filled / BATCH + 1;
    }
    float *buffer = huge((size_t)BATCH * WIDTH * sizeof *buffer),
          *before = huge((size_t)BATCH * WIDTH * sizeof *before);
    row_store *store = NULL;
    printf("millions of rows a second, %lld rows of %d numbers, %s, %d threads\n", (long long)rows, WIDTH,
           rules[desc.rule], omp_get_max_threads());
    measure_plain(rows, rounds, buffer);
    check(row_store_open(&desc, &store));
    measure_store(store, &desc, filled, rounds, buffer, before);
    row_store_close(store);
    weft_free(buffer), weft_free(before);
    return 0;
}
