/*
 * comm/sparse/sparse_device.c: selections from a vector that lies on a device; only they cross, and nobody stands
 * still.
 *
 *      residual += vector                     on the device
 *      the k largest of it                    select_largest (hal/ops.def); k places and values come down
 *      zeros into the residual at their places
 *      ... the exchange, in host memory, whose first step asks whether they are there (hal_stream_ops.reached) ...
 *      vector = 0; vector += slot, each       places and values go up, P k of both
 *
 * What goes up is overwritten by the next exchange, which begins behind the next selection, and that is behind it in
 * the stream.
 *
 * The selection is the one that the host makes of the same numbers, ties by lowest index, and slots are added in the
 * same order: the same bits. What is not finite is larger than every number, so that a selection tells of it.
 *
 * Memory on the device: the residual, two selections and zeros for one; in host memory a residual for checkpoints.
 */
#include <assert.h>

#include "base/alloc.h"
#include "comm/core/device_mark.h"
#include "comm/core/mirror.h"
#include "comm/sparse/sparse_internal.h"
#include "hal/pack.h"

/* A place and the value there; a selection is all places, then all values. DEVICE_WORDS: of all arrays, for each
 * entry. */
enum { WORDS_OF_ENTRY = 2, DEVICE_WORDS = 2 * WORDS_OF_ENTRY + 1 };

struct sparse_device {
    weft_hal *hal;
    comm_mirror residual;
    int64_t capacity;  /* of a selection, at least 1 */
    void *arrays;      /* on the device: the three below */
    int32_t *selected; /* [WORDS_OF_ENTRY * capacity] this rank's last selection */
    int32_t *arrived;  /* [WORDS_OF_ENTRY * capacity] a slot */
    float *zero;       /* [capacity] */
    hal_event *taken;  /* behind the last selection, or the vector, on its way down */
};

/* ---- memory ------------------------------------------------------------------------------------------------- */
static int64_t capacity_of(const select_options *select, int64_t count, int64_t most)
{
    const int64_t capacity = sparse_capacity(select, most, count);
    return capacity > 0 ? capacity : 1;
}

static size_t array_bytes(int64_t capacity)
{
    return (size_t)(DEVICE_WORDS * capacity) * sizeof(int32_t);
}

uint64_t sparse_device_bytes(const select_options *select, int64_t count, int64_t most)
{
    return mirror_bytes(count) + array_bytes(capacity_of(select, count, most));
}

weft_status sparse_device_create(sparse_plan *plan)
{
    weft_hal *hal = plan->desc.hal;
    sparse_device *d = NULL;
    WEFT_TRY(WEFT_NEW_ZERO(&d, 1, WEFT_MEM_COMM));
    plan->device = d;
    d->hal = hal;
    d->capacity = capacity_of(&plan->desc.select, plan->count, plan->desc.most);
    WEFT_TRY(mirror_create(hal, plan->count, &d->residual));
    WEFT_TRY(hal->mem.alloc(hal, array_bytes(d->capacity), WEFT_MEM_COMM, &d->arrays));
    d->selected = d->arrays;
    d->arrived = d->selected + WORDS_OF_ENTRY * d->capacity;
    d->zero = (float *)(void *)(d->arrived + WORDS_OF_ENTRY * d->capacity);
    WEFT_TRY(hal->stream.create(hal, &d->taken));
    return hal->mem.zero(hal, d->zero, (size_t)d->capacity * sizeof *d->zero);
}

void sparse_device_free(sparse_plan *plan)
{
    sparse_device *d = plan->device;
    if (d == NULL) {
        return;
    }
    if (d->arrays != NULL) {
        d->hal->mem.free(d->hal, d->arrays);
    }
    if (d->taken != NULL) {
        d->hal->stream.destroy(d->hal, d->taken);
    }
    mirror_free(&d->residual);
    weft_free(d);
    plan->device = NULL;
}

float *sparse_device_residual(const sparse_plan *plan)
{
    assert(plan->device->residual.on_host);
    return plan->device->residual.host;
}

weft_status sparse_residual_to_host(sparse_plan *plan)
{
    return plan->device != NULL ? mirror_to_host(&plan->device->residual) : WEFT_OK;
}

/* ---- operations --------------------------------------------------------------------------------------------- */
static hal_mat vector_of(float *x, int64_t count)
{
    return hal_row_of(x, WEFT_DTYPE_F32, count);
}

/* y[index[e]] = x[e], or += */
static weft_status scatter(weft_hal *hal, const float *x, const int32_t *index, int64_t entries, float *y,
                           int64_t count, hal_scatter mode)
{
    const hal_scatter_rows_args args = {.x = hal_column_from(x, WEFT_DTYPE_F32, entries),
                                        .index = hal_column_from(index, WEFT_DTYPE_I32, entries),
                                        .y = hal_mat_of(y, WEFT_DTYPE_F32, count, 1, 1),
                                        .mode = mode};
    return entries > 0 ? hal_scatter_rows(hal, &args) : WEFT_OK;
}

/* ---- before and after the exchange -------------------------------------------------------------------------- */
static weft_status accumulate(const sparse_plan *plan, float *to)
{
    const sparse_device *d = plan->device;
    const hal_reduce_args args = {.left = vector_of(d->residual.device, plan->count),
                                  .right = vector_of(plan->desc.device, plan->count),
                                  .to = vector_of(to, plan->count),
                                  .reduction = HAL_SUM};
    return hal_reduce(d->hal, &args);
}

