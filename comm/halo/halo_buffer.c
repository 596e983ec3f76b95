/* comm/halo/halo_buffer.c: see comm/halo/halo_buffer.h. */
#include "comm/halo/halo_buffer.h"

#include "comm/comm.h"

void halo_buffer_free(weft_hal *hal, halo_buffer *buffer)
{
    if (buffer->data != NULL) {
        hal->mem.free(hal, buffer->data); /* waits for the stream: nothing is copied any more */
    }
    *buffer = (halo_buffer){.data = NULL};
}

void halo_buffer_free_host(weft_hal *hal, halo_buffer *buffer)
{
    if (buffer->data != NULL) {
        hal->mem.free_host(hal, buffer->data);
    }
    *buffer = (halo_buffer){.data = NULL};
}

weft_status halo_buffer_reserve(weft_hal *hal, halo_buffer *buffer, int64_t bytes)
{
    if (bytes <= buffer->capacity) {
        return WEFT_OK;
    }
    halo_buffer_free(hal, buffer);
    WEFT_TRY(hal->mem.alloc(hal, (size_t)bytes, WEFT_MEM_COMM, (void **)&buffer->data));
    buffer->capacity = bytes;
    return WEFT_OK;
}

weft_status halo_buffer_reserve_host(weft_hal *hal, halo_buffer *buffer, int64_t bytes)
{
    if (bytes <= buffer->capacity) {
        return WEFT_OK;
    }
    halo_buffer_free_host(hal, buffer);
    WEFT_TRY(hal->mem.alloc_host(hal, (size_t)bytes, WEFT_MEM_COMM, (void **)&buffer->data));
    buffer->capacity = bytes;
    return WEFT_OK;
}
