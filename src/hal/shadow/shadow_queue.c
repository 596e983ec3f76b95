/* hal/shadow/shadow_queue.c: see shadow_queue.h. */
#include "hal/shadow/shadow_queue.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "base/file.h"

enum { ENTRIES = 256, MOST_ARGS = 768, HELD = 1 << 20 };

struct shadow_entry {
    shadow_task task;
    hal_op op;
    int uses;
    shadow_use use[HAL_MOST_OPERANDS];
    size_t bytes;
    void *to;
    const void *from;
    uint64_t sum; /* of the host bytes to be read, when they were handed in */
    _Alignas(16) char args[MOST_ARGS];
};

weft_status shadow_queue_open(shadow_queue *queue, weft_hal *inner, shadow_memory *memory)
{
    *queue = (shadow_queue){.inner = inner, .memory = memory};
    WEFT_TRY(WEFT_NEW(&queue->entry, ENTRIES, WEFT_MEM_GENERAL));
    return WEFT_NEW(&queue->held, HELD, WEFT_MEM_GENERAL);
}

void shadow_queue_close(shadow_queue *queue)
{
    WEFT_FREE_ALL(queue->entry, queue->held);
    memset(queue, 0, sizeof *queue);
}

/* ---- running ----------------------------------------------------------------------------------------------------- */

static weft_status run_task(const shadow_queue *queue, const shadow_entry *e)
{
    weft_hal *inner = queue->inner;
    switch (e->task) {
    case SHADOW_OP:
        return hal_op_call(inner, e->op, e->args);
    case SHADOW_UPLOAD:
        WEFT_CHECK(file_checksum(e->from, e->bytes, 0) == e->sum, WEFT_ERR_INTERNAL,
                   "shadow: %zu bytes of host memory changed between an upload and the wait for it", e->bytes);
        return inner->mem.upload(inner, e->to, e->from, e->bytes);
    case SHADOW_DOWNLOAD:
        return inner->mem.download(inner, e->to, e->from, e->bytes);
    case SHADOW_COPY:
        return inner->mem.copy(inner, e->to, e->from, e->bytes);
    case SHADOW_ZERO:
        return inner->mem.zero(inner, e->to, e->bytes);
    }
    return WEFT_OK;
}

static const char *name_of(const shadow_entry *e)
{
    static const char *const names[] = {
        [SHADOW_UPLOAD] = "upload", [SHADOW_DOWNLOAD] = "download", [SHADOW_COPY] = "copy", [SHADOW_ZERO] = "zero"};
    return e->task == SHADOW_OP ? hal_op_name(e->op) : names[e->task];
}

static void run_next(shadow_queue *queue)
{
    const shadow_entry *e = &queue->entry[queue->done % ENTRIES];
    weft_status status = shadow_begin(queue->memory, name_of(e), e->use, e->uses);
    if (status == WEFT_OK) {
        status = run_task(queue, e);
    }
    if (status != WEFT_OK && queue->failed == WEFT_OK) {
        queue->failed = status;
        snprintf(queue->message, sizeof queue->message, "%s", weft_error_message());
    }
    queue->done += 1;
}

static void run_until(shadow_queue *queue, uint64_t until)
{
    while (queue->done < queue->submitted && queue->done < until) {
        run_next(queue);
    }
    shadow_end(queue->memory);
    if (queue->done == queue->submitted) {
        queue->held_bytes = 0;
    }
}

weft_status shadow_queue_run(shadow_queue *queue, uint64_t until)
{
    run_until(queue, until);
    weft_status failed = queue->failed;
    queue->failed = WEFT_OK;
    return failed == WEFT_OK ? WEFT_OK : weft_fail(failed, "%s", queue->message);
}

/* ---- submitting -------------------------------------------------------------------------------------------------- */

/* A free entry for a task; a queue without one runs. Failures stay for the next wait. */
static shadow_entry *new_entry(shadow_queue *queue, shadow_task task, void *to, const void *from, size_t bytes)
{
    if (queue->submitted - queue->done == ENTRIES) {
        run_until(queue, queue->done + ENTRIES / 2);
    }
    shadow_entry *e = &queue->entry[queue->submitted % ENTRIES];
    e->task = task;
    e->uses = 0;
    e->to = to;
    e->from = from;
    e->bytes = bytes;
    return e;
}

static weft_status submit(shadow_queue *queue, shadow_entry *e)
{
    WEFT_TRY(shadow_check(queue->memory, name_of(e), e->use, e->uses));
    queue->submitted += 1;
    return WEFT_OK;
}

