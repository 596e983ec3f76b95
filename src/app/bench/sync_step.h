/*
 * app/bench/sync_step.h: a training step without a model: a flat vector of gradients that come in bucket by bucket, a
 * busy loop in place of the layers, plain SGD.
 *
 *      [need bucket B, busy] .. [need bucket 0, busy]     forward, when reductions are split
 *      [busy, ready bucket 0] .. [busy, ready bucket B]   backward
 *      gradients; update; parameters
 *
 * The clock counts everything but the making of gradients and the update. The busy loop is in the backward pass. An
 * exact mode with --overlap split hides half of the communication behind the forward pass, which then has half of the
 * loop.
 */
#ifndef WEFT_APP_BENCH_SYNC_STEP_H
#define WEFT_APP_BENCH_SYNC_STEP_H

#include "comm/sync/sync.h"

typedef struct sync_step {
    weft_comm *comm;
    comm_sync *sync;
    int64_t count;
    float *value, *grad; /* [count] of comm_buffer_alloc */
    float *noise;        /* [count] source of gradients: few large values, many small ones */
    sync_bucket *bucket; /* [buckets] from the end of the vector to its beginning */
    int buckets;
    bool split;     /* buckets are owed after a step */
    bool known;     /* gradients of the next step are made by bench_fill, not of noise */
    int64_t work;   /* turns of the busy loop in a whole step */
    int64_t steps;  /* steps so far */
    double seconds; /* [out] of the last call of an operation, on this rank */
} sync_step;

/* Makes buffers, buckets and the sync, and begins it. Collective. Free with sync_step_close, also after a failure. */
weft_status sync_step_open(weft_comm *comm, const sync_options *options, int64_t count, sync_step *s);
void sync_step_close(sync_step *s); /* collective */

/* Waits for gradients that a split reduction has not delivered yet. */
weft_status sync_step_settle(sync_step *s);

/* ---- operations to time (bench_side), on a sync_step ---- */

/* Runs one step. Collective. */
weft_status sync_step_run(void *self);
/* Runs as many steps without computing as the mode's period has, and waits for all that they began in the background.
 * [out] seconds: of one step. Collective. */
weft_status sync_step_bare(void *self);
/* Runs the busy loop alone. */
weft_status sync_step_compute(void *self);

#endif
