/* comm/halo/halo_buffer.h: buffers that grow to what exchanges need and are kept for the next one. */
#ifndef WEFT_COMM_HALO_HALO_BUFFER_H
#define WEFT_COMM_HALO_HALO_BUFFER_H

#include "hal/hal.h"

typedef struct halo_buffer {
    char *data;
    int64_t capacity;
} halo_buffer;

/* The backend's memory, and memory of the host that it copies to and from. What they held is lost when they grow. */
weft_status halo_buffer_reserve(weft_hal *hal, halo_buffer *buffer, int64_t bytes);
weft_status halo_buffer_reserve_host(weft_hal *hal, halo_buffer *buffer, int64_t bytes);
/* Waits for what is copied. */
void halo_buffer_free(weft_hal *hal, halo_buffer *buffer);
void halo_buffer_free_host(weft_hal *hal, halo_buffer *buffer);

#endif
