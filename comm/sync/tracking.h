/* comm/sync/tracking.h: what travels beside the parameters, between the callers of sync.h and the modes
 * (comm/sync/tracking.c). */
#pragma once

#include "comm/sync/sync_mode.h"

/* Before the mode is made: desc.value becomes a buffer of the tracker's own, [trained | beside them | state]. kind:
 * ON or MOMENTS. */
weft_status tracking_create(comm_sync *sync, sync_tracking kind);
void tracking_destroy(comm_sync *sync);

/* Without a tracker these do nothing. */
void tracking_reset(comm_sync *sync);        /* nothing is known of any gradient or moment */
void tracking_enter(comm_sync *sync);        /* the caller's parameters come in, before the mode runs */
void tracking_leave(const comm_sync *sync);  /* and go back */
void tracking_update(const comm_sync *sync); /* the gradient is this rank's estimate: in, and the tracked one out */
int tracking_state(const comm_sync *sync, sync_buffer *buffer); /* fills, returns how many */

/* Elements of what travels in a mode, with a tracker or before there is one: the parameters with gradients, and as many
 * tracked gradients or second moments where they travel too. */
int64_t tracking_travelling(const comm_sync *sync, sync_mode mode);
/* The same with the state: the elements of desc.value as the mode sees it. */
int64_t tracking_elements(const comm_sync *sync, sync_mode mode);
