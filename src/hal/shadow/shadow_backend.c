/*
 * hal/shadow/shadow_backend.c: a backend for finding missing transfers and missing waits: another backend's operations
 * on memory that the host cannot touch (shadow_memory.h), run as late as the rules of hal/hal.h allow (shadow_queue.h).
 * Every operation opens its operands, as hal/ops.def names them, runs on the inner backend and closes them again. Slow
 * by design: two system calls an operand.
 *
 * WEFT_SHADOW_DIRECT=1, for tests: the memory is one that transports copy from and to; nothing is found but missing
 * waits.
 */
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "hal/shadow/shadow_queue.h"

typedef struct shadow_state {
    weft_hal *inner;
    shadow_memory memory;
    shadow_queue queue;
} shadow_state;

struct hal_event {
    uint64_t until; /* submissions before it */
};

static shadow_state *state_of(const weft_hal *hal)
{
    return (shadow_state *)hal->state;
}

/* Before something disappears that the queue may need; a failure stays for the next wait. */
static void finish(shadow_state *state)
{
    if (shadow_queue_run(&state->queue, UINT64_MAX) != WEFT_OK) {
        log_warn("%s", weft_error_message());
    }
}

/* ---- memory ------------------------------------------------------------------------------------------------------ */

static weft_status shadow_mem_alloc(weft_hal *hal, size_t bytes, weft_mem_tag *tag, void **device)
{
    return shadow_alloc(&state_of(hal)->memory, bytes, tag, device);
}

static void shadow_mem_free(weft_hal *hal, void *device)
{
    if (device != NULL) {
        finish(state_of(hal));
        shadow_free(&state_of(hal)->memory, device);
    }
}

static weft_status shadow_mem_upload(weft_hal *hal, void *device, const void *host, size_t bytes)
{
    return shadow_submit_upload(&state_of(hal)->queue, device, host, bytes, false);
}

static weft_status shadow_mem_download(weft_hal *hal, void *host, const void *device, size_t bytes)
{
    shadow_queue *queue = &state_of(hal)->queue;
    WEFT_TRY(shadow_submit_download(queue, host, device, bytes));
    return shadow_queue_run(queue, UINT64_MAX);
}

static weft_status shadow_mem_upload_async(weft_hal *hal, void *device, const void *host, size_t bytes)
{
    return shadow_submit_upload(&state_of(hal)->queue, device, host, bytes, true);
}

static weft_status shadow_mem_download_async(weft_hal *hal, void *host, const void *device, size_t bytes)
{
    return shadow_submit_download(&state_of(hal)->queue, host, device, bytes);
}

static weft_status shadow_mem_copy(weft_hal *hal, void *device_to, const void *device_from, size_t bytes)
{
    return shadow_submit_copy(&state_of(hal)->queue, device_to, device_from, bytes);
}

static weft_status shadow_mem_zero(weft_hal *hal, void *device, size_t bytes)
{
    return shadow_submit_zero(&state_of(hal)->queue, device, bytes);
}

/* ---- the stream -------------------------------------------------------------------------------------------------- */

static weft_status shadow_event_create(weft_hal *hal, hal_event **event)
{
    (void)hal;
    return WEFT_NEW_ZERO(event, 1, WEFT_MEM_GENERAL);
}

static weft_status shadow_event_record(weft_hal *hal, hal_event *event)
{
    event->until = state_of(hal)->queue.submitted;
    return WEFT_OK;
}

static weft_status shadow_event_wait(weft_hal *hal, hal_event *event)
{
    return shadow_queue_run(&state_of(hal)->queue, event->until);
}

static weft_status shadow_sync(weft_hal *hal)
{
    return shadow_queue_run(&state_of(hal)->queue, UINT64_MAX);
}

static void shadow_event_destroy(weft_hal *hal, hal_event *event)
{
    (void)hal;
    weft_free(event);
}

/* ---- operations ------------------------------------------------------------------------------------------------- */

