/* comm/halo/halo_buffer.h: buffers that grow to what exchanges need and are kept for the next one. */
#pragma once

#include "hal/hal.h"

typedef struct halo_buffer {
    char *data;
    int64_t capacity;
    bool host; /* memory of the host that the backend copies to and from, else the backend's */
} halo_buffer;

/* The buffer has room for so many bytes; what it held is lost if it grows. */
weft_status halo_buffer_reserve(weft_hal *hal, halo_buffer *buffer, int64_t bytes);
/* Waits for copies under way. */
void halo_buffer_free(weft_hal *hal, halo_buffer *buffer);
