/* train/buckets.c: see train/buckets.h. */
#include "train/buckets.h"

#include <string.h>

#include "base/alloc.h"

enum { BORDER = 16 }; /* elements: blocks start on such borders too */

typedef struct cutter {
    train_buckets *out; /* its arrays NULL: count only */
    int64_t limit;      /* elements */
    int64_t filled;     /* of the bucket under way, the last */
    int buckets;
} cutter;

static void open_bucket(cutter *c, int64_t end)
{
    if (c->out->bucket != NULL) {
        c->out->bucket[c->buckets] = (sync_bucket){.offset = end, .count = 0};
    }
    c->buckets += 1;
    c->filled = 0;
}

/* The bucket under way grows downwards by `count` elements of a block. */
static void add(cutter *c, int block, int64_t count)
{
    c->filled += count;
    if (c->out->bucket == NULL) {
        return;
    }
    int b = c->buckets - 1;
    c->out->bucket[b].offset -= count;
    c->out->bucket[b].count += count;
    c->out->members[b] += 1;
    if (c->out->first[block] < 0) {
        c->out->first[block] = b;
    }
    c->out->last[block] = b;
}

static void cut(const param_store *store, cutter *c)
{
    int64_t end = store->trained;
    c->filled = c->limit;
    c->buckets = 0;
    for (int block = c->out->blocks - 1; block >= 0; --block) {
        int64_t left = end - store->block[block].offset;
        if (left > 0 && c->filled + left > c->limit) {
            open_bucket(c, end);
        }
        while (left > c->limit) {
            add(c, block, c->limit);
            end -= c->limit;
            left -= c->limit;
            open_bucket(c, end);
        }
        if (left > 0) {
            add(c, block, left);
        }
        end -= left;
    }
}

static weft_status allocate(train_buckets *buckets, int count)
{
    buckets->buckets = count;
    WEFT_TRY(WEFT_NEW_ZERO(&buckets->members, count, WEFT_MEM_GENERAL));
    WEFT_TRY(WEFT_NEW_ZERO(&buckets->missing, count, WEFT_MEM_GENERAL));
    WEFT_TRY(WEFT_NEW(&buckets->first, buckets->blocks, WEFT_MEM_GENERAL));
    WEFT_TRY(WEFT_NEW(&buckets->last, buckets->blocks, WEFT_MEM_GENERAL));
    WEFT_TRY(WEFT_NEW_ZERO(&buckets->bucket, count, WEFT_MEM_GENERAL));
    for (int block = 0; block < buckets->blocks; ++block) {
        buckets->first[block] = -1;
        buckets->last[block] = -2; /* an empty range, should a block be empty */
    }
    return WEFT_OK;
}

int64_t buckets_longest(int64_t trained, int64_t bytes, weft_dtype dtype)
{
    const int64_t limit = bytes / (int64_t)weft_dtype_bytes(dtype) / BORDER * BORDER;
    return bytes <= 0 ? trained : limit > BORDER ? limit : BORDER;
}

weft_status buckets_create(const param_store *store, int64_t bytes, train_buckets *buckets)
{
    memset(buckets, 0, sizeof *buckets);
    buckets->blocks = store->trained_blocks;
    cutter c = {.out = buckets, .limit = buckets_longest(store->trained, bytes, store->dtype)};
    cut(store, &c);
    weft_status status = allocate(buckets, c.buckets);
    if (status != WEFT_OK) {
        buckets_destroy(buckets);
        return status;
    }
    cut(store, &c);
    buckets_begin(buckets);
    return WEFT_OK;
}

void buckets_begin(train_buckets *buckets)
{
    if (buckets->buckets > 0) {
        memcpy(buckets->missing, buckets->members, (size_t)buckets->buckets * sizeof *buckets->missing);
    }
}

void buckets_destroy(train_buckets *buckets)
{
    WEFT_FREE_ALL(buckets->bucket, buckets->first, buckets->last, buckets->members, buckets->missing);
    memset(buckets, 0, sizeof *buckets);
}
