/*
 * comm/sync/create.c: making a synchronisation: options, the modes by name, checks of what is described, the choice of
 * the mode, and the plan of full averages.
 */
#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/log.h"
#include "comm/comm_options.def"
#include "comm/core/comm_internal.h"
#include "comm/sync/staging.h"
#include "comm/sync/tracking.h"

static const char *const mode_names[] = {SYNC_MODES(CHOICE_NAME)};

static const sync_ops *const mode_ops[SYNC_AUTO] = {
    [SYNC_ALLREDUCE] = &sync_allreduce_ops,
    [SYNC_TOPK] = &sync_topk_ops,
    [SYNC_DIVIDE_SHUFFLE] = &sync_divide_shuffle_ops,
    [SYNC_SHADOW] = &sync_shadow_ops,
    [SYNC_ASP] = &sync_asp_ops,
};

const char *sync_mode_name(sync_mode mode)
{
    return mode >= 0 && mode <= SYNC_AUTO ? mode_names[mode] : "unknown";
}

const sync_ops *sync_ops_of(sync_mode mode)
{
    assert(mode >= 0 && mode < SYNC_AUTO);
    return mode_ops[mode];
}

sync_options sync_options_default(void)
{
    sync_options options = {.mode = SYNC_ALLREDUCE,
                            .algorithm = COMM_ALGO_AUTO,
                            .wire = COMM_WIRE_SAME,
                            .overlap = OVERLAP_BACKWARD,
                            .bucket_bytes = (int64_t)25 << 20,
                            .threads = 1};
    for (int mode = 0; mode < SYNC_AUTO; ++mode) {
        if (mode_ops[mode]->defaults != NULL) {
            mode_ops[mode]->defaults(&options);
        }
    }
    return options;
}

bool sync_mode_tracks(sync_mode mode)
{
    return mode >= 0 && mode < SYNC_AUTO && mode_ops[mode]->local_updates;
}

sync_tracking sync_tracking_of(const sync_options *options, sync_mode mode)
{
    bool may = mode == SYNC_AUTO ? options->allow_lossy : sync_mode_tracks(mode);
    bool moments = mode == SYNC_DIVIDE_SHUFFLE && options->second_moments;
    if (!may || (options->tracking == SYNC_TRACKING_MOMENTS && !moments)) {
        return SYNC_TRACKING_OFF;
    }
    if (options->tracking != SYNC_TRACKING_AUTO) {
        return options->tracking;
    }
    if (options->shards != SYNC_SHARDS_REGIONS) {
        return SYNC_TRACKING_OFF;
    }
    return moments ? SYNC_TRACKING_MOMENTS : SYNC_TRACKING_ON;
}

weft_status sync_check_options(const sync_options *options)
{
    WEFT_CHECK(options->tracking != SYNC_TRACKING_ON || sync_mode_tracks(options->mode), WEFT_ERR_USAGE,
               FLAG_SYNC " %s has no use for " FLAG_GRADIENT_TRACKING " on: leave it out, or take " FLAG_SYNC
                         " divide-shuffle, shadow or asp",
               sync_mode_name(options->mode));
    if (options->tracking == SYNC_TRACKING_MOMENTS) {
        WEFT_CHECK(options->mode == SYNC_DIVIDE_SHUFFLE, WEFT_ERR_USAGE,
                   FLAG_SYNC " %s has no use for " FLAG_GRADIENT_TRACKING " moments: leave it out, or take " FLAG_SYNC
                             " divide-shuffle",
                   sync_mode_name(options->mode));
        WEFT_CHECK(options->second_moments, WEFT_ERR_USAGE,
                   FLAG_GRADIENT_TRACKING " moments: the optimiser keeps no second moments; take adam, "
                                          "or " FLAG_GRADIENT_TRACKING " on");
    }
    const bool shadows = options->mode == SYNC_SHADOW || options->mode == SYNC_AUTO;
    WEFT_CHECK(!shadows || options->shadow.share == 1 || options->shadow.gap == 0, WEFT_ERR_USAGE,
               FLAG_SHADOW_SHARE " %g and " FLAG_SHADOW_GAP
                                 " %lld: one waits for time, the other counts steps: give one",
               options->shadow.share, (long long)options->shadow.gap);
    return WEFT_OK;
}

/* ---- creation ------------------------------------------------------------------------------------------- */

static int compare_buckets(const void *a, const void *b)
{
    const sync_bucket *x = a;
    const sync_bucket *y = b;
    return (x->offset > y->offset) - (x->offset < y->offset);
}

