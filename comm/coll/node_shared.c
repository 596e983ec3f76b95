/*
 * comm/coll/node_shared.c: reduce-scatter and all-gather inside a node by loads and stores.
 *
 * All ranks of the node see all segments of a window (comm/core/window.h). They meet by flags that carry the number of
 * the post: each raises its own and awaits the others'. A is an owner, B any rank of the node:
 *
 *      reduce-scatter    HERE: my vector may be read | A sums its shard of all vectors, in the order of the ranks
 *      all-gather        A writes its shard into all vectors, DONE | B awaits the DONE of all owners
 *
 * Direct, when the vectors of each node lie in one window of it (comm_buffer_alloc): as above, without a copy. Nobody
 * leaves before all owners have written, and an owner has read before it writes: nobody touches a vector of a rank that
 * has left. The halves by themselves lack one of the two meetings, so the first ends with one more (READ: all owners
 * have read) and the second begins with one (HERE).
 *
 * Staged, otherwise: each rank copies the shards of the others into its segment before HERE; owners write their shard
 * into their own segment before DONE, from where the others copy it. A shard of B's segment that A reads is written
 * again in the next post, which B enters after A's DONE or READ, so after A has read it. A's own shard of its segment
 * is written in a post after all have raised HERE in it, so after they have left the post before and copied it out.
 *
 * Cost: no message; 2 meetings, for each half by itself too. An owner reads n shards and writes n;
 * staged, everybody also copies a vector in and out. Memory: nothing, or a vector a rank.
 */
#include "comm/coll/node_shared.h"

#include <assert.h>
#include <string.h>

#include "base/alloc.h"
#include "comm/coll/node_stage.h"
#include "comm/coll/shared.h"
#include "comm/core/comm_internal.h"
#include "hal/pack.h"

enum { FLAG_HERE = 0, FLAG_READ = 1, FLAG_DONE = 2 };

struct node_shared {
    weft_comm *comm;
    comm_schedule *schedule;
    comm_window *window; /* leased; of this node */
    int ranks, me, owners;
    bool staged;
    char *buffer;
    int64_t count, element;
    weft_dtype dtype;
    comm_op op;
    char **vector;     /* [ranks] what the others may read of everybody: vectors, or segments */
    const void **from; /* [ranks] of work space */
    int awaited;       /* ranks before it have come */
};

static coll_range shard_of(const node_shared *shared, int local)
{
    coll_range shard = node_stage_shard(shared->comm->layout, shared->count, local);
    return (coll_range){shard.begin * shared->element, shard.count * shared->element}; /* in bytes */
}

static void count_shared(const node_shared *shared, int64_t bytes)
{
    comm_count(&shared->comm->counters[shared->schedule->operation.lane].shared_bytes, (uint64_t)bytes);
}

/* Whether the first `ranks` flags have reached the post. */
static bool all_raised(node_shared *shared, int flag, int ranks, uint64_t post)
{
    assert(ranks <= shared->ranks && shared->awaited <= ranks);
    const comm_layout *layout = shared->comm->layout;
    for (; shared->awaited < ranks; ++shared->awaited) {
        int q = shared->awaited;
        if (q != shared->me && window_flag(shared->window, q, flag) < post) {
            shared->schedule->missing = coll_node_members(layout, layout->node_of[comm_rank(shared->comm)])[q];
            return false;
        }
    }
    shared->awaited = 0;
    return true;
}

static bool all_here(void *argument, uint64_t post)
{
    node_shared *shared = argument;
    return all_raised(shared, FLAG_HERE, shared->ranks, post);
}

static bool all_read(void *argument, uint64_t post)
{
    node_shared *shared = argument;
    return all_raised(shared, FLAG_READ, shared->owners, post);
}

static bool all_done(void *argument, uint64_t post)
{
    node_shared *shared = argument;
    return all_raised(shared, FLAG_DONE, shared->owners, post);
}

/* ---- reduce-scatter ---------------------------------------------------------------------------------------------- */
static weft_status offer(void *argument, uint64_t post)
{
    node_shared *shared = argument;
    shared->awaited = 0;
    if (shared->staged) {
        coll_range mine = shard_of(shared, shared->me);
        int64_t behind = mine.begin + mine.count;
        int64_t bytes = shared->count * shared->element;
        memcpy(shared->vector[shared->me], shared->buffer, (size_t)mine.begin);
        memcpy(shared->vector[shared->me] + behind, shared->buffer + behind, (size_t)(bytes - behind));
        count_shared(shared, bytes - mine.count);
    }
    window_raise(shared->window, FLAG_HERE, post);
    return WEFT_OK;
}

static weft_status sum(void *argument, uint64_t post)
{
    (void)post;
    node_shared *shared = argument;
    coll_range mine = shard_of(shared, shared->me);
    void *to = shared->buffer + mine.begin;
    for (int q = 0; q < shared->ranks; ++q) {
        shared->from[q] = (q == shared->me ? shared->buffer : shared->vector[q]) + mine.begin;
    }
    if (shared->ranks > 1 && mine.count > 0) {
        hal_pack_reduce_all(shared->dtype, (hal_reduction)shared->op, &to, 1, shared->from, shared->ranks,
                            mine.count / shared->element);
        count_shared(shared, (shared->ranks + 1) * mine.count);
    }
    return WEFT_OK;
}

static weft_status say_read(void *argument, uint64_t post)
{
    node_shared *shared = argument;
    window_raise(shared->window, FLAG_READ, post);
    return WEFT_OK;
}

