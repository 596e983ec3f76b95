/* base/failure/failure.h: one failure of threads that work side by side, whose messages are each thread's own. */
#pragma once

#include <stdint.h>

#include "base/status.h"

/* All zero: nothing has failed. */
typedef struct first_failure {
    weft_status status;
    int64_t place; /* of what failed */
    char message[2048];
} first_failure;

/* Notes that the calling thread failed with `status` and its message at a place; nothing if WEFT_OK. Of several
 * failures that of the lowest place stays, of one place the first. */
void first_failure_note(first_failure *failure, int64_t place, weft_status status);
/* Fails on the calling thread with what was noted, once the others are through. WEFT_OK: nothing was. */
weft_status first_failure_tell(const first_failure *failure);
