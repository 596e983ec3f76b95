/* comm/sync/staging.c: see comm/sync/staging.h. */
#include "comm/sync/staging.h"

#include "base/alloc.h"
#include "comm/core/wire.h"
#include "hal/pack.h"

static size_t element_bytes(const comm_sync *sync)
{
    return weft_dtype_bytes(sync->desc.dtype);
}

static void *at(const comm_sync *sync, void *base, int64_t element)
{
    return (unsigned char *)base + (size_t)element * element_bytes(sync);
}

static bool on_device(const comm_sync *sync)
{
    return sync->staging.grad != NULL;
}

/* Memory that the host sees is the mode's to use once the backend has written it. */
static weft_status wait_for_stream(const comm_sync *sync)
{
    weft_hal *hal = sync->desc.hal;
    return hal == NULL || comm_size(sync->comm) == 1 ? WEFT_OK : hal->stream.sync(hal);
}

/* ---- creation ------------------------------------------------------------------------------------------- */

static weft_status create_narrow(comm_sync *sync)
{
    sync_staging *s = &sync->staging;
    weft_hal *hal = sync->desc.hal;
    if (sync->mode != SYNC_ALLREDUCE || sync->desc.dtype != WEFT_DTYPE_F32 || sync->options.wire == COMM_WIRE_SAME ||
        sync->desc.trained == 0) {
        return WEFT_OK;
    }
    s->narrow_dtype = wire_dtype(sync->options.wire);
    const size_t bytes = (size_t)sync->desc.trained * weft_dtype_bytes(s->narrow_dtype);
    WEFT_TRY(hal->mem.alloc_host(hal, bytes, WEFT_MEM_COMM, &s->narrow_host));
    return hal->mem.alloc(hal, bytes, WEFT_MEM_COMM, &s->narrow);
}

/* Whether gradients are asked for on the communication thread: the mode's operations begin there, with all of a
 * bucket. */
static bool comes_late(const comm_sync *sync)
{
    return sync->mode == SYNC_ALLREDUCE && sync->admits_aside && sync->desc.hal->stream.reached != NULL;
}

/* Modes that move parameters alone. */
static bool sends_none(const comm_sync *sync)
{
    return sync->ops->local_updates && sync->ops->ready == NULL && sync->ops->gradients == NULL &&
           sync_tracking_of(&sync->options, sync->mode) != SYNC_TRACKING_ON;
}

/* Where gradients come to. */
static weft_status create_gradients(comm_sync *sync)
{
    sync_staging *s = &sync->staging;
    weft_hal *hal = sync->desc.hal;
    if (s->stays) {
        return WEFT_OK;
    }
    WEFT_TRY(hal->mem.alloc_host(hal, (size_t)sync->desc.trained * element_bytes(sync), WEFT_MEM_COMM, &s->grad_host));
    if (!comes_late(sync)) {
        return WEFT_OK;
    }
    WEFT_TRY(weft_calloc((size_t)sync->desc.buckets, sizeof(hal_event *), WEFT_MEM_COMM, (void **)&s->event));
    for (int b = 0; b < sync->desc.buckets; ++b) {
        WEFT_TRY(hal->stream.create(hal, &s->event[b]));
    }
    return WEFT_OK;
}

static weft_status create_places(comm_sync *sync)
{
    sync_staging *s = &sync->staging;
    weft_hal *hal = sync->desc.hal;
    const size_t bytes = (size_t)sync->desc.buckets * sizeof *s->place;
    WEFT_TRY(hal->stream.create(hal, &s->admitted));
    WEFT_TRY(hal->mem.alloc_host(hal, bytes, WEFT_MEM_COMM, (void **)&s->place_host));
    return hal->mem.alloc(hal, bytes, WEFT_MEM_COMM, (void **)&s->place);
}

weft_status staging_create(comm_sync *sync)
{
    sync_staging *s = &sync->staging;
    sync_desc *desc = &sync->desc;
    weft_hal *hal = desc->hal;
    if (hal == NULL || hal_host_visible(hal) || comm_size(sync->comm) == 1 || desc->elements == 0) {
        return WEFT_OK;
    }
    s->stays = sends_none(sync);
    WEFT_TRY(weft_malloc((size_t)desc->elements, element_bytes(sync), WEFT_MEM_COMM, &s->value_host));
    WEFT_TRY(create_gradients(sync));
    WEFT_TRY(s->stays || sync->mode == SYNC_TOPK ? create_places(sync) : WEFT_OK);
    s->elements = desc->elements;
    s->value = desc->value;
    s->grad = desc->grad;
    desc->value = s->value_host;
    desc->grad = s->grad_host;
    return WEFT_OK;
}

