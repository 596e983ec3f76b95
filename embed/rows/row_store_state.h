/* embed/rows/row_store_state.h: what a store of rows is made of, for the files of embed/rows. */
#pragma once

#include "embed/rows/row_kernels.h"
#include "embed/rows/row_lookup.h"
#include "embed/rows/row_slabs.h"
#include "embed/rows/row_store.h"
#include "machine/thread_ranges.h"

/* Keys of a batch that have no row when it begins; work that is kept. */
typedef struct row_fresh {
    int64_t capacity;
    int64_t *place; /* [capacity] of each fresh key among the batch's, rising */
    uint64_t *key;  /* [capacity] by stripes, with their marks */
    uint64_t *mark;
    int64_t *made; /* [capacity] rows that are made, and their keys */
    uint64_t *made_key;
} row_fresh;

struct row_store {
    embed_desc desc;
    row_rule rule;
    const row_kernels *kernels;
    row_lookup index;
    row_slabs slabs;
    row_fresh fresh;
    int64_t batch; /* training batches begun */
    int64_t swept; /* the batch of the last sweep */
    int64_t waiting, made, refused, expired;
};

/* Returns true if a key that was seen so often before the batch gets a row: behind desc.admit_after sightings as soon
 * as one of the others won, or the one that comes now does. Who wins is a matter of (key, seed, number of the
 * sighting). */
bool row_store_admits(const row_store *store, uint64_t key, uint64_t seen);

/* row [n] of row_store_touch, before new keys are judged. */
enum { ROW_NONE = -1, ROW_DUE = -2, ROW_ABSENT = -3 };

/* Decides about the keys that are ROW_DUE and ROW_ABSENT, `fresh` of them, and makes rows of those that are admitted.
 * */
weft_status row_store_admit(row_store *store, const uint64_t *key, const int32_t *times, int64_t n, int64_t fresh,
                            int64_t *row);

/* Takes memory for rows and slots that are wanted, as far as memory_most allows; [out] enough: all of it. */
typedef struct row_wants {
    int64_t rows, slots[ROW_STRIPES];
} row_wants;
weft_status row_store_make_room(row_store *store, const row_wants *wants, bool *enough);

/* Bytes of rows and index. */
static inline int64_t row_store_held(const row_store *store)
{
    return row_lookup_bytes(&store->index) + store->slabs.bytes;
}

/* Threads for n keys or rows. */
static inline int row_threads(int64_t n)
{
    return split_threads(n * 64, omp_get_max_threads());
}
