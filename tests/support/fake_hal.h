/*
 * support/fake_hal.h: the few backend operations that the room comm uses, in the plainest C.
 *
 * With `distant` memory a device pointer is the host pointer moved by 2^60 bytes: arithmetic on it works, following it
 * from the host ends the process. Nothing but upload, download and the operations may touch it.
 */
#pragma once

#include <math.h>
#include <string.h>

#include "base/alloc.h"
#include "hal/core/fill_slots.h"
#include "hal/hal.h"

#define FAKE_DISTANCE ((uintptr_t)1 << 60)

static inline void *fake_host(const weft_hal *hal, const void *device)
{
    uintptr_t distance = hal_host_visible(hal) ? 0 : FAKE_DISTANCE;
    return device == NULL ? NULL : (void *)((uintptr_t)device - distance);
}

static inline weft_status fake_alloc(weft_hal *hal, size_t bytes, weft_mem_tag *tag, void **device)
{
    *device = NULL;
    WEFT_TRY(weft_malloc(bytes, 1, tag, device));
    if (*device != NULL && !hal_host_visible(hal)) {
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

static inline weft_status fake_gather_rows(weft_hal *hal, const hal_gather_rows_args *args)
{
    size_t e = weft_dtype_bytes(args->x.dtype);
    const int32_t *row = fake_host(hal, args->index.source);
    const char *x = fake_host(hal, args->x.source);
    char *y = fake_host(hal, args->y.source);
    for (int64_t i = 0; i < args->y.rows; ++i) {
        memcpy(y + (size_t)(i * args->y.ld) * e, x + (size_t)(row[i] * args->x.ld) * e, (size_t)args->y.cols * e);
    }
    return WEFT_OK;
}

/* Rounded to float by the caller: one addition in double is then the addition in float. */
static inline double fake_scatter(hal_scatter mode, double from, double to)
{
    return mode == HAL_SCATTER_ADD ? to + from : mode == HAL_SCATTER_MAX && !(from > to || isnan(from)) ? to : from;
}

static inline weft_status fake_scatter_rows(weft_hal *hal, const hal_scatter_rows_args *args)
{
    const int32_t *row = fake_host(hal, args->index.source);
    const void *x = fake_host(hal, args->x.source);
    void *y = fake_host(hal, args->y.source);
    for (int64_t i = 0; i < args->x.rows; ++i) {
        for (int64_t j = 0; j < args->x.cols; ++j) {
            int64_t from = i * args->x.ld + j;
            int64_t to = row[i] * args->y.ld + j;
            if (args->x.dtype == WEFT_DTYPE_F32) {
                float *at = &((float *)y)[to];
                *at = (float)fake_scatter(args->mode, (double)((const float *)x)[from], (double)*at);
            } else {
                double *at = &((double *)y)[to];
                *at = fake_scatter(args->mode, ((const double *)x)[from], *at);
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
    hal.mem.kind = distant ? HAL_MEM_DEVICE : HAL_MEM_HOST;
    hal.op.gather_rows = fake_gather_rows;
    hal.op.scatter_rows = fake_scatter_rows;
    hal_fill_slots(&hal);
    return hal;
}