weft_status staging_compare(comm_sync *sync)
{
    int32_t device = on_device(sync);
    WEFT_TRY(comm_allreduce(sync->comm, &device, 1, WEFT_DTYPE_I32, COMM_MIN));
    sync->staging.everywhere = device != 0;
    return device != 0 ? comm_agree(sync->comm, create_narrow(sync)) : WEFT_OK;
}

static void destroy_events(comm_sync *sync)
{
    sync_staging *s = &sync->staging;
    weft_hal *hal = sync->desc.hal;
    for (int b = 0; s->event != NULL && b < sync->desc.buckets; ++b) {
        if (s->event[b] != NULL) {
            hal->stream.destroy(hal, s->event[b]);
        }
    }
    weft_free(s->event);
    if (s->admitted != NULL) {
        hal->stream.destroy(hal, s->admitted);
    }
}

void staging_destroy(comm_sync *sync)
{
    sync_staging *s = &sync->staging;
    weft_hal *hal = sync->desc.hal;
    destroy_events(sync);
    weft_free(s->value_host);
    void *const host[] = {s->grad_host, s->narrow_host, s->place_host};
    void *const device[] = {s->narrow, s->place};
    for (size_t i = 0; i < sizeof host / sizeof *host; ++i) {
        if (host[i] != NULL) {
            hal->mem.free_host(hal, host[i]);
        }
    }
    for (size_t i = 0; i < sizeof device / sizeof *device; ++i) {
        if (device[i] != NULL) {
            hal->mem.free(hal, device[i]);
        }
    }
    if (on_device(sync)) {
        sync->desc.value = s->value;
        sync->desc.grad = s->grad;
    }
    *s = (sync_staging){0};
}

/* ---- parameters ----------------------------------------------------------------------------------------- */

weft_status staging_values_in(comm_sync *sync)
{
    const sync_staging *s = &sync->staging;
    weft_hal *hal = sync->desc.hal;
    if (!on_device(sync)) {
        return wait_for_stream(sync);
    }
    return hal->mem.download(hal, s->value_host, s->value, (size_t)s->elements * element_bytes(sync));
}

weft_status staging_values_out(comm_sync *sync)
{
    const sync_staging *s = &sync->staging;
    weft_hal *hal = sync->desc.hal;
    if (!on_device(sync)) {
        return WEFT_OK;
    }
    return hal->mem.upload(hal, s->value, s->value_host, (size_t)s->elements * element_bytes(sync));
}

/* ---- gradients ------------------------------------------------------------------------------------------ */

/* What crosses of a bucket: its gradient, or that in fewer bits, of `bytes` on the device and here. */
typedef struct crossing {
    void *device, *host;
    size_t bytes;
} crossing;

static crossing crossing_of(const comm_sync *sync, const sync_bucket *bucket)
{
    const sync_staging *s = &sync->staging;
    const bool narrow = s->narrow != NULL;
    const size_t bytes = narrow ? weft_dtype_bytes(s->narrow_dtype) : element_bytes(sync);
    const size_t offset = (size_t)bucket->offset * bytes;
    return (crossing){.device = (unsigned char *)(narrow ? s->narrow : s->grad) + offset,
                      .host = (unsigned char *)(narrow ? s->narrow_host : s->grad_host) + offset,
                      .bytes = (size_t)bucket->count * bytes};
}

/* On the device; nothing where whole gradients cross. */
static weft_status cast(const comm_sync *sync, const sync_bucket *bucket, bool narrower)
{
    const sync_staging *s = &sync->staging;
    if (s->narrow == NULL) {
        return WEFT_OK;
    }
    const hal_mat wide = hal_row_of(at(sync, s->grad, bucket->offset), WEFT_DTYPE_F32, bucket->count);
    const hal_mat narrow = hal_row_of(crossing_of(sync, bucket).device, s->narrow_dtype, bucket->count);
    const hal_cast_args args = {.x = narrower ? wide : narrow, .y = narrower ? narrow : wide};
    return hal_cast(sync->desc.hal, &args);
}

/* Here: what came becomes the gradient, or what goes is made of it. */
static void decode(const comm_sync *sync, const sync_bucket *bucket)
{
    const sync_staging *s = &sync->staging;
    if (s->narrow != NULL) {
        hal_pack_decode(s->narrow_dtype, crossing_of(sync, bucket).host, at(sync, s->grad_host, bucket->offset),
                        bucket->count);
    }
}

