/* comm/sync/staging.c: see comm/sync/staging.h. */
#include "comm/sync/staging.h"

#include <math.h>

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

static int64_t longest_bucket(const sync_desc *desc)
{
    int64_t most = 0;
    for (int b = 0; b < desc->buckets; ++b) {
        most = desc->bucket[b].count > most ? desc->bucket[b].count : most;
    }
    return most;
}

static weft_status create_narrow(comm_sync *sync)
{
    sync_staging *s = &sync->staging;
    weft_hal *hal = sync->desc.hal;
    const int64_t count = longest_bucket(&sync->desc);
    if (sync->mode != SYNC_ALLREDUCE || sync->desc.dtype != WEFT_DTYPE_F32 || sync->options.wire == COMM_WIRE_SAME ||
        count == 0) {
        return WEFT_OK;
    }
    s->narrow_dtype = wire_dtype(sync->options.wire);
    const size_t bytes = (size_t)count * weft_dtype_bytes(s->narrow_dtype);
    WEFT_TRY(weft_malloc(bytes, 1, WEFT_MEM_COMM, &s->narrow_host));
    return hal->mem.alloc(hal, bytes, WEFT_MEM_COMM, &s->narrow);
}

/* Whether gradients are asked for on the communication thread: the mode's operations begin there, with all of a bucket. */
static bool comes_late(const comm_sync *sync)
{
    const bool narrow = sync->desc.dtype == WEFT_DTYPE_F32 && sync->options.wire != COMM_WIRE_SAME;
    return sync->mode == SYNC_ALLREDUCE && sync->admits_aside && !narrow && sync->desc.hal->stream.reached != NULL;
}

/* Where gradients come to. */
static weft_status create_gradients(comm_sync *sync)
{
    sync_staging *s = &sync->staging;
    weft_hal *hal = sync->desc.hal;
    const size_t bytes = (size_t)sync->desc.trained * element_bytes(sync);
    if (!comes_late(sync)) {
        return weft_malloc(bytes, 1, WEFT_MEM_COMM, &s->grad_host);
    }
    WEFT_TRY(weft_calloc((size_t)sync->desc.buckets, sizeof(hal_event *), WEFT_MEM_COMM, (void **)&s->event));
    for (int b = 0; b < sync->desc.buckets; ++b) {
        WEFT_TRY(hal->stream.create(hal, &s->event[b]));
    }
    return hal->mem.alloc_host(hal, bytes, WEFT_MEM_COMM, &s->grad_host);
}

