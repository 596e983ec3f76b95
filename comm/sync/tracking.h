/* comm/sync/tracking.h: the gradient tracker between the callers of sync.h and the modes (comm/sync/tracking.c). */
#ifndef WEFT_COMM_SYNC_TRACKING_H
#define WEFT_COMM_SYNC_TRACKING_H

#include "comm/sync/sync.h"

/* Before the mode is made: desc.value becomes a buffer of the tracker's own, [trained | tracked | state]. */
weft_status tracking_create(comm_sync *sync);
void tracking_destroy(comm_sync *sync);

/* Without a tracker these do nothing. */
void tracking_reset(comm_sync *sync);        /* nothing is known of any gradient */
void tracking_enter(comm_sync *sync);        /* the caller's parameters come in, before the mode runs */
void tracking_leave(const comm_sync *sync);  /* and go back */
void tracking_update(const comm_sync *sync); /* the gradient is this rank's estimate: in, and the tracked one out */
int tracking_state(const comm_sync *sync, sync_buffer *buffer); /* fills, returns how many */

/* Elements of desc.value before the state: the parameters, and as many tracked gradients. */
int64_t tracking_travelling(const comm_sync *sync);

#endif
