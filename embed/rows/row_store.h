/*
 * embed/rows/row_store.h: the rows that one rank holds of a table of embeddings. Needs no other rank.
 *
 *     WEFT_TRY(row_store_open(&desc, &store));
 *     WEFT_TRY(row_store_touch(store, key, times, n, true, row));       keys of a batch that this rank owns -> rows
 *     row_store_read(store, row, n, value, stride);
 *     row_store_update(store, row, n, gradient, stride, rate);
 *
 * A row is `stride` = width + linear numbers. Its first values are a function of (key, seed, column), and all keys of a
 * batch are judged by what was seen before it, so rows depend neither on threads nor on which rank owns them. Keys of a
 * call are ascending and distinct (embed/pool/bag_index.h makes them so). Functions use as many threads as OpenMP
 * gives; calls for one store come one after another.
 *
 * Memory: embed/rows/row_lookup.h and embed/rows/row_slabs.h say what index and rows take. Where desc.memory_most
 * would be passed, row_store_touch first lets old rows go (row_store_expire), then refuses new keys: those read zeros.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/alloc.h"
#include "embed/embed.h"

extern weft_mem_tag WEFT_MEM_ROWS[1];

typedef struct row_store row_store;

enum {
    ROW_EXPIRE_MOST = 1 << 23,  /* batches: largest embed_desc.expire_after */
    ROW_STRIDE_MOST = 1 << 16,  /* numbers of a row */
    ROW_MEMORY_LEAST = 1 << 18, /* bytes: smallest embed_desc.memory_most that is not 0 */
};

#define ROW_CHANCE_LEAST 0.001 /* smallest embed_desc.admit_chance that is not 0 */

/* WEFT_ERR_USAGE: a member of desc is out of its range. desc is copied; only `fields` is not read. */
weft_status row_store_open(const embed_desc *desc, row_store **store);
/* Columns [first, last) of rows, which are those that a store of whole rows has. desc: of whole rows, by a rule that
 * updates each number by itself: not row-adagrad. */
weft_status row_store_open_part(const embed_desc *desc, int first, int last, row_store **store);
void row_store_close(row_store *store); /* NULL is fine */

int row_store_stride(const row_store *store); /* numbers of a row */

/*
 * Finds the rows of keys.
 * key [n]    ascending, each once
 * times [n]  how often each occurs in the batch of all ranks; not read unless training (may be NULL then)
 * row [n]    [out] the number of the key's row in this store, or -1: it has none
 *
 * training: a batch begins. Keys are counted and marked as seen; admitted ones get rows. A key is admitted once it was
 * seen desc.admit_after times in earlier batches. Every rank calls this once a training batch, also with n = 0, so that
 * ages are the same on all ranks. Otherwise nothing changes.
 * WEFT_ERR_RESOURCE: the machine has no memory below memory_most; the store stays usable, the batch counts as begun.
 */
weft_status row_store_touch(row_store *store, const uint64_t *key, const int32_t *times, int64_t n, bool training,
                            int64_t *row);

/* out [n, stride], leading dimension ld: the rows' numbers; zeros where row is -1. */
void row_store_read(const row_store *store, const int64_t *row, int64_t n, float *out, int64_t ld);

/* gradient [n, stride], leading dimension ld: updates each row by desc.rule; rows that are -1 are skipped. No row
 * occurs twice. rate: the learning rate, above 0. */
void row_store_update(row_store *store, const int64_t *row, int64_t n, const float *gradient, int64_t ld, double rate);

/* Updates rows as row_store_update does, by gradients that are made a block of rows at a time, so that they stay in a
 * near cache. gradients: fills out [last - first, stride] with those of rows [first, last); several threads call it at
 * once. Rows have at most ROW_GRADIENTS numbers. */
enum { ROW_GRADIENTS = 4096 };
typedef void row_gradients(const void *context, int64_t first, int64_t last, float *out);
void row_store_update_by(row_store *store, const int64_t *row, int64_t n, row_gradients *gradients, const void *context,
                         double rate);

/* Rows, and counts of keys without a row, that were not seen in the last desc.expire_after batches leave. Returns how
 * many rows left; 0 where desc.expire_after is 0. */
int64_t row_store_expire(row_store *store);

/* What a store has done so far. */
typedef struct row_counts {
    int64_t made, refused, expired;
} row_counts;

/* A store goes on to count from there. */
void row_store_count_from(row_store *store, row_counts counts);

typedef struct row_figures {
    int64_t rows;      /* there are now */
    int64_t waiting;   /* keys that are counted and have no row yet */
    int64_t made;      /* rows, since the store was opened, and what row_store_count_from says */
    int64_t refused;   /* times that a key was not taken as memory_most is reached */
    int64_t expired;   /* rows that left */
    int64_t batches;   /* training batches so far */
    int64_t row_bytes; /* of a row: numbers and what its rule keeps */
    int64_t capacity;  /* rows that fit without taking more memory */
    double load;       /* share of the index's slots that are taken */
    int64_t bytes;     /* of rows and index */
} row_figures;

row_figures row_store_figures(const row_store *store);

/* Bytes of `rows` rows and their index, for plans. Memory that the last slab has for more rows is not counted, because
 * nobody has touched it. More rows, and longer ones, never take less. */
int64_t row_store_bytes(const embed_desc *desc, int64_t rows);
