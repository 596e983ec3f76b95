/*
 * hal/cuda/cuda_memory.c: memory of the device, and copies. Copies from and to memory that the caller may reuse or that
 * is not pinned go through two pieces of pinned memory in turn: one is filled or emptied while the other is copied.
 */
#include <string.h>

#include "base/log.h"
#include "hal/cuda/cuda_order.h"

/* ---- blocks ------------------------------------------------------------------------------------------------------ */

static weft_status keep_block(cuda_state *state, const cuda_block *block)
{
    if (state->blocks == state->most_blocks) {
        const int64_t most = state->most_blocks > 0 ? 2 * state->most_blocks : 256;
        WEFT_TRY(weft_realloc((void **)&state->block, (size_t)most, sizeof *state->block, WEFT_MEM_GENERAL));
        state->most_blocks = most;
    }
    state->block[state->blocks++] = *block;
    return WEFT_OK;
}

static int release_block(const cuda_block *block)
{
    const int code = block->host ? cuda_host_free(block->data) : cuda_device_free(block->data);
    weft_mem_give_back(block->bytes, block->tag);
    return code;
}

static weft_status fail_memory(const cuda_state *state, const cuda_block *block)
{
    size_t left = 0;
    size_t total = 0;
    (void)cuda_device_memory(&left, &total);
    if (block->host) {
        return weft_fail(WEFT_ERR_RESOURCE, "no pinned memory of the host for %zu bytes (%s)", block->bytes,
                         block->tag->text);
    }
    return weft_fail(WEFT_ERR_RESOURCE,
                     "no memory on GPU %d for %zu bytes (%s): %zu of %zu are free; take more ranks on more GPUs, or a "
                     "smaller model",
                     state->device, block->bytes, block->tag->text, left, total);
}

static weft_status take_block(weft_hal *hal, cuda_block *block)
{
    cuda_state *state = cuda_state_of(hal);
    WEFT_TRY(cuda_enter(hal));
    WEFT_TRY(weft_mem_take(block->bytes, block->tag));
    const int code =
        block->host ? cuda_host_alloc(&block->data, block->bytes) : cuda_device_alloc(&block->data, block->bytes);
    if (code != CUDA_DONE) {
        weft_mem_give_back(block->bytes, block->tag);
        return code == CUDA_ERROR_MEMORY ? fail_memory(state, block) : cuda_check("alloc", code);
    }
    const weft_status status = keep_block(state, block);
    if (status != WEFT_OK) {
        (void)release_block(block);
    }
    return status;
}

/* Three streams may use what is freed. */
static int wait_for_all(cuda_state *state)
{
    cuda_stream *const streams[] = {state->queue.stream, state->in, state->out};
    int code = CUDA_DONE;
    for (int i = 0; i < 3; ++i) {
        const int own = cuda_stream_sync(streams[i]);
        code = code != CUDA_DONE ? code : own;
    }
    return code;
}

static void free_block(weft_hal *hal, void *data)
{
    cuda_state *state = cuda_state_of(hal);
    int64_t at = state->blocks - 1;
    if (data == NULL) {
        return;
    }
    while (at >= 0 && state->block[at].data != data) {
        at -= 1;
    }
    if (at < 0 || cuda_enter(hal) != WEFT_OK) {
        log_warn("cuda: %p is freed but was not allocated here (or was freed before)", data);
        return;
    }
    const cuda_block block = state->block[at];
    (void)wait_for_all(state); /* a failure comes back at the next wait */
    if (block.host) {          /* the address may come back as other memory */
        for (int i = 0; i < state->pieces; ++i) {
            state->piece[i].host = NULL;
        }
    } else {
        cuda_order_forget(state, block.data, block.bytes);
    }
    state->block[at] = state->block[--state->blocks];
    if (release_block(&block) != CUDA_DONE) {
        log_warn("cuda: %zu bytes could not be freed", block.bytes);
    }
}

