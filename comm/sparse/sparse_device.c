/*
 * comm/sparse/sparse_device.c: selections from a vector that lies on a device; only they cross.
 *
 *      residual += vector                     on the device
 *      threshold                              bisection of the magnitude's bits; a count of 8 bytes a step comes down
 *      compact                                what reaches it: k candidates and a quarter more, which come down
 *      the k largest of the candidates        the host's selector
 *      zeros into the residual at their places
 *      ... the exchange, in host memory ...
 *      vector = 0; vector += slot, each       places and values go up, P k of both
 *
 * The selection is the one that the host makes of the same numbers, ties by lowest index, and slots are added in the
 * same order: the same bits. Where more elements share the k-th magnitude than there is room for candidates the vector
 * comes down whole, unless that magnitude is zero: zeros need not be fetched.
 *
 * Memory on the device: the residual, a selection and its candidates; in host memory a residual for checkpoints.
 */
#include <assert.h>
#include <math.h>

#include "base/alloc.h"
#include "comm/core/mirror.h"
#include "comm/sparse/sparse_internal.h"
#include "hal/pack.h"

enum { CANDIDATES_MORE = 64 };

struct sparse_device {
    weft_hal *hal;
    comm_mirror residual;
    int64_t capacity; /* of a selection */
    int64_t room;     /* for candidates */
    /* on the device */
    int32_t *index;         /* [room] candidates; then the selection */
    float *value;           /* [room] */
    int32_t *arrived_index; /* [capacity] a slot */
    float *arrived_value;
    float *zero;        /* [capacity] */
    int64_t *count;     /* [1] */
    double *magnitudes; /* [2] */
    /* here */
    int32_t *candidate; /* [room] */
    float *candidate_value;
};

/* ---- memory ------------------------------------------------------------------------------------------------- */
static weft_status device_array(weft_hal *hal, int64_t count, size_t size, void **array)
{
    return count > 0 ? hal->mem.alloc(hal, (size_t)count * size, WEFT_MEM_COMM, array) : WEFT_OK;
}

weft_status sparse_device_create(sparse_plan *plan)
{
    weft_hal *hal = plan->desc.hal;
    sparse_device *d = NULL;
    WEFT_TRY(WEFT_NEW_ZERO(&d, 1, WEFT_MEM_COMM));
    plan->device = d;
    d->hal = hal;
    d->capacity = sparse_capacity(&plan->desc.select, plan->desc.most, plan->count);
    d->room = d->capacity + d->capacity / 4 + CANDIDATES_MORE;
    d->room = d->room < plan->count ? d->room : plan->count;
    WEFT_TRY(mirror_create(hal, plan->count, &d->residual));
    WEFT_TRY(device_array(hal, d->room, sizeof *d->index, (void **)&d->index));
    WEFT_TRY(device_array(hal, d->room, sizeof *d->value, (void **)&d->value));
    WEFT_TRY(device_array(hal, d->capacity, sizeof *d->arrived_index, (void **)&d->arrived_index));
    WEFT_TRY(device_array(hal, d->capacity, sizeof *d->arrived_value, (void **)&d->arrived_value));
    WEFT_TRY(device_array(hal, d->capacity, sizeof *d->zero, (void **)&d->zero));
    WEFT_TRY(device_array(hal, 1, sizeof *d->count, (void **)&d->count));
    WEFT_TRY(device_array(hal, 2, sizeof *d->magnitudes, (void **)&d->magnitudes));
    WEFT_TRY(WEFT_NEW(&d->candidate, d->room, WEFT_MEM_COMM));
    WEFT_TRY(WEFT_NEW(&d->candidate_value, d->room, WEFT_MEM_COMM));
    return d->capacity > 0 ? hal->mem.zero(hal, d->zero, (size_t)d->capacity * sizeof *d->zero) : WEFT_OK;
}

