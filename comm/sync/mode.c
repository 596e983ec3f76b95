/* comm/sync/mode.c: sums, traffic and means of the modes that make communicators of their own. */
#include "comm/sync/mode.h"

#include <assert.h>

weft_status mode_plan_sum(const comm_sync *sync, weft_comm *group, comm_lane lane, float *buffer, int64_t count,
                          const char *name, comm_plan **plan)
{
    comm_algorithm wanted = sync->options.algorithm;
    bool anywhere = wanted == COMM_ALGO_RECURSIVE_DOUBLING || wanted == COMM_ALGO_HALVING_DOUBLING ||
                    wanted == COMM_ALGO_RING || wanted == COMM_ALGO_FIXED_ORDER;
    const comm_allreduce_desc desc = {.lane = lane,
                                      .algorithm = anywhere ? wanted : COMM_ALGO_AUTO,
                                      .preferred = sync->options.preferred,
                                      .dtype = WEFT_DTYPE_F32,
                                      .op = COMM_SUM,
                                      .count = count,
                                      .buffer = buffer,
                                      .name = name};
    return comm_allreduce_plan(group, &desc, plan);
}

void mode_clear_traffic(comm_sync *sync)
{
    sync->figures.bytes_sent = 0;
    sync->figures.messages_sent = 0;
    sync->figures.shared_bytes = 0;
}

void mode_add_traffic(comm_sync *sync, const weft_comm *group)
{
    for (int lane = 0; lane < COMM_LANES; ++lane) {
        comm_stats stats = comm_lane_stats(group, (comm_lane)lane);
        sync->figures.bytes_sent += stats.bytes_sent;
        sync->figures.messages_sent += stats.messages_sent;
        sync->figures.shared_bytes += stats.shared_bytes;
    }
}

/* Elements that a thread is worth starting for. */
enum { PART = 1 << 16 };

void mode_parallel(const comm_sync *sync, int64_t count, mode_part_fn fn, void *argument)
{
    assert(count >= 0);
    const int64_t parts = (count + PART - 1) / PART;
    const int threads = sync->options.threads < parts ? sync->options.threads : (int)parts;
#pragma omp parallel for schedule(static) num_threads(threads) if (threads > 1)
    for (int64_t part = 0; part < parts; ++part) {
        const int64_t end = (part + 1) * PART;
        fn(argument, part * PART, end < count ? end : count);
    }
}

typedef struct scaling {
    float *x;
    float factor;
} scaling;

static void scale_part(void *argument, int64_t begin, int64_t end)
{
    const scaling *s = argument;
    for (int64_t i = begin; i < end; ++i) {
        s->x[i] *= s->factor;
    }
}

static void divide_part(void *argument, int64_t begin, int64_t end)
{
    const scaling *s = argument;
    for (int64_t i = begin; i < end; ++i) {
        s->x[i] /= s->factor;
    }
}

void mode_scale(const comm_sync *sync, float *x, int64_t count, float factor)
{
    scaling s = {x, factor};
    mode_parallel(sync, count, scale_part, &s);
}

void mode_divide(const comm_sync *sync, float *x, int64_t count, float divisor)
{
    scaling s = {x, divisor};
    mode_parallel(sync, count, divide_part, &s);
}