static weft_status alloc_block(weft_hal *hal, cuda_block block, void **data)
{
    *data = NULL;
    if (block.bytes > 0) {
        WEFT_TRY(take_block(hal, &block));
        *data = block.data;
    }
    return WEFT_OK;
}

static weft_status mem_alloc(weft_hal *hal, size_t bytes, weft_mem_tag *tag, void **device)
{
    return alloc_block(hal, (cuda_block){.bytes = bytes, .tag = tag}, device);
}

static weft_status mem_alloc_host(weft_hal *hal, size_t bytes, weft_mem_tag *tag, void **host)
{
    return alloc_block(hal, (cuda_block){.bytes = bytes, .tag = tag, .host = true}, host);
}

/* ---- copies through staging memory, which takes longer rows piece by piece --------------------------------------- */

/* The next piece of staging memory, once its last copy is done. */
static int next_bounce(cuda_state *state)
{
    const int bounce = state->next_bounce;
    state->next_bounce = (bounce + 1) % CUDA_BOUNCES;
    return bounce;
}

/* A block without gaps is many rows of one byte. */
static hal_rows without_gaps(size_t bytes)
{
    return (hal_rows){.rows = (int64_t)bytes, .bytes = 1, .stride = 1};
}

/* From the first byte to the last. */
static size_t reach_of(hal_rows rows)
{
    return (size_t)(rows.rows - 1) * rows.stride + rows.bytes;
}

/* Of `left` rows, as many as a piece of staging memory holds. */
static size_t chunk_of(hal_rows rows, size_t left)
{
    const size_t most = (size_t)CUDA_BOUNCE / rows.bytes;
    return left < most ? left : most;
}

static int copy_up(cuda_state *state, char *device, const char *host, hal_rows of, size_t rows)
{
    cuda_stream *stream = state->queue.stream;
    return of.stride == of.bytes ? cuda_copy_up(stream, device, host, rows * of.bytes)
                                 : cuda_copy_rows_up(stream, device, of.stride, host, of.bytes, rows);
}

static int copy_down(cuda_state *state, char *host, const char *device, hal_rows of, size_t rows)
{
    cuda_stream *stream = state->queue.stream;
    return of.stride == of.bytes ? cuda_copy_down(stream, host, device, rows * of.bytes)
                                 : cuda_copy_rows_down(stream, host, device, of.stride, of.bytes, rows);
}

static int upload_chunks(cuda_state *state, char *device, const char *host, hal_rows rows)
{
    int code = CUDA_DONE;
    for (size_t done = 0; done < (size_t)rows.rows && code == CUDA_DONE;) {
        const size_t chunk = chunk_of(rows, (size_t)rows.rows - done);
        const int bounce = next_bounce(state);
        code = cuda_event_sync(state->bounced[bounce]);
        memcpy(state->bounce[bounce], host + done * rows.bytes, chunk * rows.bytes);
        if (code == CUDA_DONE) {
            code = copy_up(state, device + done * rows.stride, state->bounce[bounce], rows, chunk);
        }
        if (code == CUDA_DONE) {
            code = cuda_event_record(state->bounced[bounce], state->queue.stream);
        }
        done += chunk;
    }
    return code;
}

/* One chunk is copied while the one before it is read. */
static int download_chunks(cuda_state *state, char *host, const char *device, hal_rows rows)
{
    int code = CUDA_DONE;
    int last = 0;
    size_t asked = 0;
    size_t last_chunk = 0;
    for (size_t read = 0; read < (size_t)rows.rows && code == CUDA_DONE;) {
        const size_t chunk = chunk_of(rows, (size_t)rows.rows - asked);
        const int bounce = chunk > 0 ? next_bounce(state) : 0;
        if (chunk > 0) {
            code = cuda_event_sync(state->bounced[bounce]);
            code = code == CUDA_DONE
                       ? copy_down(state, state->bounce[bounce], device + asked * rows.stride, rows, chunk)
                       : code;
            code = code == CUDA_DONE ? cuda_event_record(state->bounced[bounce], state->queue.stream) : code;
        }
        if (last_chunk > 0 && code == CUDA_DONE) {
            code = cuda_event_sync(state->bounced[last]);
            memcpy(host + read * rows.bytes, state->bounce[last], last_chunk * rows.bytes);
            read += last_chunk;
        }
        last = bounce;
        last_chunk = chunk;
        asked += chunk;
    }
    return code;
}

