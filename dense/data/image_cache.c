/*
 * dense/data/image_cache.c: see dense/data/image_cache.h.
 *
 * Every rank of the node brings an equal part of the memory, a segment: states of its samples, a byte each, then
 * pixels.
 *
 *      rank 0   [states | samples 0 .. per - 1]     rank 1   [states | samples per .. 2 per - 1]     ...
 *
 *      EMPTY --whoever has the pixels--> FILLING --pixels are written--> FULL        for the rest of the job
 */
#include "dense/data/image_cache.h"

#include <assert.h>
#include <string.h>

#include "base/alloc.h"
#include "base/log.h"
#include "base/number.h"
#include "comm/core/layout.h"
#include "comm/core/window.h"

enum { EMPTY, FILLING, FULL, STATES_ALIGN = 64, PIECE = 1 << 20 };

struct image_cache {
    size_t bytes; /* of a sample */
    int64_t samples;
    int64_t held, per; /* samples in memory, and of each segment */
    int segments, me;
    int64_t spread;            /* samples of each memory, where they are spread; 0: they are not */
    int units, unit;           /* memories that samples are spread over, 1: they are not; this rank's */
    const comm_layout *layout; /* a memory is a node's; NULL: a rank's */
    uint8_t **segment;         /* [segments] */
    comm_window *window;       /* that holds them; NULL: the one segment is this rank's own */
    image_disk *disk;          /* or NULL */
};

static size_t states_bytes(int64_t per)
{
    return ((size_t)per + STATES_ALIGN - 1) / STATES_ALIGN * STATES_ALIGN;
}

static size_t segment_bytes(const image_cache *cache)
{
    return states_bytes(cache->per) + (size_t)cache->per * cache->bytes;
}

/* Samples within `memory` bytes in so many segments; a segment is as much as its rank can have. */
static void size_segments(const image_cache_desc *desc, uint64_t memory, int segments, image_cache *cache)
{
    const uint64_t part = memory / (uint64_t)segments;
    const int64_t room = part < STATES_ALIGN ? 0 : (int64_t)((part - STATES_ALIGN) / (desc->bytes + 1));
    const int64_t needed = (desc->samples + segments - 1) / segments;
    cache->segments = segments;
    cache->per = room < needed ? room : needed;
    cache->held = cache->per * segments < desc->samples ? cache->per * segments : desc->samples;
}

uint64_t image_cache_bytes(int64_t samples, size_t bytes, int ranks)
{
    const uint64_t per = ((uint64_t)samples + (uint64_t)ranks - 1) / (uint64_t)ranks;
    return (uint64_t)ranks * (STATES_ALIGN + per * (bytes + 1));
}

/* ---- making ---------------------------------------------------------------------------------------------------- */

/* Whether nodes have several ranks, and each has room for its segments and as much again for messages. Collective. */
static weft_status may_share(weft_comm *comm, const image_cache *cache, bool *share)
{
    int32_t several = comm_node_size(comm) > 1;
    const uint64_t all = (uint64_t)cache->segments * segment_bytes(cache);
    const uint64_t room = comm_window_room(comm);
    int32_t fits = room / 2 >= all;
    if (!fits) {
        log_info(
            "images: %s of shared memory are left where %s would be kept for all ranks of the node: each rank keeps "
            "some for itself (docker --shm-size, or mount -o remount,size=... /dev/shm, gives more)",
            number_say_bytes(room).text, number_say_bytes(all).text);
    }
    WEFT_TRY(comm_allreduce(comm, &several, 1, WEFT_DTYPE_I32, COMM_MAX));
    WEFT_TRY(comm_allreduce(comm, &fits, 1, WEFT_DTYPE_I32, COMM_MIN));
    *share = several != 0 && fits != 0;
    return WEFT_OK;
}

static weft_status share_segments(weft_comm *comm, image_cache *cache)
{
    WEFT_TRY(comm_window_create(comm, (int64_t)segment_bytes(cache), &cache->window));
    cache->me = window_me(cache->window);
    weft_status status = WEFT_NEW(&cache->segment, cache->segments, WEFT_MEM_IMAGE);
    for (int q = 0; status == WEFT_OK && q < cache->segments; ++q) {
        cache->segment[q] = window_segment(cache->window, q);
    }
    return status;
}

static weft_status own_segment(image_cache *cache)
{
    WEFT_TRY(WEFT_NEW(&cache->segment, 1, WEFT_MEM_IMAGE));
    cache->segment[0] = NULL;
    return weft_malloc(segment_bytes(cache), 1, WEFT_MEM_IMAGE, (void **)&cache->segment[0]);
}

/* Its pages are made here: shared memory that has run out when a page is first touched kills the process, and what the
 * job will need is seen before it starts. EMPTY is zero. */
static void touch(const image_cache *cache, int threads)
{
    const int64_t bytes = (int64_t)segment_bytes(cache);
    uint8_t *mine = cache->segment[cache->me];
#pragma omp parallel for schedule(static) num_threads(threads)
    for (int64_t at = 0; at < bytes; at += PIECE) {
        memset(mine + at, EMPTY, (size_t)(bytes - at < PIECE ? bytes - at : PIECE));
    }
}

