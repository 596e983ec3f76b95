/* comm/halo/halo_buffer.c: see comm/halo/halo_buffer.h. */
#include "comm/halo/halo_buffer.h"

#include "comm/comm.h"

void halo_buffer_free(weft_hal *hal, halo_buffer *buffer)
{
    if (buffer->data != NULL) { /* free waits for the stream: nothing is copied any more */
        (buffer->host ? hal->mem.free_host : hal->mem.free)(hal, buffer->data);
    }
    buffer->data = NULL;
    buffer->capacity = 0;
}

weft_status halo_buffer_reserve(weft_hal *hal, halo_buffer *buffer, int64_t bytes)
{
    if (bytes <= buffer->capacity) {
        return WEFT_OK;
    }
    halo_buffer_free(hal, buffer);
    WEFT_TRY((buffer->host ? hal->mem.alloc_host : hal->mem.alloc)(hal, (size_t)bytes, WEFT_MEM_COMM,
                                                                   (void **)&buffer->data));
    buffer->capacity = bytes;
    return WEFT_OK;
}
