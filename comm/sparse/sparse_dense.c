/*
 * comm/sparse/sparse_dense.c: past break-even: the residual goes into the vector and the vector through a dense
 * all-reduce; nothing remains.
 *
 * A second all-reduce, of one number, carries who is not finite: P - rank above, what is left of 2^31 - 1 after the
 * index below, so that the maximum names the lowest rank and its first element.
 */
#include "comm/sparse/sparse_internal.h"
#include "hal/pack.h"

/* This rank's number for the flag: 0 when its vector is finite. */
static int64_t flag_of(const sparse_plan *plan)
{
    const float *x = plan->desc.buffer;
    int64_t count = plan->desc.count;
    if (hal_pack_best()->count(x, 0, count, HAL_MAGNITUDE_INFINITY) == 0) {
        return 0;
    }
    int64_t i = 0;
    while (i < count - 1 && hal_magnitude(x[i]) < HAL_MAGNITUDE_INFINITY) {
        ++i;
    }
    return (int64_t)(comm_size(plan->comm) - comm_rank(plan->comm)) << 32 | (INT32_MAX - i);
}

/* What the flag's all-reduce begins with. A vector of a device may still be under way. */
static weft_status find_flag(void *argument, bool *done)
{
    sparse_plan *plan = argument;
    *done = true;
    WEFT_TRY(plan->device != NULL ? sparse_device_here(plan, done) : WEFT_OK);
    if (*done) {
        plan->flag_value = flag_of(plan);
        plan->flag_found = true;
    }
    return WEFT_OK;
}

/* The vector is this rank's own until then. */
static weft_status await_flag(void *argument, bool *done)
{
    const sparse_plan *plan = argument;
    *done = plan->flag_found;
    return WEFT_OK;
}

weft_status dense_create(sparse_plan *plan)
{
    comm_allreduce_desc flag = {.lane = plan->desc.lane,
                                .algorithm = COMM_ALGO_AUTO,
                                .dtype = WEFT_DTYPE_I64,
                                .op = COMM_MAX,
                                .count = 1,
                                .buffer = &plan->flag_value,
                                .name = "finite",
                                .before = find_flag,
                                .argument = plan};
    comm_allreduce_desc dense = {.lane = plan->desc.lane,
                                 .algorithm = COMM_ALGO_AUTO,
                                 .preferred = plan->desc.preferred.allreduce,
                                 .dtype = WEFT_DTYPE_F32,
                                 .op = COMM_SUM,
                                 .count = plan->desc.count,
                                 .buffer = plan->desc.buffer,
                                 .name = "dense",
                                 .before = await_flag,
                                 .argument = plan};
    WEFT_TRY(comm_allreduce_plan(plan->comm, &flag, &plan->flag));
    return comm_allreduce_plan(plan->comm, &dense, &plan->dense);
}

void dense_free(sparse_plan *plan)
{
    comm_plan_destroy(plan->flag);
    comm_plan_destroy(plan->dense);
}

weft_status dense_post(sparse_plan *plan)
{
    float *to = plan->desc.buffer + plan->begin;
    for (int64_t i = 0; plan->residual != NULL && i < plan->count; ++i) {
        to[i] += plan->residual[i];
        plan->residual[i] = 0.0f;
    }
    plan->runs_dense = true;
    plan->flag_found = false;
    WEFT_TRY(comm_post(plan->flag));
    return comm_post(plan->dense);
}

static weft_status dense_verdict(sparse_plan *plan)
{
    if (plan->flag_value > 0) {
        plan->trouble.rank = comm_size(plan->comm) - (int32_t)(plan->flag_value >> 32);
        plan->trouble.index = INT32_MAX - (int32_t)(plan->flag_value & INT32_MAX);
    }
    return sparse_verdict(plan);
}

weft_status dense_wait(sparse_plan *plan)
{
    plan->runs_dense = false;
    WEFT_TRY(comm_wait(plan->flag));
    WEFT_TRY(comm_wait(plan->dense));
    return dense_verdict(plan);
}
