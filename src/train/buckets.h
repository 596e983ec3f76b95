/*
 * train/buckets.h: the flat gradient cut into runs that are reduced together.
 *
 * A bucket is filled from the end of the gradient, because the backward pass finishes the last blocks first, until the
 * next block does not fit. A block is split only when it is larger than a bucket. So a bucket is complete as early as
 * possible, and small blocks share one message.
 *
 *      blocks    | 0        | 1 | 2 |      3               | 4 |
 *      buckets   |     4            |  3   |  2   |   1    | 0 |
 */
#pragma once

#include "comm/sync/sync.h"
#include "train/param.h"

typedef struct train_buckets {
    int buckets, blocks;
    sync_bucket *bucket; /* [buckets] in the order in which backward completes them */
    int *first, *last;   /* [blocks] buckets that hold the block's elements */
    int *members;        /* [buckets] blocks with elements in the bucket */
    int *missing;        /* [buckets] members that are not yet final in this step */
} train_buckets;

/* bytes: of a bucket; 0: everything in one. Borders lie on multiples of 16 elements, as those of blocks. */
weft_status buckets_create(const param_store *store, int64_t bytes, train_buckets *buckets);
/* Elements of the longest bucket of that size, of `trained` elements; a short vector is shorter. */
int64_t buckets_longest(int64_t trained, int64_t bytes, weft_dtype dtype);
/* A step begins: nothing is final. */
void buckets_begin(train_buckets *buckets);
void buckets_destroy(train_buckets *buckets);