static void add_bytes(shadow_entry *e, const char *name, const void *device, size_t bytes, shadow_access access)
{
    e->use[e->uses++] =
        (shadow_use){.name = name, .data = device, .rows = 1, .row_bytes = bytes, .stride = bytes, .access = access};
}

/* What the call does to memory; operands that were left out or are not used do not count. */
static void add_operands(shadow_entry *e, hal_op op, const void *args)
{
    static const shadow_access access[] = {
        [HAL_IN] = SHADOW_READ, [HAL_OUT] = SHADOW_FRESH, [HAL_UPDATE] = SHADOW_UPDATE};
    hal_operand operand[HAL_MOST_OPERANDS];
    int count = hal_op_operands(op, args, operand);
    for (int i = 0; i < count; ++i) {
        const hal_mat *mat = operand[i].mat;
        size_t size = weft_dtype_bytes(mat->dtype);
        if (operand[i].access != HAL_UNUSED && hal_mat_given(mat)) {
            e->use[e->uses++] = (shadow_use){.name = operand[i].name,
                                             .data = mat->source,
                                             .rows = (size_t)mat->rows,
                                             .row_bytes = (size_t)mat->cols * size,
                                             .stride = (size_t)mat->ld * size,
                                             .access = access[operand[i].access]};
        }
    }
}

weft_status shadow_submit(shadow_queue *queue, hal_op op, const void *args)
{
    weft_dtype dtype;
    WEFT_TRY(hal_op_type(op, args, &dtype)); /* types are refused at once, as a device's library does */
    shadow_entry *e = new_entry(queue, SHADOW_OP, NULL, NULL, 0);
    assert(hal_op_args_bytes(op) <= MOST_ARGS);
    e->op = op;
    memcpy(e->args, args, hal_op_args_bytes(op));
    add_operands(e, op, args);
    return submit(queue, e);
}

weft_status shadow_submit_upload(shadow_queue *queue, void *device, const void *host, size_t bytes, bool keeps)
{
    if (!keeps && bytes > HELD - queue->held_bytes) {
        run_until(queue, UINT64_MAX);
    }
    bool holds = !keeps && bytes <= HELD;
    shadow_entry *e = new_entry(queue, SHADOW_UPLOAD, device, host, bytes);
    add_bytes(e, "target", device, bytes, SHADOW_FRESH);
    if (holds && bytes > 0) {
        e->from = memcpy(queue->held + queue->held_bytes, host, bytes);
    }
    e->sum = file_checksum(e->from, bytes, 0);
    WEFT_TRY(submit(queue, e));
    queue->held_bytes += holds ? bytes : 0;
    return keeps || holds ? WEFT_OK : shadow_queue_run(queue, UINT64_MAX);
}

/* A download may fill what an upload before it reads: the stream keeps their order, so poison comes after the
 * upload. */
static void run_uploads_from(shadow_queue *queue, const char *host, size_t bytes)
{
    for (uint64_t i = queue->submitted; i > queue->done; --i) {
        const shadow_entry *e = &queue->entry[(i - 1) % ENTRIES];
        const char *from = e->from;
        if (e->task == SHADOW_UPLOAD && from < host + bytes && host < from + e->bytes) {
            run_until(queue, i);
        }
    }
}

weft_status shadow_submit_download(shadow_queue *queue, void *host, const void *device, size_t bytes)
{
    run_uploads_from(queue, host, bytes);
    shadow_entry *e = new_entry(queue, SHADOW_DOWNLOAD, host, device, bytes);
    add_bytes(e, "source", device, bytes, SHADOW_READ);
    WEFT_TRY(submit(queue, e));
    if (bytes > 0) {
        memset(host, SHADOW_POISON, bytes);
    }
    return WEFT_OK;
}

weft_status shadow_submit_copy(shadow_queue *queue, void *to, const void *from, size_t bytes)
{
    shadow_entry *e = new_entry(queue, SHADOW_COPY, to, from, bytes);
    add_bytes(e, "target", to, bytes, SHADOW_FRESH);
    add_bytes(e, "source", from, bytes, SHADOW_READ);
    return submit(queue, e);
}

weft_status shadow_submit_zero(shadow_queue *queue, void *device, size_t bytes)
{
    shadow_entry *e = new_entry(queue, SHADOW_ZERO, device, NULL, bytes);
    add_bytes(e, "target", device, bytes, SHADOW_FRESH);
    return submit(queue, e);
}
