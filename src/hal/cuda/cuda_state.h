/*
 * hal/cuda/cuda_state.h: an opened GPU.
 *
 *     stream `queue`     operations, uploads, downloads, copies                 <- what hal.h calls the stream
 *     stream `in`        upload_async                     both beside it; who waits for whom is cuda_order.h's business
 *     stream `out`       download_async
 */
#pragma once

#include "hal/cuda/device/cuda_queue.h"
#include "hal/hal.h"

enum { CUDA_BOUNCES = 2, CUDA_BOUNCE = 4 << 20 /* bytes of each piece of staging memory */ };

typedef struct cuda_block {
    void *data;
    size_t bytes;
    weft_mem_tag *tag;
    bool host; /* pinned memory of the host */
} cuda_block;

/* Device memory that asynchronous copies come from or go to, and the host memory of the last one. */
typedef struct cuda_piece {
    const char *device, *host;
    size_t bytes;
    cuda_event *copied; /* behind the last copy */
    cuda_event *used;   /* behind the last operation on it */
} cuda_piece;

enum { CUDA_PIECES = 256 };

typedef struct cuda_state {
    int device;
    cuda_queue queue;
    cuda_stream *in, *out;
    char *bounce[CUDA_BOUNCES];
    cuda_event *bounced[CUDA_BOUNCES]; /* behind the last copy of each */
    int next_bounce;
    cuda_block *block;
    int64_t blocks, most_blocks;
    cuda_piece piece[CUDA_PIECES];
    int pieces;
} cuda_state;

static inline cuda_state *cuda_state_of(const weft_hal *hal)
{
    return (cuda_state *)hal->state;
}

/* The device becomes the calling thread's. */
weft_status cuda_enter(const weft_hal *hal);
/* What a code of cuda_device.h means: WEFT_OK, WEFT_ERR_UNSUPPORTED without a device, WEFT_ERR_RESOURCE without memory,
 * WEFT_ERR_INTERNAL for what the device refuses. `what`: the operation. */
weft_status cuda_check(const char *what, int code);

/* Memory: hal_mem_ops, and what closing frees. */
weft_status cuda_memory_open(weft_hal *hal);
void cuda_memory_close(weft_hal *hal);
