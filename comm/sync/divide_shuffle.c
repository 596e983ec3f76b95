/*
 * comm/sync/divide_shuffle.c: every rank updates by itself, then parameters (and batch statistics) are averaged in
 * groups that change from step to step: comm/sync/groups.h says which.
 *
 *      step t     optimiser: w -= lr * own estimate          group of t: w = mean of the group's w
 *      T | t      optimiser                                  all ranks:  w = mean of all w          (full_every = T)
 *
 * The optimiser's own variables stay where they are, as in the authors' programs, but for Adam's second moments where
 * the ranks' data differ: those are averaged like parameters (comm/sync/tracking.c).
 *
 * Communicators and plans are made once, one a division of the cycle; divisions that come twice share them.
 * Cost of a step: 2 (g - 1) messages and 2 (g - 1) / g of the parameters' bytes a rank (ring), whatever P is.
 * Limits: only 1/g of a gradient is hidden a step; the replicas differ between full averages. The distance is reported.
 *
 * W. Wang, C. Zhang, L. Yang, K. Chen, K. Tan: Addressing network bottlenecks with divide-and-shuffle synchronization
 * for distributed DNN training. arXiv:2007.03298, 2020.
 */
#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "comm/sync/groups.h"
#include "comm/sync/mode.h"
#include "comm/sync/predict.h"
#include "comm/sync/tracking.h"

/* What a checkpoint keeps. */
typedef struct shuffle_counters {
    int64_t step, round;
} shuffle_counters;

typedef struct shuffle_division {
    weft_comm *group; /* of this rank; NULL where an earlier round has the same division */
    comm_plan *plan;
    int same_as; /* the first round with this division */
} shuffle_division;

typedef struct divide_shuffle {
    comm_topology *racks;
    sync_groups *groups;
    shuffle_division *division; /* [rounds] */
    shuffle_counters counters;
    uint64_t past_bytes, past_messages, past_shared; /* of groups that are no more */
} divide_shuffle;

static weft_status allocate(comm_sync *sync)
{
    divide_shuffle *d = NULL;
    WEFT_TRY(WEFT_NEW_ZERO(&d, 1, WEFT_MEM_COMM));
    sync->self = d;
    return WEFT_OK;
}

static weft_status divide(comm_sync *sync)
{
    divide_shuffle *d = sync->self;
    WEFT_TRY(
        groups_create(d->racks, sync->options.divide_shuffle.group, sync->options.divide_shuffle.seed, &d->groups));
    return WEFT_NEW_ZERO(&d->division, d->groups->rounds, WEFT_MEM_COMM);
}

static int first_alike(const sync_groups *groups, int round)
{
    size_t bytes = (size_t)groups->ranks * sizeof *groups->color;
    const int *color = groups->color + (ptrdiff_t)round * groups->ranks;
    int first = 0;
    while (memcmp(groups->color + (ptrdiff_t)first * groups->ranks, color, bytes) != 0) {
        ++first;
    }
    return first;
}

static weft_status plan_round(comm_sync *sync, int round)
{
    divide_shuffle *d = sync->self;
    shuffle_division *division = &d->division[round];
    char name[64];
    int rank = comm_rank(sync->comm);
    division->same_as = first_alike(d->groups, round);
    if (division->same_as < round) {
        return WEFT_OK;
    }
    int color = d->groups->color[(ptrdiff_t)round * d->groups->ranks + rank];
    WEFT_TRY(comm_split(sync->comm, color, rank, &division->group));
    snprintf(name, sizeof name, "parameters of group %d in division %d", color, round);
    return comm_agree(sync->comm, mode_plan_sum(sync, division->group, COMM_LANE_GRADIENT, sync->desc.value,
                                                sync->desc.elements, name, &division->plan));
}

static weft_status plan_cycle(comm_sync *sync)
{
    divide_shuffle *d = sync->self;
    WEFT_TRY(comm_agree(sync->comm, divide(sync)));
    for (int t = 0; t < d->groups->rounds; ++t) {
        WEFT_TRY(plan_round(sync, t));
    }
    return WEFT_OK;
}

static weft_status create(comm_sync *sync)
{
    WEFT_TRY(comm_agree(sync->comm, allocate(sync)));
    divide_shuffle *d = sync->self;
    WEFT_TRY(predict_read_sets(sync, sync->options.divide_shuffle.topology, false, &d->racks));
    return plan_cycle(sync);
}

static void drop_cycle(divide_shuffle *d)
{
    for (int t = 0; d->division != NULL && t < d->groups->rounds; ++t) {
        comm_plan_destroy(d->division[t].plan);
        comm_destroy(d->division[t].group);
    }
    groups_destroy(d->groups);
    weft_free(d->division);
    d->groups = NULL;
    d->division = NULL;
}

static void destroy(comm_sync *sync)
{
    divide_shuffle *d = sync->self;
    if (d == NULL) {
        return;
    }
    drop_cycle(d);
    topology_destroy(d->racks);
    weft_free(d);
    sync->self = NULL;
}

static void count_traffic(comm_sync *sync)
{
    const divide_shuffle *d = sync->self;
    sync->figures.bytes_sent = d->past_bytes;
    sync->figures.messages_sent = d->past_messages;
    sync->figures.shared_bytes = d->past_shared;
    for (int t = 0; t < d->groups->rounds; ++t) {
        if (d->division[t].group != NULL) {
            mode_add_traffic(sync, d->division[t].group);
        }
    }
}