void node_shared_reduce_scatter(comm_schedule *s, const coll_allreduce *args)
{
    node_shared *shared = args->stage;
    shared->schedule = s;
    schedule_round(s, "node: vectors complete");
    schedule_call(s, offer, shared);
    schedule_await(s, args->rank, all_here, shared);
    schedule_round(s, "node: sum");
    if (shared->me < shared->owners) {
        schedule_call(s, sum, shared);
    }
    if (args->half == COMM_REDUCE_SCATTER) {
        schedule_call(s, say_read, shared);
        schedule_await(s, args->rank, all_read, shared);
    }
}

/* ---- all-gather -------------------------------------------------------------------------------------------------- */
static weft_status say_here(void *argument, uint64_t post)
{
    node_shared *shared = argument;
    shared->awaited = 0;
    window_raise(shared->window, FLAG_HERE, post);
    return WEFT_OK;
}

static weft_status publish(void *argument, uint64_t post)
{
    node_shared *shared = argument;
    coll_range mine = shard_of(shared, shared->me);
    for (int k = shared->staged ? 0 : 1; k < (shared->staged ? 1 : shared->ranks); ++k) {
        int q = (shared->me + k) % shared->ranks;
        memcpy(shared->vector[q] + mine.begin, shared->buffer + mine.begin, (size_t)mine.count);
        count_shared(shared, mine.count);
    }
    window_raise(shared->window, FLAG_DONE, post);
    return WEFT_OK;
}

static weft_status collect(void *argument, uint64_t post)
{
    (void)post;
    node_shared *shared = argument;
    for (int k = 1; k < shared->ranks; ++k) {
        int q = (shared->me + k) % shared->ranks;
        if (q < shared->owners) {
            coll_range theirs = shard_of(shared, q);
            memcpy(shared->buffer + theirs.begin, shared->vector[q] + theirs.begin, (size_t)theirs.count);
            count_shared(shared, theirs.count);
        }
    }
    return WEFT_OK;
}

void node_shared_all_gather(comm_schedule *s, const coll_allreduce *args)
{
    node_shared *shared = args->stage;
    shared->schedule = s;
    if (args->half == COMM_ALL_GATHER) {
        schedule_round(s, "node: vectors free");
        schedule_call(s, say_here, shared);
        schedule_await(s, args->rank, all_here, shared);
    }
    schedule_round(s, "node: gather");
    if (shared->me < shared->owners) {
        schedule_call(s, publish, shared);
    }
    schedule_await(s, args->rank, all_done, shared);
    if (shared->staged) {
        schedule_call(s, collect, shared);
    }
}

comm_cost node_shared_cost(const coll_place *place, int64_t count, int64_t element)
{
    const comm_layout *layout = place->layout;
    int64_t shard = node_stage_shard(layout, count, 0).count * element;
    comm_cost cost = {0};
    if (layout->most == 1) {
        return cost;
    }
    if (coll_scatters(place->half)) {
        cost.shared_bytes += (layout->most + 1) * shard;
        cost.reduced += (layout->most - 1) * shard;
    }
    if (coll_gathers(place->half)) {
        cost.shared_bytes += layout->most * shard;
    }
    cost.shared_syncs = 2;
    return cost;
}

/* ---- making ------------------------------------------------------------------------------------------------------ */
void node_shared_destroy(node_shared *shared)
{
    if (shared != NULL) {
        comm_window_return(shared->comm, shared->window);
        WEFT_FREE_ALL((void *)shared->vector, (void *)shared->from, shared);
    }
}

static weft_status shared_new(weft_comm *comm, const coll_allreduce *args, node_shared **out)
{
    weft_status status = WEFT_OK;
    node_shared *shared = NULL;
    WEFT_TRY_GOTO(WEFT_NEW_ZERO(&shared, 1, WEFT_MEM_COMM), status, done);
    *shared = (node_shared){.comm = comm,
                            .ranks = comm_node_size(comm),
                            .me = comm_node_rank(comm),
                            .owners = args->layout->least,
                            .buffer = args->buffer,
                            .count = args->count,
                            .element = (int64_t)weft_dtype_bytes(args->dtype),
                            .dtype = args->dtype,
                            .op = args->op};
    WEFT_TRY_GOTO(WEFT_NEW_ZERO(&shared->vector, shared->ranks, WEFT_MEM_COMM), status, done);
    WEFT_TRY_GOTO(WEFT_NEW_ZERO(&shared->from, shared->ranks, WEFT_MEM_COMM), status, done);
    *out = shared;
    shared = NULL;
done:
    node_shared_destroy(shared);
    return status;
}

weft_status node_shared_create(weft_comm *comm, const coll_allreduce *args, node_shared **out)
{
    weft_status status = WEFT_OK;
    node_shared *shared = NULL;
    *out = NULL;
    weft_status local = shared_new(comm, args, &shared);
    COMM_AGREED_GOTO(comm->meet->agree(comm, local), local, status, done);
    bool direct = false;
    WEFT_TRY_GOTO(
        comm_buffer_vectors(comm, shared->buffer, shared->count * shared->element, (void **)shared->vector, &direct),
        status, done);
    shared->staged = !direct;
    WEFT_TRY_GOTO(comm_window_lease(comm, shared->staged ? coll_vector_bytes(args) : 0, &shared->window), status, done);
    for (int q = 0; shared->staged && q < shared->ranks; ++q) {
        shared->vector[q] = window_segment(shared->window, q);
    }
    /* The flags of all are known to be zero after this. */
    WEFT_TRY_GOTO(comm->meet->agree(comm, WEFT_OK), status, done);
    *out = shared;
    shared = NULL;
done:
    node_shared_destroy(shared);
    return status;
}