void sparse_device_free(sparse_plan *plan)
{
    sparse_device *d = plan->device;
    if (d == NULL) {
        return;
    }
    void *const array[] = {d->index, d->value, d->arrived_index, d->arrived_value, d->zero, d->count, d->magnitudes};
    for (size_t i = 0; i < sizeof array / sizeof *array; ++i) {
        if (array[i] != NULL) {
            d->hal->mem.free(d->hal, array[i]);
        }
    }
    mirror_free(&d->residual);
    weft_free(d->candidate);
    weft_free(d->candidate_value);
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

static float magnitude_of(uint32_t bits)
{
    float floor = 0.0f;
    memcpy(&floor, &bits, sizeof floor);
    return floor;
}

static weft_status count_above(const sparse_plan *plan, uint32_t floor, int64_t *count)
{
    const sparse_device *d = plan->device;
    const hal_count_above_args args = {.x = vector_of(d->residual.device, plan->count),
                                       .count = hal_row_of(d->count, WEFT_DTYPE_I64, 1),
                                       .floor = magnitude_of(floor)};
    WEFT_TRY(hal_count_above(d->hal, &args));
    return d->hal->mem.download(d->hal, count, d->count, sizeof *count);
}

/* What reaches the floor, `found` elements that fit, in order. */
static weft_status fetch_above(const sparse_plan *plan, uint32_t floor, int64_t found)
{
    const sparse_device *d = plan->device;
    const hal_compact_above_args args = {.x = vector_of(d->residual.device, plan->count),
                                         .index = hal_row_of(d->index, WEFT_DTYPE_I32, d->room),
                                         .value = hal_row_of(d->value, WEFT_DTYPE_F32, d->room),
                                         .count = hal_row_of(d->count, WEFT_DTYPE_I64, 1),
                                         .floor = magnitude_of(floor)};
    if (found == 0) {
        return WEFT_OK;
    }
    WEFT_TRY(hal_compact_above(d->hal, &args));
    WEFT_TRY(d->hal->mem.download(d->hal, d->candidate, d->index, (size_t)found * sizeof *d->candidate));
    return d->hal->mem.download(d->hal, d->candidate_value, d->value, (size_t)found * sizeof *d->candidate_value);
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

/* ---- selection ---------------------------------------------------------------------------------------------- */
/* All but the candidates are zeros: these and the lowest of the others, k in all. */
static void fill_with_zeros(const sparse_device *d, int64_t found, int64_t k, int32_t *index, float *value)
{
    int64_t e = 0;
    int64_t zeros = k - found;
    int32_t next = 0;
    for (int64_t to = 0; to < k; ++to, ++next) {
        if (e < found && (zeros == 0 || d->candidate[e] == next)) {
            next = d->candidate[e];
            value[to] = d->candidate_value[e++];
        } else {
            value[to] = 0.0f;
            zeros -= 1;
        }
        index[to] = next;
    }
}

/* The k largest of the candidates; both ascend. */
static weft_status choose(sparse_plan *plan, int64_t found, int64_t k, int32_t *index, float *value)
{
    const sparse_device *d = plan->device;
    int64_t chosen = 0;
    WEFT_TRY(selector_run(plan->selector, d->candidate_value, found, k, k, index, value, &chosen));
    for (int64_t e = 0; e < chosen; ++e) {
        index[e] = d->candidate[index[e]];
    }
    return WEFT_OK;
}

/* k of the finite residual, 0 < k <= count, into index and value. */
static weft_status select_finite_residual(sparse_plan *plan, int64_t k, int32_t *index, float *value)
{
    sparse_device *d = plan->device;
    uint32_t low = 0; /* reached by k elements or more */
    uint32_t high = HAL_MAGNITUDE_INFINITY;
    int64_t reaching = plan->count;
    int64_t above = 0; /* that reach high */
    while (reaching > d->room && high - low > 1) {
        const uint32_t middle = low + (high - low) / 2;
        int64_t found = 0;
        WEFT_TRY(count_above(plan, middle, &found));
        low = found >= k ? middle : low;
        reaching = found >= k ? found : reaching;
        high = found >= k ? high : middle;
        above = found >= k ? above : found;
    }
    if (reaching <= d->room) {
        WEFT_TRY(fetch_above(plan, low, reaching));
        return choose(plan, reaching, k, index, value);
    }
    if (low == 0) {
        WEFT_TRY(fetch_above(plan, high, above));
        fill_with_zeros(d, above, k, index, value);
        return WEFT_OK;
    }
    int64_t found = 0;
    WEFT_TRY(d->hal->mem.download(d->hal, plan->desc.buffer, d->residual.device,
                                  (size_t)plan->count * sizeof *plan->desc.buffer));
    return selector_run(plan->selector, plan->desc.buffer, plan->count, k, k, index, value, &found);
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

/* Whether the residual is finite; if not, the first place that is to blame. */
static weft_status look_for_trouble(sparse_plan *plan, sparse_note *note)
{
    const sparse_device *d = plan->device;
    double magnitudes[2] = {0};
    const hal_sum_magnitudes_args args = {.x = vector_of(d->residual.device, plan->count),
                                          .out = hal_row_of(d->magnitudes, WEFT_DTYPE_F64, 2)};
    *note = (sparse_note){.rank = -1};
    WEFT_TRY(hal_sum_magnitudes(d->hal, &args));
    WEFT_TRY(d->hal->mem.download(d->hal, magnitudes, d->magnitudes, sizeof magnitudes));
    if (isfinite(magnitudes[1])) {
        return WEFT_OK;
    }
    const float *x = plan->desc.buffer;
    WEFT_TRY(d->hal->mem.download(d->hal, plan->desc.buffer, d->residual.device, (size_t)plan->count * sizeof *x));
    *note = (sparse_note){.rank = comm_rank(plan->comm)};
    while (note->index < plan->count - 1 && hal_magnitude(x[note->index]) < HAL_MAGNITUDE_INFINITY) {
        ++note->index;
    }
    return WEFT_OK;
}

static weft_status take_selection(sparse_plan *plan)
{
    sparse_device *d = plan->device;
    sparse_note *note = slots_note(&plan->slots, plan->sender);
    int32_t *index = slots_index(&plan->slots, plan->sender);
    WEFT_TRY(accumulate(plan, d->residual.device));
    WEFT_TRY(look_for_trouble(plan, note));
    if (note->rank >= 0 || plan->share == 0) {
        return WEFT_OK;
    }
    note->amount = plan->share;
    WEFT_TRY(select_finite_residual(plan, plan->share, index, (float *)(void *)(index + plan->share)));
    plan->sent_count = plan->share;
    memcpy(plan->sent, index, (size_t)plan->share * sizeof *index);
    WEFT_TRY(d->hal->mem.upload(d->hal, d->index, index, (size_t)plan->share * sizeof *index));
    return sparse_clear_sent(plan, d->residual.device);
}

weft_status sparse_device_take(sparse_plan *plan, bool everything)
{
    sparse_device *d = plan->device;
    const size_t bytes = (size_t)plan->count * sizeof(float);
    WEFT_TRY(mirror_to_device(&d->residual));
    if (plan->count == 0) {
        return WEFT_OK;
    }
    if (!everything) {
        return take_selection(plan);
    }
    WEFT_TRY(accumulate(plan, plan->desc.device));
    WEFT_TRY(d->hal->mem.download(d->hal, plan->desc.buffer, plan->desc.device, bytes));
    return d->hal->mem.zero(d->hal, d->residual.device, bytes);
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
    WEFT_TRY(d->hal->mem.upload(d->hal, d->arrived_index, index, (size_t)amount * sizeof *index));
    WEFT_TRY(
        d->hal->mem.upload(d->hal, d->arrived_value, slots_value(&plan->slots, i), (size_t)amount * sizeof(float)));
    return scatter(d->hal, d->arrived_value, d->arrived_index, amount, plan->desc.device, plan->count, HAL_SCATTER_ADD);
}

weft_status sparse_device_put(sparse_plan *plan, bool everything)
{
    weft_hal *hal = plan->device->hal;
    const size_t bytes = (size_t)plan->count * sizeof(float);
    if (plan->count == 0) {
        return WEFT_OK;
    }
    if (everything) {
        return hal->mem.upload(hal, plan->desc.device, plan->desc.buffer, bytes);
    }
    WEFT_TRY(hal->mem.zero(hal, plan->desc.device, bytes));
    for (int i = 0; i < plan->slots.count; ++i) {
        WEFT_TRY(add_slot(plan, i));
    }
    return WEFT_OK;
}

weft_status sparse_clear_sent(sparse_plan *plan, float *device)
{
    const sparse_device *d = plan->device;
    return scatter(d->hal, d->zero, d->index, plan->sent_count, device, plan->count, HAL_SCATTER_REPLACE);
}
