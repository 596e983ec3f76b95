/*
 * comm/sync/allreduce.c: every gradient is summed over all ranks, bucket by bucket.
 *
 *      backward   a bucket's all-reduce starts when its gradient is complete; waited for before the optimiser
 *      split      the reduce-scatter starts then; the all-gather after backward, waited for before the bucket's
 *                 parameters are read by the next forward pass. The same sums in the same order: the same bits.
 *                 L. Zhang, S. Shi, X. Chu, W. Wang, B. Li, C. Liu: DeAR: accelerating distributed deep learning with
 *                 fine-grained all-reduce pipelining. ICDCS 2023, doi:10.1109/ICDCS57875.2023.00054.
 *      off        everything starts after backward
 *
 * Bytes and time: those of the all-reduce algorithm (comm/coll), once a step over all buckets.
 */
#include <assert.h>
#include <stdio.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "comm/sync/predict.h"
#include "comm/sync/staging.h"

typedef enum bucket_phase { BUCKET_IDLE, BUCKET_REDUCING, BUCKET_OWED } bucket_phase;

typedef struct allreduce_bucket {
    comm_plan *reduce; /* the whole, or the reduce-scatter */
    comm_plan *gather; /* of a split one, or NULL */
    bucket_phase phase;
    double posted;
    comm_sync *sync; /* whose bucket `number` it is */
    int number;
} allreduce_bucket;

typedef struct allreduce {
    allreduce_bucket *bucket; /* [buckets] */
    int buckets;
} allreduce;

static void name_bucket(const comm_sync *sync, int b, char *text, size_t bytes)
{
    const sync_desc *desc = &sync->desc;
    const sync_bucket *bucket = &desc->bucket[b];
    int first = sync_tensor_of(desc, bucket->offset);
    int last = sync_tensor_of(desc, bucket->offset + bucket->count - 1);
    if (first < 0 || last < 0) {
        snprintf(text, bytes, "bucket %d", b);
    } else if (first == last) {
        snprintf(text, bytes, "bucket %d (%s)", b, desc->tensor[first].name);
    } else {
        snprintf(text, bytes, "bucket %d (%s..%s)", b, desc->tensor[first].name, desc->tensor[last].name);
    }
}

/* On the communication thread, once the bucket is here. */
static weft_status admit(void *argument, bool *done)
{
    const allreduce_bucket *bucket = argument;
    WEFT_TRY(staging_gradient_here(bucket->sync, bucket->number, done));
    if (*done) {
        sync_admit(bucket->sync, bucket->number, 1);
    }
    return WEFT_OK;
}

static weft_status plan_bucket(comm_sync *sync, int b, allreduce_bucket *out)
{
    const sync_options *options = &sync->options;
    const sync_bucket *bucket = &sync->desc.bucket[b];
    bool split = options->overlap == OVERLAP_SPLIT;
    char name[128];
    name_bucket(sync, b, name, sizeof name);
    comm_allreduce_desc desc = {.lane = COMM_LANE_GRADIENT,
                                .algorithm = options->algorithm,
                                .preferred = options->preferred,
                                .dtype = sync->desc.dtype,
                                .op = COMM_SUM,
                                .count = bucket->count,
                                .buffer = (unsigned char *)sync->desc.grad +
                                          (size_t)bucket->offset * weft_dtype_bytes(sync->desc.dtype),
                                .wire = sync->desc.dtype == WEFT_DTYPE_F32 ? options->wire : COMM_WIRE_SAME,
                                .half = split ? COMM_REDUCE_SCATTER : COMM_WHOLE,
                                .name = name,
                                .before = sync->admits_aside ? admit : NULL,
                                .argument = out};
    out->sync = sync;
    out->number = b;
    WEFT_TRY(comm_allreduce_plan(sync->comm, &desc, &out->reduce));
    if (split) {
        desc.half = COMM_ALL_GATHER;
        desc.before = NULL;
        WEFT_TRY(comm_allreduce_plan(sync->comm, &desc, &out->gather));
    }
    return WEFT_OK;
}