/* Buckets tile the gradient; `sorted` is work space. */
static weft_status check_buckets(const sync_desc *desc, sync_bucket *sorted)
{
    int64_t end = 0;
    if (desc->buckets > 0) {
        memcpy(sorted, desc->bucket, (size_t)desc->buckets * sizeof *sorted);
        qsort(sorted, (size_t)desc->buckets, sizeof *sorted, compare_buckets);
    }
    for (int b = 0; b < desc->buckets; ++b) {
        WEFT_CHECK(sorted[b].offset == end && sorted[b].count > 0 && sorted[b].count <= desc->trained - end,
                   WEFT_ERR_INTERNAL,
                   "buckets must tile the gradient of %lld elements: one of %lld at %lld where %lld is expected",
                   (long long)desc->trained, (long long)sorted[b].count, (long long)sorted[b].offset, (long long)end);
        end += sorted[b].count;
    }
    WEFT_CHECK(end == desc->trained, WEFT_ERR_INTERNAL, "%d buckets cover %lld of %lld elements of the gradient",
               desc->buckets, (long long)end, (long long)desc->trained);
    return WEFT_OK;
}

static weft_status copy_desc(comm_sync *sync, const sync_desc *desc)
{
    sync_bucket *bucket = NULL;
    sync_tensor *tensor = NULL;
    sync->desc = *desc;
    sync->desc.bucket = NULL;
    sync->desc.tensor = NULL;
    WEFT_TRY(WEFT_NEW(&bucket, desc->buckets, WEFT_MEM_COMM));
    sync->desc.bucket = bucket;
    WEFT_TRY(check_buckets(desc, bucket));
    if (desc->buckets > 0) {
        memcpy(bucket, desc->bucket, (size_t)desc->buckets * sizeof *bucket);
    }
    WEFT_TRY(WEFT_NEW(&tensor, desc->tensors, WEFT_MEM_COMM));
    sync->desc.tensor = tensor;
    if (desc->tensors > 0) {
        memcpy(tensor, desc->tensor, (size_t)desc->tensors * sizeof *tensor);
    }
    WEFT_TRY(WEFT_NEW_ZERO(&sync->ready, desc->buckets, WEFT_MEM_COMM));
    return WEFT_NEW_ZERO(&sync->buffer, SYNC_BUFFERS + SYNC_BUFFERS_EACH * (int64_t)desc->buckets, WEFT_MEM_COMM);
}

static weft_status check_desc(const sync_desc *desc, const sync_options *options)
{
    WEFT_CHECK(desc->dtype == WEFT_DTYPE_F32 || desc->dtype == WEFT_DTYPE_F64, WEFT_ERR_UNSUPPORTED,
               "gradients of %s are not synchronised: use float32 or float64", weft_dtype_name(desc->dtype));
    WEFT_CHECK(desc->trained >= 0 && desc->elements >= desc->trained && desc->buckets >= 0 && desc->tensors >= 0,
               WEFT_ERR_INTERNAL, "%lld trained of %lld elements in %d buckets, %d tensors", (long long)desc->trained,
               (long long)desc->elements, desc->buckets, desc->tensors);
    WEFT_CHECK(options->mode >= 0 && options->mode <= SYNC_AUTO, WEFT_ERR_INTERNAL, "synchronisation mode %d of %d",
               (int)options->mode, (int)SYNC_AUTO);
    WEFT_CHECK(desc->dtype == WEFT_DTYPE_F32 || options->mode == SYNC_ALLREDUCE || options->mode == SYNC_AUTO,
               WEFT_ERR_UNSUPPORTED, FLAG_SYNC " %s needs float32 gradients, these are %s: use " FLAG_SYNC " allreduce",
               sync_mode_name(options->mode), weft_dtype_name(desc->dtype));
    return sync_check_options(options);
}

/* One rank has no use for a mode; float64 has one. */
static weft_status choose_mode(comm_sync *sync)
{
    bool single = comm_size(sync->comm) == 1 || sync->desc.dtype != WEFT_DTYPE_F32;
    sync->mode = single ? SYNC_ALLREDUCE : sync->options.mode;
    if (sync->mode == SYNC_AUTO) {
        WEFT_TRY(sync_choose(sync, &sync->mode));
    }
    WEFT_CHECK(sync->mode >= 0 && sync->mode < SYNC_AUTO, WEFT_ERR_INTERNAL, "synchronisation mode %d of %d",
               (int)sync->mode, (int)SYNC_AUTO);
    return WEFT_OK;
}

/* The ranks run the same mode over the same buckets, or none does. */
static weft_status check_same(const comm_sync *sync)
{
    char text[OPERATION_NAME_BYTES];
    uint64_t hash = 0xcbf29ce484222325u; /* FNV-1a over the buckets' borders */
    for (int b = 0; b < sync->desc.buckets; ++b) {
        hash = (hash ^ (uint64_t)sync->desc.bucket[b].offset) * 0x100000001b3u;
        hash = (hash ^ (uint64_t)sync->desc.bucket[b].count) * 0x100000001b3u;
    }
    static const char *const beside[] = {[SYNC_TRACKING_ON] = ", tracking,",
                                         [SYNC_TRACKING_OFF] = "",
                                         [SYNC_TRACKING_MOMENTS] = ", with second moments,"};
    snprintf(text, sizeof text, "synchronisation %s%s of %" PRId64 " + %" PRId64 " %s in %d buckets (%016" PRIx64 ")",
             sync->ops->name, beside[sync_tracking_of(&sync->options, sync->mode)], sync->desc.trained,
             sync->desc.elements - sync->desc.trained, weft_dtype_name(sync->desc.dtype), sync->desc.buckets, hash);
    return comm_check_same(sync->comm, text);
}

