/* base/failure/failure.c: see base/failure/failure.h. */
#include "base/failure/failure.h"

#include <pthread.h>
#include <stdio.h>

void first_failure_note(first_failure *failure, int64_t place, weft_status status)
{
    static pthread_mutex_t noting = PTHREAD_MUTEX_INITIALIZER;
    if (status == WEFT_OK) {
        return;
    }
    (void)pthread_mutex_lock(&noting);
    if (failure->status == WEFT_OK || place < failure->place) {
        failure->status = status;
        failure->place = place;
        snprintf(failure->message, sizeof failure->message, "%s", weft_error_message());
    }
    (void)pthread_mutex_unlock(&noting);
}

weft_status first_failure_tell(const first_failure *failure)
{
    return failure->status == WEFT_OK ? WEFT_OK : weft_fail(failure->status, "%s", failure->message);
}