static weft_status reset(comm_sync *sync)
{
    ((divide_shuffle *)sync->self)->counters = (shuffle_counters){0};
    return WEFT_OK;
}

static weft_status average_all(comm_sync *sync)
{
    assert(sync->mean != NULL);
    size_t bytes = (size_t)sync->desc.elements * sizeof(float);
    memcpy(sync->mean_buffer, sync->desc.value, bytes);
    WEFT_TRY(comm_post(sync->mean));
    WEFT_TRY(comm_wait(sync->mean));
    memcpy(sync->desc.value, sync->mean_buffer, bytes);
    mode_divide(sync, sync->desc.value, sync->desc.elements, (float)comm_size(sync->comm));
    return WEFT_OK;
}

static weft_status average_group(comm_sync *sync)
{
    divide_shuffle *d = sync->self;
    assert(d->counters.round >= 0 && d->counters.round < d->groups->rounds);
    const shuffle_division *division = &d->division[d->division[d->counters.round].same_as];
    WEFT_TRY(comm_post(division->plan));
    WEFT_TRY(comm_wait(division->plan));
    mode_divide(sync, sync->desc.value, sync->desc.elements, (float)comm_size(division->group));
    d->counters.round = (d->counters.round + 1) % d->groups->rounds;
    return WEFT_OK;
}

static weft_status parameters(comm_sync *sync)
{
    divide_shuffle *d = sync->self;
    int64_t every = sync->options.divide_shuffle.full_every;
    if (sync->desc.elements == 0) {
        return WEFT_OK;
    }
    double start = clock_seconds();
    d->counters.step += 1;
    WEFT_TRY(every > 0 && d->counters.step % every == 0 ? average_all(sync) : average_group(sync));
    sync->figures.busy_s += clock_seconds() - start;
    count_traffic(sync);
    return WEFT_OK;
}

static int period(const comm_sync *sync)
{
    return ((const divide_shuffle *)sync->self)->groups->rounds;
}

static int state(comm_sync *sync, sync_buffer *buffer)
{
    divide_shuffle *d = sync->self;
    buffer[0] =
        (sync_buffer){.name = "divide-shuffle counters", .data = &d->counters, .bytes = (int64_t)sizeof d->counters};
    return 1;
}

static weft_status restored(comm_sync *sync)
{
    const divide_shuffle *d = sync->self;
    const shuffle_counters *c = &d->counters;
    weft_status status = sync_check_range(sync, "the step", c->step, 0, SYNC_STEPS_LIMIT);
    status = status == WEFT_OK ? sync_check_range(sync, "the round", c->round, 0, d->groups->rounds - 1) : status;
    WEFT_TRY(comm_agree(sync->comm, status));
    return sync_check_alike(sync, "step and round", (const int64_t[]){c->step, c->round}, 2);
}

/* ---- prediction ------------------------------------------------------------------------------------------ */
static weft_status predict_rounds(const comm_sync *sync, double *seconds)
{
    weft_status status = WEFT_OK;
    comm_topology *racks = NULL;
    sync_groups *groups = NULL;
    predict_room room = {NULL, NULL};
    double sum = 0.0;
    const int64_t elements = tracking_elements(sync, SYNC_DIVIDE_SHUFFLE);
    WEFT_TRY_GOTO(predict_read_sets(sync, sync->options.divide_shuffle.topology, false, &racks), status, done);
    WEFT_TRY_GOTO(groups_create(racks, sync->options.divide_shuffle.group, sync->options.divide_shuffle.seed, &groups),
                  status, done);
    WEFT_TRY_GOTO(predict_room_create(sync, &room), status, done);
    for (int t = 0; t < groups->rounds; ++t) {
        double round = 0.0;
        const int *color_of = groups->color + (ptrdiff_t)t * groups->ranks;
        WEFT_TRY_GOTO(predict_division(sync, color_of, elements, &room, &round), status, done);
        sum += round;
    }
    *seconds = sum / groups->rounds;
done:
    predict_room_free(&room);
    groups_destroy(groups);
    topology_destroy(racks);
    return status;
}

static weft_status predict(const comm_sync *sync, double *seconds)
{
    return comm_agree(sync->comm, predict_rounds(sync, seconds));
}

/* ---- options and knobs ----------------------------------------------------------------------------------- */
static void defaults(sync_options *options)
{
    options->divide_shuffle = (sync_divide_shuffle_options){.group = 2};
}

static double group_of(const sync_options *options)
{
    return options->divide_shuffle.group;
}

/* Communicators and plans of the new cycle. Its first division is the next step's. */
static weft_status set_group(comm_sync *sync, double group, bool restoring)
{
    divide_shuffle *d = sync->self;
    count_traffic(sync);
    d->past_bytes = sync->figures.bytes_sent;
    d->past_messages = sync->figures.messages_sent;
    d->past_shared = sync->figures.shared_bytes;
    drop_cycle(d);
    sync->options.divide_shuffle.group = (int)group;
    d->counters.round = restoring ? d->counters.round : 0;
    return plan_cycle(sync);
}

static const sync_tunable tunables[] = {
    {.knob = SYNC_KNOB_GROUP, .least = 2, .most = 1e6, .whole = true, .of = group_of, .set = set_group}};

const sync_ops sync_divide_shuffle_ops = {SYNC_OPS_TUNED,        .name = "divide-shuffle", .local_updates = true,
                                          .average_stays = true, .parameters = parameters, .period = period};