static weft_status create_mean(comm_sync *sync)
{
    WEFT_TRY(comm_agree(sync->comm, WEFT_NEW(&sync->mean_buffer, sync->desc.elements, WEFT_MEM_COMM)));
    const comm_allreduce_desc desc = {.lane = COMM_LANE_GRADIENT,
                                      .algorithm = sync->options.algorithm,
                                      .preferred = sync->options.preferred,
                                      .dtype = WEFT_DTYPE_F32,
                                      .op = COMM_SUM,
                                      .count = sync->desc.elements,
                                      .buffer = sync->mean_buffer,
                                      .name = "mean of all parameters"};
    return comm_allreduce_plan(sync->comm, &desc, &sync->mean);
}

static weft_status prepare(comm_sync *sync, const sync_desc *desc)
{
    WEFT_TRY(check_desc(desc, &sync->options));
    return copy_desc(sync, desc);
}

/* Everything of the mode that the sync has. */
static void take_down(comm_sync *sync)
{
    if (sync->ops != NULL && sync->ops->destroy != NULL) {
        sync->ops->destroy(sync);
    }
    comm_plan_destroy(sync->mean);
    weft_free(sync->mean_buffer);
    tracking_destroy(sync);
    staging_destroy(sync);
    sync->mean = NULL;
    sync->mean_buffer = NULL;
}

/* Plans and memory of the mode. Collective. */
static weft_status set_up(comm_sync *sync)
{
    weft_comm *comm = sync->comm;
    sync->ops = mode_ops[sync->mode];
    WEFT_TRY(check_same(sync));
    sync->admits_aside = sync->ops->admits && progress_thread_runs(comm->progress);
    if (comm_size(comm) == 1) {
        return WEFT_OK;
    }
    WEFT_TRY(comm_agree(comm, staging_create(sync)));
    WEFT_TRY(staging_compare(sync));
    const sync_tracking kind = sync_tracking_of(&sync->options, sync->mode);
    if (kind != SYNC_TRACKING_OFF) {
        WEFT_TRY(comm_agree(comm, tracking_create(sync, kind)));
    }
    if (sync->ops->create != NULL) {
        WEFT_TRY(comm_agree(comm, sync->ops->create(sync)));
    }
    return sync->ops->local_updates ? create_mean(sync) : WEFT_OK;
}

/* A mode that would do in every step what all-reduce does, at a higher price, gives way to it. Collective. */
static weft_status set_up_or_give_way(comm_sync *sync)
{
    WEFT_TRY(set_up(sync));
    const char *why = comm_size(sync->comm) > 1 && sync->ops->idle != NULL ? sync->ops->idle(sync) : NULL;
    if (why == NULL) {
        return WEFT_OK;
    }
    log_info("sync %s: every step would send the whole gradient and hold nothing back (%s): allreduce runs, which "
             "is the same and cheaper",
             sync->ops->name, why);
    take_down(sync);
    sync->mode = SYNC_ALLREDUCE;
    return set_up(sync);
}

weft_status sync_create(weft_comm *comm, const sync_options *options, const sync_desc *desc, comm_sync **out)
{
    weft_status status = WEFT_OK;
    comm_sync *sync = NULL;
    *out = NULL;
    weft_status local = WEFT_NEW_ZERO(&sync, 1, WEFT_MEM_COMM);
    COMM_AGREED_GOTO(comm_agree(comm, local), local, status, done);
    sync->comm = comm;
    sync->options = *options;
    sync->tracker.kind = SYNC_TRACKING_OFF;
    sync->diverged = -1;
    sync->figures.density = 1.0;
    sync->figures.gap = 1.0;
    WEFT_TRY_GOTO(comm_agree(comm, prepare(sync, desc)), status, done);
    WEFT_TRY_GOTO(choose_mode(sync), status, done);
    WEFT_TRY_GOTO(set_up_or_give_way(sync), status, done);
    sync->options.divide_shuffle.topology = NULL;
    sync->options.asp.sites = NULL;
    tune_begin(sync);
    *out = sync;
    sync = NULL;
done:
    sync_destroy(sync);
    return status;
}

void sync_destroy(comm_sync *sync)
{
    if (sync == NULL) {
        return;
    }
    take_down(sync);
    WEFT_FREE_ALL(sync->ready, sync->buffer, (void *)(uintptr_t)sync->desc.bucket, (void *)(uintptr_t)sync->desc.tensor,
                  sync);
}
