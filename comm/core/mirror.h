/*
 * comm/core/mirror.h: a vector on a device that also has a place in host memory, for whoever saves and restores state.
 *
 * It is in one of both at a time: operations take it to the device, checkpoints to the host, and nothing crosses
 * between two operations. None of these functions is collective.
 */
#pragma once

#include "comm/comm.h"

typedef struct comm_mirror {
    weft_hal *hal;
    int64_t count;
    float *device, *host; /* [count] */
    bool on_host;         /* the host's is the vector; else the device's */
} comm_mirror;

/* Of the device, and of the host. */
static inline size_t mirror_bytes(int64_t count)
{
    return (size_t)count * sizeof(float);
}

/* Zeros. Free with mirror_free, also after a failure. WEFT_ERR_RESOURCE; what the backend answers. */
weft_status mirror_create(weft_hal *hal, int64_t count, comm_mirror *mirror);
void mirror_free(comm_mirror *mirror);

/* The vector is on the device from here on: mirror->device. */
weft_status mirror_to_device(comm_mirror *mirror);
/* The vector is in host memory from here on: mirror->host, which may be written. Waits for the stream. */
weft_status mirror_to_host(comm_mirror *mirror);