/* The k largest of the residual; places, then values, come to `entries`. */
static weft_status select_largest(const sparse_plan *plan, int64_t k, int32_t *entries)
{
    const sparse_device *d = plan->device;
    const hal_select_largest_args args = {.x = vector_of(d->residual.device, plan->count),
                                          .index = hal_row_of(d->selected, WEFT_DTYPE_I32, k),
                                          .value = hal_row_of(d->selected + k, WEFT_DTYPE_F32, k)};
    WEFT_TRY(hal_select_largest(d->hal, &args));
    return d->hal->mem.download_async(d->hal, entries, d->selected, (size_t)k * ENTRY_BYTES);
}

static weft_status clear_selected(const sparse_plan *plan, int64_t entries, float *device)
{
    const sparse_device *d = plan->device;
    return scatter(d->hal, d->zero, d->selected, entries, device, plan->count, HAL_SCATTER_REPLACE);
}

/* Elements that a selection has: the largest is looked at where nothing is sent. */
static int64_t looked_at(const sparse_plan *plan)
{
    return plan->share > 0 ? plan->share : 1;
}

static weft_status take_selection(sparse_plan *plan)
{
    sparse_device *d = plan->device;
    WEFT_TRY(accumulate(plan, d->residual.device));
    WEFT_TRY(select_largest(plan, looked_at(plan), slots_index(&plan->slots, plan->sender)));
    return clear_selected(plan, plan->share, d->residual.device);
}

static weft_status take_everything(sparse_plan *plan)
{
    sparse_device *d = plan->device;
    const size_t bytes = (size_t)plan->count * sizeof(float);
    WEFT_TRY(accumulate(plan, plan->desc.device));
    WEFT_TRY(d->hal->mem.download_async(d->hal, plan->desc.buffer, plan->desc.device, bytes));
    return d->hal->mem.zero(d->hal, d->residual.device, bytes);
}

weft_status sparse_device_take(sparse_plan *plan, bool everything)
{
    sparse_device *d = plan->device;
    WEFT_TRY(mirror_to_device(&d->residual));
    if (plan->count > 0) {
        WEFT_TRY(everything ? take_everything(plan) : take_selection(plan));
    }
    return device_mark_put(d->hal, d->taken);
}

weft_status sparse_device_here(const sparse_plan *plan, bool *here)
{
    return device_mark_reached(plan->device->hal, plan->device->taken, here);
}

/* Entries are in the order of their places, and what is not finite is above every number: the first of these that was
 * selected, or entries. */
static int64_t first_not_finite(const float *x, int64_t entries)
{
    int64_t e = 0;
    while (e < entries && hal_magnitude(x[e]) < HAL_MAGNITUDE_INFINITY) {
        ++e;
    }
    return e;
}

weft_status sparse_device_taken(void *argument, bool *done)
{
    sparse_plan *plan = argument;
    sparse_note *note = slots_note(&plan->slots, plan->sender);
    const int32_t *entries = slots_index(&plan->slots, plan->sender);
    const int64_t k = plan->count > 0 ? looked_at(plan) : 0;
    WEFT_TRY(sparse_device_here(plan, done));
    if (!*done) {
        return WEFT_OK;
    }
    const int64_t trouble = first_not_finite((const float *)(const void *)(entries + k), k);
    if (trouble < k) {
        *note = (sparse_note){.rank = comm_rank(plan->comm), .index = entries[trouble]};
        return WEFT_OK;
    }
    *note = (sparse_note){.rank = -1, .amount = plan->share};
    plan->sent_count = plan->share;
    memcpy(plan->sent, entries, (size_t)plan->share * sizeof *entries);
    return WEFT_OK;
}

static weft_status add_slot(const sparse_plan *plan, int i)
{
    const sparse_device *d = plan->device;
    const int64_t amount = slots_note(&plan->slots, i)->amount;
    const int32_t *index = slots_index(&plan->slots, i);
    if (amount == 0) {
        return WEFT_OK;
    }
    for (int64_t e = 0; e < amount; ++e) {
        WEFT_CHECK(index[e] >= 0 && index[e] < plan->count, WEFT_ERR_INTERNAL,
                   "sparse exchange: entry %lld is for element %d of %lld", (long long)e, index[e],
                   (long long)plan->count);
    }
    const float *value = (const float *)(const void *)(d->arrived + amount);
    WEFT_TRY(d->hal->mem.upload_async(d->hal, d->arrived, index, (size_t)amount * ENTRY_BYTES));
    return scatter(d->hal, value, d->arrived, amount, plan->desc.device, plan->count, HAL_SCATTER_ADD);
}

weft_status sparse_device_put(sparse_plan *plan, bool everything)
{
    weft_hal *hal = plan->device->hal;
    const size_t bytes = (size_t)plan->count * sizeof(float);
    if (plan->count == 0) {
        return WEFT_OK;
    }
    if (everything) {
        return hal->mem.upload_async(hal, plan->desc.device, plan->desc.buffer, bytes);
    }
    WEFT_TRY(hal->mem.zero(hal, plan->desc.device, bytes));
    for (int i = 0; i < plan->slots.count; ++i) {
        WEFT_TRY(add_slot(plan, i));
    }
    return WEFT_OK;
}

weft_status sparse_clear_sent(sparse_plan *plan, float *device)
{
    return clear_selected(plan, plan->sent_count, device);
}
