/*
 * support/open.h: backends that a machine may lack.
 */
#pragma once

#include "hal/hal.h"
#include "support/test.h"

/* False, and said, where this machine has none of the resource: the test is skipped, or that part of it. */
static inline bool open_if_there(const char *resource, int threads, weft_hal **hal)
{
    const weft_status status = weft_hal_open(resource, threads, hal);
    if (status == WEFT_ERR_UNSUPPORTED) {
        print_message("skipped: %s\n", weft_error_message());
        return false;
    }
    ASSERT_OK(status);
    return true;
}
