/*
 * support/fake_hal.h: the few backend operations that the room comm uses, in the plainest C.
 *
 * With `distant` memory a device pointer is the host pointer moved by 2^60 bytes: arithmetic on it works, following it
 * from the host ends the process. Nothing but upload, download and the operations may touch it.
 */
#ifndef WEFT_TESTS_FAKE_HAL_H
#define WEFT_TESTS_FAKE_HAL_H

#include <string.h>

#include "base/alloc.h"
#include "hal/hal.h"

#define FAKE_DISTANCE ((uintptr_t)1 << 60)

static inline void *fake_host(const weft_hal *hal, const void *device)
{
    uintptr_t distance = hal->mem.host_visible ? 0 : FAKE_DISTANCE;
    return device == NULL ? NULL : (void *)((uintptr_t)device - distance);
}

static inline weft_status fake_alloc(weft_hal *hal, size_t bytes, weft_mem_tag tag, void **device)
{
    *device = NULL;
    WEFT_TRY(weft_malloc(bytes, 1, tag, device));
    if (*device != NULL && !hal->mem.host_visible) {
        *device = (void *)((uintptr_t)*device + FAKE_DISTANCE);
    }
    return WEFT_OK;
}

static inline void fake_free(weft_hal *hal, void *device)
{
    weft_free(fake_host(hal, device));
}

static inline weft_status fake_upload(weft_hal *hal, void *device, const void *host, size_t bytes)
{
    memcpy(fake_host(hal, device), host, bytes);
    return WEFT_OK;
}

static inline weft_status fake_download(weft_hal *hal, void *host, const void *device, size_t bytes)
{
    memcpy(host, fake_host(hal, device), bytes);
    return WEFT_OK;
}

static inline weft_status fake_gather_rows(weft_hal *hal, weft_dtype dtype, int64_t count, int64_t n,
                                           const int32_t *index, const void *x, int64_t ldx, void *y, int64_t ldy)
{
    size_t e = weft_dtype_bytes(dtype);
    const int32_t *row = fake_host(hal, index);
    for (int64_t i = 0; i < count; ++i) {
        memcpy((char *)fake_host(hal, y) + (size_t)(i * ldy) * e,
               (const char *)fake_host(hal, x) + (size_t)(row[i] * ldx) * e, (size_t)n * e);
    }
    return WEFT_OK;
}

static inline weft_status fake_scatter_rows(weft_hal *hal, weft_dtype dtype, int64_t count, int64_t n,
                                            const int32_t *index, bool add, const void *x, int64_t ldx, void *y,
                                            int64_t ldy)
{
    const int32_t *row = fake_host(hal, index);
    for (int64_t i = 0; i < count; ++i) {
        for (int64_t j = 0; j < n; ++j) {
            if (dtype == WEFT_DTYPE_F32) {
                float *to = (float *)fake_host(hal, y) + row[i] * ldy + j;
                *to = ((const float *)fake_host(hal, x))[i * ldx + j] + (add ? *to : 0.0f);
            } else {
                double *to = (double *)fake_host(hal, y) + row[i] * ldy + j;
                *to = ((const double *)fake_host(hal, x))[i * ldx + j] + (add ? *to : 0.0);
            }
        }
    }
    return WEFT_OK;
}

static inline weft_hal fake_hal(bool distant)
{
    weft_hal hal = {.name = distant ? "fake, distant" : "fake", .threads = 1};
    hal.mem.alloc = fake_alloc;
    hal.mem.free = fake_free;
    hal.mem.upload = fake_upload;
    hal.mem.download = fake_download;
    hal.mem.host_visible = !distant;
    hal.dense.gather_rows = fake_gather_rows;
    hal.dense.scatter_rows = fake_scatter_rows;
    return hal;
}

#endif