/* Where some memory has not all, every one has as many as the smallest, of its own. Collective. */
static weft_status spread(weft_comm *comm, bool share, image_cache *cache)
{
    const comm_layout *layout = comm_get_layout(comm);
    const int units = share ? layout->nodes : comm_size(comm);
    int64_t least = cache->held;
    WEFT_TRY(comm_allreduce(comm, &least, 1, WEFT_DTYPE_I64, COMM_MIN));
    if (least == cache->samples || units == 1 || least == 0) {
        return WEFT_OK;
    }
    cache->units = units;
    cache->layout = share ? layout : NULL;
    cache->unit = share ? layout->node_of[comm_rank(comm)] : comm_rank(comm);
    cache->spread = least;
    const int64_t all = (cache->samples - cache->unit + units - 1) / units; /* whose home this could be */
    cache->held = least < all ? least : all;
    return WEFT_OK;
}

static weft_status create_segments(weft_comm *comm, const image_cache_desc *desc, image_cache *cache)
{
    bool share;
    const int ranks = comm_node_size(comm);
    size_segments(desc, desc->memory, ranks, cache);
    WEFT_TRY(may_share(comm, cache, &share));
    if (!share) {
        size_segments(desc, desc->memory / (uint64_t)ranks, 1, cache);
    }
    weft_status status = share ? share_segments(comm, cache) : own_segment(cache);
    if (status == WEFT_OK) {
        touch(cache, desc->threads);
    }
    WEFT_TRY(comm_agree(comm, status)); /* from here on all segments are EMPTY */
    return desc->spread ? spread(comm, share, cache) : WEFT_OK;
}

weft_status image_cache_create(weft_comm *comm, const image_cache_desc *desc, image_cache **out)
{
    image_cache *cache;
    *out = NULL;
    weft_status status = WEFT_NEW_ZERO(&cache, 1, WEFT_MEM_IMAGE);
    WEFT_TRY_GOTO(comm_agree(comm, status), status, done);
    cache->bytes = desc->bytes;
    cache->samples = desc->samples;
    cache->units = 1;
    WEFT_TRY_GOTO(create_segments(comm, desc, cache), status, done);
    if (desc->disk != NULL) {
        WEFT_TRY_GOTO(image_disk_open(comm, desc->disk, &cache->disk), status, done);
    }
    *out = cache;
    return WEFT_OK;
done:
    image_cache_destroy(cache);
    return status;
}

void image_cache_destroy(image_cache *cache)
{
    if (cache == NULL) {
        return;
    }
    image_disk_close(cache->disk);
    if (cache->window == NULL && cache->segment != NULL) {
        weft_free(cache->segment[0]);
    }
    comm_window_destroy(cache->window);
    WEFT_FREE_ALL(cache->segment, cache);
}

/* ---- using ----------------------------------------------------------------------------------------------------- */

/* NULL: no place in memory. */
static uint8_t *state_of(const image_cache *cache, int64_t number, uint8_t **pixels)
{
    const int64_t place = number / cache->units;
    assert(number >= 0 && number < cache->samples);
    if (number % cache->units != cache->unit || place >= cache->held) {
        return NULL;
    }
    uint8_t *segment = cache->segment[place / cache->per];
    const int64_t at = place % cache->per;
    *pixels = segment + states_bytes(cache->per) + (size_t)at * cache->bytes;
    return segment + at;
}

static void keep(const image_cache *cache, int64_t number, const uint8_t *pixels)
{
    uint8_t *kept;
    uint8_t *state = state_of(cache, number, &kept), expected = EMPTY;
    if (state != NULL &&
        __atomic_compare_exchange_n(state, &expected, (uint8_t)FILLING, false, __ATOMIC_ACQUIRE, __ATOMIC_RELAXED)) {
        memcpy(kept, pixels, cache->bytes);
        __atomic_store_n(state, (uint8_t)FULL, __ATOMIC_RELEASE);
    }
}

image_level image_cache_take(const image_cache *cache, int64_t number, uint8_t *pixels)
{
    uint8_t *kept;
    const uint8_t *state = state_of(cache, number, &kept);
    if (state != NULL && __atomic_load_n(state, __ATOMIC_ACQUIRE) == FULL) {
        memcpy(pixels, kept, cache->bytes);
        return IMAGE_FROM_MEMORY;
    }
    if (cache->disk != NULL && image_disk_read(cache->disk, number, pixels)) {
        keep(cache, number, pixels);
        return IMAGE_FROM_DISK;
    }
    return IMAGE_FROM_SOURCE;
}

void image_cache_put(const image_cache *cache, int64_t number, const uint8_t *pixels, bool lasting)
{
    keep(cache, number, pixels);
    if (lasting && cache->disk != NULL) {
        image_disk_write(cache->disk, number, pixels);
    }
}

int64_t image_cache_held(const image_cache *cache)
{
    return cache->held;
}

int64_t image_cache_number(const image_cache *cache, int64_t place)
{
    assert(place >= 0 && place < cache->held);
    return place * cache->units + cache->unit;
}

bool image_cache_is_spread(const image_cache *cache)
{
    return cache->units > 1;
}

/* The ranks of a node take turns to answer. */
int image_cache_home(const image_cache *cache, int64_t number)
{
    const int unit = (int)(number % cache->units);
    assert(number >= 0 && number < cache->samples);
    const int64_t place = number / cache->units;
    if (place >= cache->spread) {
        return -1;
    }
    if (cache->layout == NULL) {
        return unit;
    }
    const int *first = &cache->layout->first[unit];
    return cache->layout->member[first[0] + (int)(place % (first[1] - first[0]))];
}

bool image_cache_together(const image_cache *cache, int a, int b)
{
    return cache->layout != NULL ? cache->layout->node_of[a] == cache->layout->node_of[b] : a == b;
}

int image_cache_ranks(const image_cache *cache, int *me)
{
    *me = cache->me;
    return cache->segments;
}