static weft_status mem_upload_rows(weft_hal *hal, void *device, const void *host, hal_rows rows)
{
    cuda_state *state = cuda_state_of(hal);
    if (rows.rows == 0 || rows.bytes == 0) {
        return WEFT_OK;
    }
    if (rows.bytes > CUDA_BOUNCE) {
        for (int64_t i = 0; i < rows.rows; ++i) {
            WEFT_TRY(mem_upload_rows(hal, (char *)device + (size_t)i * rows.stride,
                                     (const char *)host + (size_t)i * rows.bytes, without_gaps(rows.bytes)));
        }
        return WEFT_OK;
    }
    WEFT_TRY(cuda_enter(hal));
    WEFT_TRY(cuda_check("upload", cuda_order_begin_use(state, device, reach_of(rows))));
    WEFT_TRY(cuda_check("upload", upload_chunks(state, device, host, rows)));
    return cuda_check("upload", cuda_order_end_use(state, device, reach_of(rows)));
}

static weft_status mem_upload(weft_hal *hal, void *device, const void *host, size_t bytes)
{
    return mem_upload_rows(hal, device, host, without_gaps(bytes));
}

static weft_status mem_download_rows(weft_hal *hal, void *host, const void *device, hal_rows rows)
{
    cuda_state *state = cuda_state_of(hal);
    for (int64_t i = 0; i < rows.rows && rows.bytes > CUDA_BOUNCE; ++i) {
        WEFT_TRY(mem_download_rows(hal, (char *)host + (size_t)i * rows.bytes,
                                   (const char *)device + (size_t)i * rows.stride, without_gaps(rows.bytes)));
    }
    WEFT_TRY(cuda_enter(hal));
    if (rows.rows > 0 && rows.bytes > 0 && rows.bytes <= CUDA_BOUNCE) {
        WEFT_TRY(cuda_check("download", cuda_order_begin_use(state, device, reach_of(rows))));
        WEFT_TRY(cuda_check("download", download_chunks(state, host, device, rows)));
    }
    WEFT_TRY(cuda_check("download", wait_for_all(state)));
    return cuda_check("download", cuda_device_last_error());
}

static weft_status mem_download(weft_hal *hal, void *host, const void *device, size_t bytes)
{
    return mem_download_rows(hal, host, device, without_gaps(bytes));
}

/* ---- copies of their own ----------------------------------------------------------------------------------------- */

static weft_status copy_async(weft_hal *hal, bool up, void *to, const void *from, size_t bytes)
{
    cuda_state *state = cuda_state_of(hal);
    const char *what = up ? "upload_async" : "download_async";
    const void *device = up ? to : from;
    const void *host = up ? from : to;
    cuda_stream *stream = NULL;
    if (bytes == 0) {
        return WEFT_OK;
    }
    WEFT_TRY(cuda_enter(hal));
    WEFT_TRY(cuda_check(what, cuda_order_begin_copy(state, up, device, host, bytes, &stream)));
    WEFT_TRY(cuda_check(what, up ? cuda_copy_up(stream, to, from, bytes) : cuda_copy_down(stream, to, from, bytes)));
    return cuda_check(what, cuda_order_end_copy(state, device, host, bytes, stream));
}

static weft_status mem_upload_async(weft_hal *hal, void *device, const void *host, size_t bytes)
{
    return copy_async(hal, true, device, host, bytes);
}

static weft_status mem_download_async(weft_hal *hal, void *host, const void *device, size_t bytes)
{
    return copy_async(hal, false, host, device, bytes);
}

