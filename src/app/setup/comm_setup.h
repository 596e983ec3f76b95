/*
 * app/setup/comm_setup.h: how this job communicates: what its nodes are, what their links cost, when a silence is a
 * failure.
 *
 * --ranks-per-node, --comm-model, --calibrate and --stall-timeout. The model comes from a file that fits these nodes,
 * or is measured (comm/model/calibrate.h) and kept for the next job; one line in the log says which:
 *
 *      network: 4 nodes, 112 us, 0.118 GB/s; node: 0.4 us, 9.1 GB/s (from /home/ada/.cache/weft/comm-1f0c.json)
 *
 * A file that does not fit, or whose network answers quite differently today, is never used: the default file is
 * replaced, a file named by the user is left alone unless --calibrate always. One rank measures nothing.
 */
#pragma once

#include "app/setup/context.h"

/* The nodes and the patience of this job. After app_context_open, before anything else. Collective. */
weft_status comm_setup_begin(app_context *context);

/* What links cost: after comm_setup_begin, before the first plan. Collective. measure: false takes --calibrate for
 * `never` (a dry run, or a job that no figure would make faster). */
weft_status comm_setup(app_context *context, bool measure);

/* From here on the others may wait so many seconds longer than --stall-timeout, while rank 0 does alone what takes long
 * on large data; 0: no longer. Each rank for itself. */
void comm_setup_extend_patience(const app_context *context, double seconds);