#define HAL_OP(group, name, flops, operands, ...)                                                                      \
    static weft_status shadow_##name(weft_hal *hal, const hal_##name##_args *args)                                     \
    {                                                                                                                  \
        return shadow_submit(&state_of(hal)->queue, HAL_OP_##name, args);                                              \
    }
#include "hal/ops.def"

/* ---- prepared matrices: the inner backend's ---------------------------------------------------------------------- */

static weft_status shadow_spmm_create(weft_hal *hal, const hal_csr *csr, hal_spmm_form form, int64_t max_d,
                                      hal_spmm **spmm)
{
    weft_hal *inner = state_of(hal)->inner;
    return inner->sparse.spmm_create(inner, csr, form, max_d, spmm);
}

static weft_status shadow_spmm_try(weft_hal *hal, const hal_csr *csr, const hal_spmm_request *request,
                                   hal_spmm_trial *trial)
{
    weft_hal *inner = state_of(hal)->inner;
    return inner->sparse.spmm_try(inner, csr, request, trial);
}

static void shadow_spmm_destroy(weft_hal *hal, hal_spmm *spmm)
{
    weft_hal *inner = state_of(hal)->inner;
    finish(state_of(hal));
    inner->sparse.spmm_destroy(inner, spmm);
}

static hal_spmm_info shadow_spmm_info(weft_hal *hal, const hal_spmm *spmm)
{
    weft_hal *inner = state_of(hal)->inner;
    return inner->sparse.spmm_info(inner, spmm);
}

/* ---- prepared convolutions: the inner backend's ------------------------------------------------------------------ */

static weft_status shadow_conv_create(weft_hal *hal, const hal_conv_shape *shape, const int64_t *images, int sizes,
                                      hal_conv **conv)
{
    weft_hal *inner = state_of(hal)->inner;
    return inner->image.conv_create(inner, shape, images, sizes, conv);
}

static void shadow_conv_destroy(weft_hal *hal, hal_conv *conv)
{
    weft_hal *inner = state_of(hal)->inner;
    finish(state_of(hal));
    inner->image.conv_destroy(inner, conv);
}

static hal_conv_info shadow_conv_info(weft_hal *hal, const hal_conv *conv)
{
    weft_hal *inner = state_of(hal)->inner;
    return inner->image.conv_info(inner, conv);
}

static bool shadow_conv_norms(const weft_hal *hal, const hal_conv_shape *shape)
{
    const weft_hal *inner = ((const shadow_state *)hal->state)->inner;
    return inner->image.conv_norms(inner, shape);
}

/* ---- open and close ---------------------------------------------------------------------------------------------- */

static void shadow_close(weft_hal *hal)
{
    shadow_state *state = state_of(hal);
    finish(state);
    int64_t left = shadow_free_all(&state->memory);
    if (left > 0) {
        log_warn("shadow: %ld blocks of device memory were never freed", (long)left);
    }
    shadow_queue_close(&state->queue);
    weft_hal_close(state->inner);
    weft_free(state);
    hal->state = NULL;
}

/* Whether others may copy from the memory and to it. */
static bool opens_memory(void)
{
    const char *direct = getenv("WEFT_SHADOW_DIRECT");
    return direct != NULL && strcmp(direct, "1") == 0;
}

static void fill_ops(weft_hal *hal)
{
    state_of(hal)->memory.open = opens_memory();
    hal->mem = (hal_mem_ops){.alloc = shadow_mem_alloc,
                             .free = shadow_mem_free,
                             .upload = shadow_mem_upload,
                             .download = shadow_mem_download,
                             .upload_async = shadow_mem_upload_async,
                             .download_async = shadow_mem_download_async,
                             .copy = shadow_mem_copy,
                             .zero = shadow_mem_zero,
                             .kind = HAL_MEM_DEVICE,
                             .reach = state_of(hal)->memory.open ? HAL_REACH_ALL : HAL_REACH_NOBODY};
    hal->stream = (hal_stream_ops){.create = shadow_event_create,
                                   .record = shadow_event_record,
                                   .wait = shadow_event_wait,
                                   .sync = shadow_sync,
                                   .destroy = shadow_event_destroy};
    hal->sparse = (hal_sparse_ops){.spmm_create = shadow_spmm_create,
                                   .spmm_try = shadow_spmm_try,
                                   .spmm_destroy = shadow_spmm_destroy,
                                   .spmm_info = shadow_spmm_info};
    hal->image = (hal_image_ops){.conv_create = shadow_conv_create,
                                 .conv_destroy = shadow_conv_destroy,
                                 .conv_info = shadow_conv_info,
                                 .conv_norms = shadow_conv_norms};
#define HAL_OP(group, name, flops, operands, ...) hal->op.name = shadow_##name;
#include "hal/ops.def"
}

weft_status hal_open_shadow(weft_hal *hal, int threads, const char *argument);
weft_status hal_open_shadow(weft_hal *hal, int threads, const char *argument)
{
    weft_hal *inner = NULL;
    WEFT_TRY(weft_hal_open(argument[0] != '\0' ? argument : "cpu", threads, &inner));
    weft_status status = WEFT_OK;
    shadow_state *state = NULL;
    WEFT_CHECK_GOTO(hal_host_visible(inner), status, failed, WEFT_ERR_USAGE,
                    "shadow:%s: only a backend on host memory can be wrapped", argument);
    WEFT_TRY_GOTO(WEFT_NEW_ZERO(&state, 1, WEFT_MEM_GENERAL), status, failed);
    state->inner = inner;
    hal->native_bf16 = inner->native_bf16;
    hal->native_f16 = inner->native_f16;
    WEFT_TRY_GOTO(shadow_queue_open(&state->queue, inner, &state->memory), status, failed);
    hal->state = state;
    hal->close = shadow_close;
    fill_ops(hal);
    return WEFT_OK;
failed:
    if (state != NULL) {
        shadow_queue_close(&state->queue);
    }
    weft_free(state);
    weft_hal_close(inner);
    return status;
}
