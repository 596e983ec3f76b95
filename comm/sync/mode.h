/*
 * comm/sync/mode.h: what several modes share: sums over communicators of their own (groups, sites, background), traffic
 * on them, and loops over all elements.
 */
#pragma once

#include "comm/sync/sync_mode.h"

/* A sum in place over a communicator of the mode's own, [count] float32. The algorithm is the user's where it runs
 * among any ranks; those that need a certain layout of nodes are chosen by the model. Collective over group. */
weft_status mode_plan_sum(const comm_sync *sync, weft_comm *group, comm_lane lane, float *buffer, int64_t count,
                          const char *name, comm_plan **plan);

/* Figures of traffic on the mode's own communicators: cleared, then added up over the communicators. */
void mode_clear_traffic(comm_sync *sync);
void mode_add_traffic(comm_sync *sync, const weft_comm *group);

/* Calls fn for parts [begin, end) of [0, count), on the caller's threads. Parts do not depend on the number of
 * threads. */
typedef void (*mode_part_fn)(void *argument, int64_t begin, int64_t end);
void mode_parallel(const comm_sync *sync, int64_t count, mode_part_fn fn, void *argument);
/* x *= factor, and x /= divisor, element by element. x: [count]. */
void mode_scale(const comm_sync *sync, float *x, int64_t count, float factor);
void mode_divide(const comm_sync *sync, float *x, int64_t count, float divisor);
