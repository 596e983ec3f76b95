/* comm/sync/mode.h: what the modes that make communicators of their own (groups, sites, background) share. */
#ifndef WEFT_COMM_SYNC_MODE_H
#define WEFT_COMM_SYNC_MODE_H

#include "comm/sync/sync.h"

/* A sum in place over a communicator of the mode's own, [count] float32. The algorithm is the user's where it runs
 * among any ranks; those that need a certain layout of nodes are chosen by the model. Collective over group. */
weft_status mode_plan_sum(const comm_sync *sync, weft_comm *group, comm_lane lane, float *buffer, int64_t count,
                          const char *name, comm_plan **plan);

/* Traffic of the mode's own communicators: begin with none, add each. */
void mode_clear_traffic(comm_sync *sync);
void mode_add_traffic(comm_sync *sync, const weft_comm *group);

/* x /= divisor. */
void mode_divide(float *x, int64_t count, float divisor);

#endif