static weft_status allocate(comm_sync *sync)
{
    allreduce *a = NULL;
    WEFT_TRY(WEFT_NEW_ZERO(&a, 1, WEFT_MEM_COMM));
    sync->self = a;
    WEFT_TRY(WEFT_NEW_ZERO(&a->bucket, sync->desc.buckets, WEFT_MEM_COMM));
    a->buckets = sync->desc.buckets;
    return WEFT_OK;
}

static weft_status create(comm_sync *sync)
{
    WEFT_TRY(comm_agree(sync->comm, allocate(sync)));
    allreduce *a = sync->self;
    for (int b = 0; b < a->buckets; ++b) {
        WEFT_TRY(plan_bucket(sync, b, &a->bucket[b]));
    }
    return WEFT_OK;
}

static void destroy(comm_sync *sync)
{
    allreduce *a = sync->self;
    if (a == NULL) {
        return;
    }
    for (int b = 0; b < a->buckets; ++b) {
        comm_plan_destroy(a->bucket[b].reduce);
        comm_plan_destroy(a->bucket[b].gather);
    }
    WEFT_FREE_ALL(a->bucket, a);
    sync->self = NULL;
}

static weft_status post(allreduce_bucket *bucket)
{
    assert(bucket->phase == BUCKET_IDLE);
    bucket->posted = clock_seconds();
    bucket->phase = BUCKET_REDUCING;
    return comm_post(bucket->reduce);
}

static weft_status ready(comm_sync *sync, int b)
{
    allreduce *a = sync->self;
    return sync->options.overlap == OVERLAP_OFF ? WEFT_OK : post(&a->bucket[b]);
}

/* Ends the bucket's operation under way, as far as the caller sees it. */
static weft_status await(comm_sync *sync, allreduce_bucket *bucket, comm_plan *plan)
{
    WEFT_TRY(comm_wait(plan));
    sync->figures.busy_s += clock_seconds() - bucket->posted;
    bucket->phase = BUCKET_IDLE;
    return WEFT_OK;
}

static weft_status gradients(comm_sync *sync)
{
    allreduce *a = sync->self;
    for (int b = 0; sync->options.overlap == OVERLAP_OFF && b < a->buckets; ++b) {
        WEFT_TRY(post(&a->bucket[b]));
    }
    for (int b = 0; b < a->buckets; ++b) {
        WEFT_TRY(await(sync, &a->bucket[b], a->bucket[b].reduce));
    }
    /* The bucket that the next forward pass needs first is the one that backward finished last. */
    for (int b = a->buckets - 1; b >= 0 && sync->options.overlap == OVERLAP_SPLIT; --b) {
        a->bucket[b].posted = clock_seconds();
        a->bucket[b].phase = BUCKET_OWED;
        WEFT_TRY(comm_post(a->bucket[b].gather));
    }
    return WEFT_OK;
}

static bool owes(const comm_sync *sync, int b)
{
    const allreduce *a = sync->self;
    return a->bucket[b].phase == BUCKET_OWED;
}

static weft_status need(comm_sync *sync, int b)
{
    allreduce *a = sync->self;
    assert(a->bucket[b].phase == BUCKET_OWED);
    return await(sync, &a->bucket[b], a->bucket[b].gather);
}

/* Sums that nobody asked for by now are of a step that is given up. */
static weft_status settle(comm_sync *sync, bool last)
{
    allreduce *a = sync->self;
    (void)last;
    for (int b = 0; b < a->buckets; ++b) {
        if (a->bucket[b].phase == BUCKET_REDUCING) {
            WEFT_TRY(await(sync, &a->bucket[b], a->bucket[b].reduce));
        } else if (a->bucket[b].phase == BUCKET_OWED) {
            WEFT_TRY(await(sync, &a->bucket[b], a->bucket[b].gather));
        }
    }
    return WEFT_OK;
}

/* ---- prediction ------------------------------------------------------------------------------------------ */
static weft_status predict(const comm_sync *sync, double *seconds)
{
    for (int b = 0; b < sync->desc.buckets; ++b) {
        *seconds += predict_allreduce(sync, sync->desc.bucket[b].count);
    }
    return WEFT_OK;
}

const sync_ops sync_allreduce_ops = {SYNC_OPS,       .name = "allreduce", .exact = true,
                                     .admits = true, .ready = ready,      .gradients = gradients,
                                     .owes = owes,   .need = need,        .settle = settle};
