/*
 * Momentum of topk on 2 to 7 ranks: once nothing is held back any more, what was applied is what momentum applies to
 * the sums of all gradients; with factor masking it is less.
 */
#include <math.h>
#include <stdlib.h>

#include "base/log.h"
#include "comm/sync/sync.h"
#include "support/comm_run.h"

enum { COUNT = 96, PUSHES = 5, STEPS = 300 };

static const double momentum = 0.9;

static float gradient(int rank, int step, int i)
{
    return step < PUSHES ? case_noise(rank + 1, i + 7 * step) : 0.0f;
}

/* [out] applied [COUNT]: what all steps together hand to the optimiser. */
static weft_status run_steps(weft_comm *comm, bool masking, double *applied)
{
    float value[COUNT] = {0.0f}; /* of no use to topk */
    static const sync_bucket bucket[] = {{0, COUNT}};
    static const sync_tensor tensor[] = {{"w", 0, 8, COUNT / 8}};
    float grad[COUNT];
    comm_sync *sync = NULL;
    sync_options options = sync_options_default();
    options.mode = SYNC_TOPK;
    options.topk.density = 0.1;
    options.topk.momentum = momentum;
    options.topk.masking = masking;
    options.topk.dense_below = 1;
    options.topk.exchange = SPARSE_ALL_GATHER;
    const sync_desc desc = {.dtype = WEFT_DTYPE_F32,
                            .value = value,
                            .grad = grad,
                            .trained = COUNT,
                            .elements = COUNT,
                            .bucket = bucket,
                            .buckets = 1,
                            .tensor = tensor,
                            .tensors = 1};
    WEFT_TRY(sync_create(comm, &options, &desc, &sync));
    weft_status status = sync_reset(sync);
    for (int step = 0; step < STEPS && status == WEFT_OK; ++step) {
        for (int i = 0; i < COUNT; ++i) {
            grad[i] = gradient(comm_rank(comm), step, i);
        }
        status = sync_begin(sync, 0.1, 1.0);
        status = status == WEFT_OK ? sync_gradients(sync) : status;
        for (int i = 0; i < COUNT; ++i) {
            applied[i] += (double)grad[i];
        }
        status = status == WEFT_OK ? sync_parameters(sync) : status;
    }
    sync_destroy(sync);
    return status;
}

static weft_status case_adds_up(weft_comm *comm, void *argument)
{
    (void)argument;
    double kept[COUNT] = {0.0}, masked[COUNT] = {0.0}, furthest = 0.0;
    if (comm_size(comm) == 1) {
        return WEFT_OK;
    }
    WEFT_TRY(run_steps(comm, false, kept));
    WEFT_TRY(run_steps(comm, true, masked));
    for (int i = 0; i < COUNT; ++i) {
        double sum = 0.0, size = 0.0;
        for (int q = 0; q < comm_size(comm); ++q) {
            for (int step = 0; step < PUSHES; ++step) {
                sum += (double)gradient(q, step, i);
                size += fabs((double)gradient(q, step, i));
            }
        }
        const double whole = sum / (1.0 - momentum), scale = size / (1.0 - momentum);
        CASE_CHECK(fabs(kept[i] - whole) <= 1e-5 * scale, "element %d: %g was applied, momentum applies %g", i, kept[i],
                   whole);
        furthest = fmax(furthest, fabs(masked[i] - whole) / scale);
    }
    CASE_CHECK(furthest > 0.1, "masking changes a part of %g at most", furthest);
    return WEFT_OK;
}

static const comm_case cases[] = {{"what topk applies adds up to momentum", case_adds_up}};

int main(void)
{
    log_set_level(LOG_WARN); /* every rank of a test would say how much it sends */
    return comm_run_threads(cases, sizeof cases / sizeof cases[0], comm_run_case_once);
}
