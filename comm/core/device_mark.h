/*
 * comm/core/device_mark.h: a place in a device's stream that the first step of an operation waits for, without anybody
 * standing still where the backend can be asked. Local.
 */
#pragma once

#include "hal/hal.h"

/* Behind what was called so far; the caller waits where the backend cannot be asked (hal_stream_ops.reached). Of the
 * thread that owns the backend. What the backend answers. */
static inline weft_status device_mark_put(weft_hal *hal, hal_event *mark)
{
    WEFT_TRY(hal->stream.record(hal, mark));
    return hal->stream.reached != NULL ? WEFT_OK : hal->stream.wait(hal, mark);
}

/* [out] reached  whether the stream has come there; never waits. Any thread. What the backend answers. */
static inline weft_status device_mark_reached(weft_hal *hal, hal_event *mark, bool *reached)
{
    *reached = true;
    return hal->stream.reached != NULL ? hal->stream.reached(hal, mark, reached) : WEFT_OK;
}
