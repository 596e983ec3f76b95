/*
 * comm/sparse/sparse_window.c: the stages inside a node through shared memory, when every rank's vector lies in a
 * window of its node (comm_buffer_alloc): nothing is sent and nothing is copied twice.
 *
 *      HERE     my vector is complete                  awaited by the owners of shards, who read it where it lies
 *      SHARD    my shard is made                       awaited by everybody, who add its bundle or copy it
 *      COPIED   I have taken the shards of the others  awaited by an owner whose shard was copied from its vector
 *
 * An owner writes its bundle after it has seen everybody's HERE of this call, so everybody has read the bundle of the
 * call before. A rank writes a shard of its own vector only after that shard's owner has raised SHARD, so has read it,
 * and cleared it for the entries to come.
 *
 * Memory: a bundle a rank, in the window.
 */
#include <assert.h>

#include "base/alloc.h"
#include "base/log.h"
#include "comm/sparse/sparse_internal.h"

enum { FLAG_HERE, FLAG_SHARD, FLAG_COPIED, LINE = 64 };

/* ---- making ------------------------------------------------------------------------------------------------- */
weft_status sparse_window_find(weft_comm *comm, const sparse_desc *desc, sparse_window *found)
{
    weft_status status = WEFT_OK;
    bool direct = false;
    *found = (sparse_window){.ranks = comm_node_size(comm)};
    weft_status local = WEFT_NEW(&found->vector, found->ranks, WEFT_MEM_COMM);
    COMM_AGREED_GOTO(comm_agree(comm, local), local, status, done);
    WEFT_TRY_GOTO(
        comm_buffer_vectors(comm, desc->buffer, desc->count * (int64_t)sizeof(float), (void **)found->vector, &direct),
        status, done);
    found->usable = direct && comm_get_layout(comm)->most > 1;
done:
    if (status != WEFT_OK) {
        sparse_window_close(comm, found);
    }
    return status;
}

weft_status sparse_window_open(weft_comm *comm, int64_t bundle_most, sparse_window *found)
{
    weft_status status = comm_window_lease(comm, LINE + bundle_most, &found->meet);
    if (status == WEFT_ERR_RESOURCE) {
        log_warn("a sparse all-reduce sends messages inside the node: %s", weft_error_message());
        found->usable = false;
        return WEFT_OK;
    }
    assert(status != WEFT_OK || window_ranks(found->meet) == found->ranks);
    return status;
}

void sparse_window_close(weft_comm *comm, sparse_window *found)
{
    comm_window_return(comm, found->meet);
    weft_free((void *)found->vector);
    *found = (sparse_window){0};
}

/* ---- meeting ------------------------------------------------------------------------------------------------ */
static bool all_raised(sparse_plan *plan, int flag, int ranks, uint64_t post)
{
    sparse_window *window = &plan->window;
    for (; window->awaited < ranks; ++window->awaited) {
        int q = window->awaited;
        if (q != plan->at.local && window_flag(window->meet, q, flag) < post) {
            plan->schedule.missing = plan->at.member[q];
            return false;
        }
    }
    window->awaited = 0;
    return true;
}

static weft_status raise_here(void *argument, uint64_t post)
{
    sparse_plan *plan = argument;
    plan->window.awaited = 0;
    window_raise(plan->window.meet, FLAG_HERE, post);
    return WEFT_OK;
}

static bool all_here(void *argument, uint64_t post)
{
    sparse_plan *plan = argument;
    return all_raised(plan, FLAG_HERE, plan->at.ranks, post);
}

static bool all_shards(void *argument, uint64_t post)
{
    sparse_plan *plan = argument;
    return all_raised(plan, FLAG_SHARD, plan->at.shards, post);
}

/* Nobody reads a vector whose shard went as a bundle. */
static bool all_copied(void *argument, uint64_t post)
{
    sparse_plan *plan = argument;
    bool read = plan->at.mine >= 0 && plan->at.shard[plan->at.mine].dense_bytes > 0;
    return !read || all_raised(plan, FLAG_COPIED, plan->at.ranks, post);
}

/* ---- stages ------------------------------------------------------------------------------------------------- */
static void count_shared(const sparse_plan *plan, int64_t bytes)
{
    comm_count(&plan->comm->counters[plan->desc.lane].shared_bytes, (uint64_t)bytes);
}

static weft_status sum_in_place(void *argument, uint64_t post)
{
    const sparse_plan *plan = argument;
    count_shared(plan, (plan->at.ranks - 1) * plan->count * (int64_t)sizeof(float));
    return node_sum_shard(argument, post);
}

void window_build_sum(sparse_plan *plan)
{
    comm_schedule *s = &plan->schedule;
    schedule_round(s, "intra");
    schedule_call(s, raise_here, plan);
    if (plan->at.mine < 0) {
        return;
    }
    for (int q = 0; q < plan->at.ranks; ++q) {
        plan->at.source[q] = plan->window.vector[q] + plan->begin;
    }
    schedule_await(s, plan->at.member[0], all_here, plan);
    schedule_call(s, sum_in_place, plan);
}

static weft_status publish(void *argument, uint64_t post)
{
    sparse_plan *plan = argument;
    if (plan->at.mine >= 0) {
        memcpy(window_segment(plan->window.meet, plan->at.local), &plan->at.shard[plan->at.mine].status, NOTE_BYTES);
        window_raise(plan->window.meet, FLAG_SHARD, post);
    }
    return WEFT_OK;
}

static weft_status take_shard(sparse_plan *plan, int j)
{
    sparse_shard *shard = &plan->at.shard[j];
    const char *from = window_segment(plan->window.meet, j);
    memcpy(&shard->status, from, NOTE_BYTES);
    sparse_blame(plan, &shard->status);
    if (j == plan->at.mine || shard->count == 0) {
        return WEFT_OK;
    }
    float *to = plan->desc.buffer + shard->begin;
    int64_t bytes = shard->status.amount;
    if (bytes > 0) {
        WEFT_TRY(node_unpack(plan, shard, from + LINE));
    } else {
        bytes = shard->count * (int64_t)sizeof(float);
        memcpy(to, plan->window.vector[j] + shard->begin, (size_t)bytes);
    }
    count_shared(plan, bytes);
    return WEFT_OK;
}

static weft_status take_shards(void *argument, uint64_t post)
{
    sparse_plan *plan = argument;
    for (int j = 0; j < plan->at.shards; ++j) {
        WEFT_TRY(take_shard(plan, j));
    }
    window_raise(plan->window.meet, FLAG_COPIED, post);
    return WEFT_OK;
}

void window_build_gather(sparse_plan *plan)
{
    comm_schedule *s = &plan->schedule;
    plan->at.bundle = (char *)window_segment(plan->window.meet, plan->at.local) + LINE;
    schedule_round(s, "pack");
    schedule_call(s, node_prepare_bundle, plan);
    schedule_round(s, "intra");
    schedule_call(s, publish, plan);
    schedule_await(s, plan->at.member[0], all_shards, plan);
    schedule_round(s, "unpack");
    schedule_call(s, take_shards, plan);
    schedule_await(s, plan->at.member[0], all_copied, plan);
}