static weft_status mem_copy(weft_hal *hal, void *to, const void *from, size_t bytes)
{
    cuda_state *state = cuda_state_of(hal);
    if (bytes == 0) {
        return WEFT_OK;
    }
    WEFT_TRY(cuda_enter(hal));
    WEFT_TRY(cuda_check("copy", cuda_order_begin_use(state, to, bytes)));
    WEFT_TRY(cuda_check("copy", cuda_order_begin_use(state, from, bytes)));
    WEFT_TRY(cuda_check("copy", cuda_copy_across(state->queue.stream, to, from, bytes)));
    WEFT_TRY(cuda_check("copy", cuda_order_end_use(state, to, bytes)));
    return cuda_check("copy", cuda_order_end_use(state, from, bytes));
}

static weft_status mem_zero_rows(weft_hal *hal, void *device, hal_rows rows)
{
    cuda_state *state = cuda_state_of(hal);
    if (rows.rows == 0 || rows.bytes == 0) {
        return WEFT_OK;
    }
    WEFT_TRY(cuda_enter(hal));
    WEFT_TRY(cuda_check("zero", cuda_order_begin_use(state, device, reach_of(rows))));
    cuda_stream *stream = state->queue.stream;
    const size_t count = (size_t)rows.rows;
    WEFT_TRY(cuda_check("zero", rows.stride == rows.bytes
                                    ? cuda_fill(stream, device, 0, count * rows.bytes)
                                    : cuda_fill_rows(stream, device, rows.stride, 0, rows.bytes, count)));
    return cuda_check("zero", cuda_order_end_use(state, device, reach_of(rows)));
}

static weft_status mem_zero(weft_hal *hal, void *device, size_t bytes)
{
    return mem_zero_rows(hal, device, without_gaps(bytes));
}

static weft_status mem_room(weft_hal *hal, size_t *left, size_t *total)
{
    WEFT_TRY(cuda_enter(hal));
    return cuda_check("memory of the device", cuda_device_memory(left, total));
}

static weft_status mem_enter(weft_hal *hal)
{
    return cuda_enter(hal);
}

/* ---- open and close ---------------------------------------------------------------------------------------------- */

weft_status cuda_memory_open(weft_hal *hal)
{
    cuda_state *state = cuda_state_of(hal);
    for (int i = 0; i < CUDA_BOUNCES; ++i) {
        void *host = NULL;
        WEFT_TRY(mem_alloc_host(hal, CUDA_BOUNCE, WEFT_MEM_WORKSPACE, &host));
        state->bounce[i] = host;
        WEFT_TRY(cuda_check("open", cuda_event_create(&state->bounced[i])));
    }
    hal->mem = (hal_mem_ops){.kind = HAL_MEM_DEVICE,
                             .reach = cuda_device_memory_is_open() ? HAL_REACH_ALL : HAL_REACH_CUDA,
                             .alloc = mem_alloc,
                             .free = free_block,
                             .upload = mem_upload,
                             .download = mem_download,
                             .copy = mem_copy,
                             .zero = mem_zero,
                             .upload_rows = mem_upload_rows,
                             .download_rows = mem_download_rows,
                             .zero_rows = mem_zero_rows,
                             .room = mem_room,
                             .enter = mem_enter,
                             .alloc_host = mem_alloc_host,
                             .free_host = free_block,
                             .upload_async = mem_upload_async,
                             .download_async = mem_download_async};
    return WEFT_OK;
}

void cuda_memory_close(weft_hal *hal)
{
    cuda_state *state = cuda_state_of(hal);
    for (int i = 0; i < CUDA_BOUNCES; ++i) {
        free_block(hal, state->bounce[i]);
        if (state->bounced[i] != NULL) {
            (void)cuda_event_destroy(state->bounced[i]);
        }
    }
    if (state->blocks > 0) {
        (void)wait_for_all(state);
        log_warn("cuda: %ld blocks of memory were never freed", (long)state->blocks);
    }
    for (int64_t i = 0; i < state->blocks; ++i) {
        cuda_order_forget(state, state->block[i].data, state->block[i].bytes);
        (void)release_block(&state->block[i]);
    }
    weft_free(state->block);
}
