/*
 * app/bench/sync_step.h: a training step without a model: a flat vector of gradients that come in bucket by bucket, a
 * busy loop in place of the layers, plain SGD.
 *
 *      [need bucket B, busy] .. [need bucket 0, busy]     forward, when reductions are split
 *      [busy, ready bucket 0] .. [busy, ready bucket B]   backward
 *      gradients; update; parameters
 *
 * The clock counts all of it but the making of gradients and the update. All of the busy loop stands in the backward
 * pass; where an exact mode with --overlap split hides half of the communication behind the forward pass, half of it
 * stands there.
 */
#ifndef WEFT_APP_BENCH_SYNC_STEP_H
#define WEFT_APP_BENCH_SYNC_STEP_H

#include "comm/sync/sync.h"

typedef struct sync_step {
    weft_comm *comm;
    comm_sync *sync;
    int64_t count;
    float *value, *grad; /* [count] of comm_buffer_alloc */
    float *noise;        /* [count] what gradients are made of: few large ones, many small */
    sync_bucket *bucket; /* [buckets] from the end of the vector to its beginning */
    int buckets;
    bool split; /* buckets are owed after a step */
    int64_t steps;
} sync_step;

/* Buffers, buckets and the sync itself, begun. Collective. Free with sync_step_close, also after a failure. */
weft_status sync_step_open(weft_comm *comm, const sync_options *options, int64_t count, sync_step *s);
void sync_step_close(sync_step *s); /* collective */

/* One step; known: the gradients are those of bench_fill, else noise. work: turns of the busy loop in the whole step.
 * Seconds of the slowest rank. Collective. */
weft_status sync_step_run(sync_step *s, bool known, int64_t work, double *seconds);
/* Wait for what a split reduction still owes. */
weft_status sync_step_settle(sync_step *s);
/* Steps without computing, as many as the mode takes to repeat itself, waited for with all that they began in the
 * background: seconds of one, of the slowest rank. Collective. */
weft_status sync_step_bare(sync_step *s, double *seconds);

/* The busy loop by itself, on all ranks at once; seconds of the slowest. Collective. */
weft_status sync_step_compute(weft_comm *comm, int64_t work, double *seconds);

#endif
