/* comm/sync/mode.c: sums, traffic and means of the modes that make communicators of their own. */
#include "comm/sync/mode.h"

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
}

void mode_add_traffic(comm_sync *sync, const weft_comm *group)
{
    for (int lane = 0; lane < COMM_LANES; ++lane) {
        comm_stats stats = comm_lane_stats(group, (comm_lane)lane);
        sync->figures.bytes_sent += stats.bytes_sent;
        sync->figures.messages_sent += stats.messages_sent;
    }
}

void mode_divide(float *x, int64_t count, float divisor)
{
    for (int64_t i = 0; i < count; ++i) {
        x[i] /= divisor;
    }
}