static void encode(const comm_sync *sync, const sync_bucket *bucket)
{
    const sync_staging *s = &sync->staging;
    if (s->narrow != NULL) {
        hal_pack_encode(s->narrow_dtype, at(sync, s->grad_host, bucket->offset), crossing_of(sync, bucket).host,
                        bucket->count);
    }
}

weft_status staging_gradient_in(comm_sync *sync, int b)
{
    const sync_staging *s = &sync->staging;
    const sync_bucket *bucket = &sync->desc.bucket[b];
    weft_hal *hal = sync->desc.hal;
    if (!on_device(sync)) {
        return wait_for_stream(sync);
    }
    if (s->stays) {
        return WEFT_OK;
    }
    const crossing down = crossing_of(sync, bucket);
    WEFT_TRY(cast(sync, bucket, true));
    if (s->event != NULL) { /* the bucket's operation asks staging_gradient_here before it reads it */
        WEFT_TRY(hal->mem.download_async(hal, down.host, down.device, down.bytes));
        return hal->stream.record(hal, s->event[b]);
    }
    WEFT_TRY(hal->mem.download(hal, down.host, down.device, down.bytes));
    decode(sync, bucket);
    return WEFT_OK;
}

weft_status staging_gradient_out(comm_sync *sync, int b)
{
    const sync_staging *s = &sync->staging;
    const sync_bucket *bucket = &sync->desc.bucket[b];
    weft_hal *hal = sync->desc.hal;
    if (!on_device(sync) || s->stays) {
        return WEFT_OK;
    }
    const crossing up = crossing_of(sync, bucket);
    encode(sync, bucket);
    /* What comes late comes the next time behind this in the stream, so that the sum stays until it is up. */
    WEFT_TRY((s->event != NULL ? hal->mem.upload_async : hal->mem.upload)(hal, up.device, up.host, up.bytes));
    return cast(sync, bucket, false);
}

weft_status staging_gradient_here(const comm_sync *sync, int b, bool *here)
{
    const sync_staging *s = &sync->staging;
    *here = true;
    if (s->event == NULL) {
        return WEFT_OK;
    }
    WEFT_TRY(sync->desc.hal->stream.reached(sync->desc.hal, s->event[b], here));
    if (*here) {
        decode(sync, &sync->desc.bucket[b]);
    }
    return WEFT_OK;
}

/* ---- gradients that stay ----------------------------------------------------------- */

weft_status staging_admit(comm_sync *sync, int b)
{
    const sync_staging *s = &sync->staging;
    const sync_bucket *bucket = &sync->desc.bucket[b];
    weft_hal *hal = sync->desc.hal;
    void *grad = at(sync, s->grad, bucket->offset);
    const hal_zero_unless_finite_args args = {.x = hal_row_of(grad, WEFT_DTYPE_F32, bucket->count),
                                              .place = hal_row_of(s->place + b, WEFT_DTYPE_I64, 1)};
    if (sync->weight == 0) {
        WEFT_TRY(hal->mem.zero(hal, grad, (size_t)bucket->count * element_bytes(sync)));
    }
    WEFT_TRY(hal_zero_unless_finite(hal, &args));
    WEFT_TRY(hal->mem.download_async(hal, s->place_host + b, s->place + b, sizeof *s->place));
    return hal->stream.record(hal, s->admitted);
}

weft_status staging_admitted(comm_sync *sync)
{
    const sync_staging *s = &sync->staging;
    const sync_desc *desc = &sync->desc;
    if (!s->stays || desc->buckets == 0) {
        return WEFT_OK;
    }
    WEFT_TRY(desc->hal->stream.wait(desc->hal, s->admitted));
    for (int b = 0; b < desc->buckets; ++b) {
        if (s->place_host[b] >= 0) {
            sync_blame(sync, desc->bucket[b].offset + s->place_host[b]);
        }
    }
    return WEFT_OK;
}

weft_status staging_scale(const comm_sync *sync, float factor)
{
    const hal_mat grad = hal_row_of(sync->staging.grad, WEFT_DTYPE_F32, sync->desc.trained);
    const hal_axpby_args args = {.x = grad, .y = grad, .alpha = (double)factor, .beta = 0.0};
    return hal_axpby(sync->desc.hal, &args);
}
