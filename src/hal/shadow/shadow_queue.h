/*
 * hal/shadow/shadow_queue.h: the stream of the shadow device. What is submitted waits here until somebody waits for it:
 * a sync, a download, an event, or a full queue. Host memory that a copy is to fill holds 0xA5 bytes until then, and
 * host memory that a copy is to read must not have changed.
 */
#pragma once

#include "hal/shadow/shadow_memory.h"
#include "hal/table/op_table.h"

enum { SHADOW_POISON = 0xA5 };

/* What a submission does besides operations. */
typedef enum shadow_task { SHADOW_OP, SHADOW_UPLOAD, SHADOW_DOWNLOAD, SHADOW_COPY, SHADOW_ZERO } shadow_task;

typedef struct shadow_entry shadow_entry;

typedef struct shadow_queue {
    weft_hal *inner;
    shadow_memory *memory;
    shadow_entry *entry; /* a ring */
    char *held;          /* host bytes of uploads whose caller may reuse its own */
    size_t held_bytes;   /* in use */
    uint64_t submitted, done;
    weft_status failed; /* of something that ran, not told yet */
    char message[256];
} shadow_queue;

weft_status shadow_queue_open(shadow_queue *queue, weft_hal *inner, shadow_memory *memory);
void shadow_queue_close(shadow_queue *queue);

/* Each checks its operands against the blocks at once and runs later. */
weft_status shadow_submit(shadow_queue *queue, hal_op op, const void *args);
/* `keeps`: the host memory stays as it is until the copy is waited for; otherwise its bytes are held here. */
weft_status shadow_submit_upload(shadow_queue *queue, void *device, const void *host, size_t bytes, bool keeps);
weft_status shadow_submit_download(shadow_queue *queue, void *host, const void *device, size_t bytes);
weft_status shadow_submit_copy(shadow_queue *queue, void *to, const void *from, size_t bytes);
weft_status shadow_submit_zero(shadow_queue *queue, void *device, size_t bytes);

/* Run what was submitted before number `until`, all when UINT64_MAX. Tells a failure once. */
weft_status shadow_queue_run(shadow_queue *queue, uint64_t until);