weft_status staging_create(comm_sync *sync)
{
    sync_staging *s = &sync->staging;
    sync_desc *desc = &sync->desc;
    weft_hal *hal = desc->hal;
    if (hal == NULL || hal_host_visible(hal) || comm_size(sync->comm) == 1 || desc->elements == 0) {
        return WEFT_OK;
    }
    WEFT_TRY(weft_malloc((size_t)desc->elements, element_bytes(sync), WEFT_MEM_COMM, &s->value_host));
    WEFT_TRY(create_gradients(sync));
    WEFT_TRY(hal->mem.alloc(hal, 2 * sizeof(double), WEFT_MEM_COMM, &s->magnitudes));
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

static void destroy_gradients(comm_sync *sync)
{
    sync_staging *s = &sync->staging;
    weft_hal *hal = sync->desc.hal;
    if (s->event == NULL) {
        weft_free(s->grad_host);
        return;
    }
    if (s->grad_host != NULL) {
        hal->mem.free_host(hal, s->grad_host);
    }
    for (int b = 0; b < sync->desc.buckets; ++b) {
        if (s->event[b] != NULL) {
            hal->stream.destroy(hal, s->event[b]);
        }
    }
    weft_free(s->event);
}

void staging_destroy(comm_sync *sync)
{
    sync_staging *s = &sync->staging;
    destroy_gradients(sync);
    weft_free(s->value_host);
    weft_free(s->narrow_host);
    void *const device[] = {s->magnitudes, s->narrow};
    for (int i = 0; i < 2; ++i) {
        if (device[i] != NULL) {
            sync->desc.hal->mem.free(sync->desc.hal, device[i]);
        }
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

static weft_status cast(const comm_sync *sync, const sync_bucket *bucket, bool narrower)
{
    const sync_staging *s = &sync->staging;
    const hal_mat wide = hal_row_of(at(sync, s->grad, bucket->offset), WEFT_DTYPE_F32, bucket->count);
    const hal_mat narrow = hal_row_of(s->narrow, s->narrow_dtype, bucket->count);
    const hal_cast_args args = {.x = narrower ? wide : narrow, .y = narrower ? narrow : wide};
    return hal_cast(sync->desc.hal, &args);
}

static weft_status narrow_in(const comm_sync *sync, const sync_bucket *bucket)
{
    const sync_staging *s = &sync->staging;
    weft_hal *hal = sync->desc.hal;
    const size_t bytes = (size_t)bucket->count * weft_dtype_bytes(s->narrow_dtype);
    WEFT_TRY(cast(sync, bucket, true));
    WEFT_TRY(hal->mem.download(hal, s->narrow_host, s->narrow, bytes));
    hal_pack_decode(s->narrow_dtype, s->narrow_host, at(sync, s->grad_host, bucket->offset), bucket->count);
    return WEFT_OK;
}

static weft_status narrow_out(const comm_sync *sync, const sync_bucket *bucket)
{
    const sync_staging *s = &sync->staging;
    weft_hal *hal = sync->desc.hal;
    const size_t bytes = (size_t)bucket->count * weft_dtype_bytes(s->narrow_dtype);
    hal_pack_encode(s->narrow_dtype, at(sync, s->grad_host, bucket->offset), s->narrow_host, bucket->count);
    WEFT_TRY(hal->mem.upload(hal, s->narrow, s->narrow_host, bytes));
    return cast(sync, bucket, false);
}

/* Its operation asks staging_gradient_here before it reads the copy. */
static weft_status late_in(const comm_sync *sync, const sync_bucket *bucket, hal_event *event)
{
    const sync_staging *s = &sync->staging;
    weft_hal *hal = sync->desc.hal;
    WEFT_TRY(hal->mem.download_async(hal, at(sync, s->grad_host, bucket->offset), at(sync, s->grad, bucket->offset),
                                     (size_t)bucket->count * element_bytes(sync)));
    return hal->stream.record(hal, event);
}

weft_status staging_gradient_in(comm_sync *sync, int b)
{
    const sync_staging *s = &sync->staging;
    const sync_bucket *bucket = &sync->desc.bucket[b];
    weft_hal *hal = sync->desc.hal;
    if (!on_device(sync)) {
        return wait_for_stream(sync);
    }
    if (s->by_mode) {
        return WEFT_OK;
    }
    if (s->narrow != NULL) {
        return narrow_in(sync, bucket);
    }
    if (s->event != NULL) {
        return late_in(sync, bucket, s->event[b]);
    }
    return hal->mem.download(hal, at(sync, s->grad_host, bucket->offset), at(sync, s->grad, bucket->offset),
                             (size_t)bucket->count * element_bytes(sync));
}

weft_status staging_gradient_out(comm_sync *sync, int b)
{
    const sync_staging *s = &sync->staging;
    const sync_bucket *bucket = &sync->desc.bucket[b];
    weft_hal *hal = sync->desc.hal;
    if (!on_device(sync) || s->by_mode) {
        return WEFT_OK;
    }
    if (s->narrow != NULL) {
        return narrow_out(sync, bucket);
    }
    void *to = at(sync, s->grad, bucket->offset);
    const void *from = at(sync, s->grad_host, bucket->offset);
    const size_t bytes = (size_t)bucket->count * element_bytes(sync);
    /* What comes late comes the next time behind this in the stream, so that the sum stays until it is up. */
    return s->event != NULL ? hal->mem.upload_async(hal, to, from, bytes) : hal->mem.upload(hal, to, from, bytes);
}

weft_status staging_gradient_here(const comm_sync *sync, int b, bool *here)
{
    const sync_staging *s = &sync->staging;
    *here = true;
    return s->event != NULL ? sync->desc.hal->stream.reached(sync->desc.hal, s->event[b], here) : WEFT_OK;
}

weft_status staging_admit(comm_sync *sync, int b)
{
    const sync_staging *s = &sync->staging;
    const sync_bucket *bucket = &sync->desc.bucket[b];
    weft_hal *hal = sync->desc.hal;
    void *grad = at(sync, s->grad, bucket->offset);
    double magnitudes[2] = {0};
    if (sync->weight != 0) {
        const hal_sum_magnitudes_args args = {.x = hal_row_of(grad, WEFT_DTYPE_F32, bucket->count),
                                              .out = hal_row_of(s->magnitudes, WEFT_DTYPE_F64, 2)};
        WEFT_TRY(hal_sum_magnitudes(hal, &args));
        WEFT_TRY(hal->mem.download(hal, magnitudes, s->magnitudes, sizeof magnitudes));
        if (isfinite(magnitudes[1])) {
            return WEFT_OK;
        }
        WEFT_TRY(hal->mem.download(hal, at(sync, s->grad_host, bucket->offset), grad,
                                   (size_t)bucket->count * element_bytes(sync)));
        sync_admit(sync, b, sync->options.select.threads); /* finds the tensor */
    }
    return hal->mem.zero(hal, grad, (size_t)bucket->count * element_bytes(sync));
}
