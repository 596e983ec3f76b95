/*
 * comm/sparse/sparse_node.c: the stages inside a node, which the exchanges between nodes stand between.
 *
 *      n shards (n = ranks of the smallest node)   rank 0    rank 1    rank 2 (a larger node's spare rank: no shard)
 *      sum      shard 0 of all ->                  sum 0
 *               shard 1 of all ->                            sum 1
 *      (between the nodes: residual + sum -> what is sent)
 *      gather   shard 0 ->                         vector    vector    vector
 *
 * Sums are ((x0 + x1) + x2) + ... in the order of local ranks, then residual + sum: bits do not depend on timing. The
 * gather moves a shard as it is or as the bundle of slots it was made of, whichever is less; receivers of a bundle add
 * the slots in the same order as the owner did.
 *
 * Vectors in shared memory take the same stages without messages (comm/sparse/sparse_window.c).
 *
 * Cost a rank of s in the node: sends M - M/n and (s - 1) M/n or bundles. Memory: (s - 1) M/n, and the bundles.
 */
#include "base/alloc.h"
#include "comm/sparse/sparse_internal.h"

enum { SUM_BLOCK = 4096, PARALLEL_BLOCKS = 16 };

/* ---- memory ------------------------------------------------------------------------------------------------- */
static void shard_set(const weft_comm *comm, const sparse_desc *desc, int j, sparse_shard *shard)
{
    const comm_layout *layout = comm_get_layout(comm);
    const hal_span own = hal_split_rows(desc->count, layout->least, j);
    shard->begin = own.begin;
    shard->count = own.end - own.begin;
    shard->capacity = sparse_capacity(&desc->select, sparse_share(desc->most, layout->least, j), shard->count);
    int64_t dense = shard->count * (int64_t)sizeof(float);
    int64_t bundle = layout->nodes * (NOTE_BYTES + shard->capacity * ENTRY_BYTES);
    shard->bundle_most = bundle < dense ? bundle : dense;
    shard->status.rank = -1;
}

int64_t node_bundle_most(const weft_comm *comm, const sparse_desc *desc)
{
    sparse_shard first = {0}; /* none is longer */
    shard_set(comm, desc, 0, &first);
    return first.bundle_most;
}

weft_status node_create(sparse_plan *plan)
{
    sparse_node *at = &plan->at;
    const comm_layout *layout = comm_get_layout(plan->comm);
    int rank = comm_rank(plan->comm);
    at->ranks = comm_node_size(plan->comm);
    at->local = comm_node_rank(plan->comm);
    at->shards = layout->least;
    at->mine = at->local < at->shards ? at->local : -1;
    at->bundle_slots = plan->nodes;
    WEFT_TRY(WEFT_NEW(&at->member, at->ranks, WEFT_MEM_COMM));
    WEFT_TRY(WEFT_NEW_ZERO(&at->source, at->ranks, WEFT_MEM_COMM));
    WEFT_TRY(WEFT_NEW_ZERO(&at->shard, at->shards, WEFT_MEM_COMM));
    for (int q = 0; q < at->ranks; ++q) {
        at->member[q] = layout->member[layout->first[layout->node_of[rank]] + q];
    }
    for (int j = 0; j < at->shards; ++j) {
        sparse_shard *shard = &at->shard[j];
        shard_set(plan->comm, &plan->desc, j, shard);
        if (j != at->mine && !plan->window.usable) {
            WEFT_TRY(weft_malloc((size_t)shard->bundle_most, 1, WEFT_MEM_COMM, (void **)&shard->inbox));
        }
    }
    if (at->mine >= 0) {
        const sparse_shard *mine = &at->shard[at->mine];
        plan->begin = mine->begin;
        plan->count = mine->count;
        if (!plan->window.usable) {
            return weft_malloc((size_t)mine->bundle_most, 1, WEFT_MEM_COMM, (void **)&at->bundle);
        }
    }
    return WEFT_OK;
}

void node_free(sparse_plan *plan)
{
    sparse_node *at = &plan->at;
    for (int j = 0; at->shard != NULL && j < at->shards; ++j) {
        weft_free(at->shard[j].inbox);
    }
    WEFT_FREE_ALL(at->shard, at->member, (void *)at->source);
    if (!plan->window.usable) {
        weft_free(at->bundle);
    }
}

/* ---- the sum ------------------------------------------------------------------------------------------------- */
/* A vector is cleared where it was read, while it is in the cache: the result will have few entries. What is not finite
 * does not become 0 by this, so that the select stage can tell whose it is. */
static void clear_block(float *x, int64_t count)
{
    for (int64_t i = 0; i < count; ++i) {
        x[i] -= x[i];
    }
}

static void add_block(float *restrict sum, const float *restrict x, int64_t count)
{
    for (int64_t i = 0; i < count; ++i) {
        sum[i] += x[i];
    }
}

/* Whether this rank clears local rank q's copy of its shard: where it lies in q's own vector. */
static bool clears(const sparse_plan *plan, int q)
{
    return plan->window.usable || q == plan->at.local;
}

static void sum_block(const sparse_plan *plan, int64_t begin, int64_t count)
{
    const sparse_node *at = &plan->at;
    float room[SUM_BLOCK];
    const float *sum = at->source[0] + begin;
    if (at->ranks > 1) {
        memcpy(room, sum, (size_t)count * sizeof *room);
        sum = room;
    }
    for (int q = 1; q < at->ranks; ++q) {
        add_block(room, at->source[q] + begin, count);
    }
    add_block(plan->residual + begin, sum, count);
    for (int q = 0; q < at->ranks; ++q) {
        if (clears(plan, q)) {
            clear_block(at->source[q] + begin, count);
        }
    }
}

weft_status node_sum_shard(void *argument, uint64_t post)
{
    (void)post;
    const sparse_plan *plan = argument;
    int64_t blocks = (plan->count + SUM_BLOCK - 1) / SUM_BLOCK;
    int threads = blocks < PARALLEL_BLOCKS ? 1 : plan->desc.select.threads;
    if (threads == 1) {
        for (int64_t b = 0; b < plan->count; b += SUM_BLOCK) {
            sum_block(plan, b, plan->count - b < SUM_BLOCK ? plan->count - b : SUM_BLOCK);
        }
        return WEFT_OK;
    }
#pragma omp parallel for schedule(static) num_threads(threads)
    for (int64_t b = 0; b < plan->count; b += SUM_BLOCK) {
        sum_block(plan, b, plan->count - b < SUM_BLOCK ? plan->count - b : SUM_BLOCK);
    }
    return WEFT_OK;
}

void node_build_sum(sparse_plan *plan)
{
    sparse_node *at = &plan->at;
    comm_schedule *s = &plan->schedule;
    int64_t bytes = plan->count * (int64_t)sizeof(float);
    void *inflow = NULL;
    if (plan->window.usable) {
        window_build_sum(plan);
        return;
    }
    schedule_scratch(s, bytes * (at->ranks - 1), &inflow);
    schedule_members(s, at->member);
    schedule_round(s, "intra");
    for (int k = 1; k < at->ranks; ++k) {
        int from = (at->local + at->ranks - k) % at->ranks;
        int to = (at->local + k) % at->ranks;
        if (at->mine >= 0) {
            float *slice = inflow == NULL ? NULL : (float *)inflow + (from < at->local ? from : from - 1) * plan->count;
            at->source[from] = slice;
            schedule_receive(s, from, slice, bytes);
        }
        if (to < at->shards) {
            const sparse_shard *shard = &at->shard[to];
            schedule_send(s, to, plan->desc.buffer + shard->begin, shard->count * (int64_t)sizeof(float));
        }
    }
    schedule_members(s, NULL);
    if (at->mine >= 0) {
        at->source[at->local] = plan->desc.buffer + plan->begin;
        schedule_call(s, node_sum_shard, plan);
    }
}

/* ---- the gather ------------------------------------------------------------------------------------------------- */
static void shard_sizes(sparse_shard *shard, int64_t bundle)
{
    bool dense = bundle >= shard->count * (int64_t)sizeof(float);
    shard->dense_bytes = dense ? shard->count * (int64_t)sizeof(float) : 0;
    shard->bundle_bytes = dense ? 0 : bundle;
}

/* Where sizes are known from k alone, every rank works them out; else an owner announces its own. */
weft_status node_prepare_bundle(void *argument, uint64_t post)
{
    (void)post;
    sparse_plan *plan = argument;
    sparse_node *at = &plan->at;
    int64_t longest = 0;
    for (int j = 0; j < at->shards && !plan->variable; ++j) {
        int64_t share = sparse_share(plan->k, at->shards, j);
        shard_sizes(&at->shard[j], plan->nodes * (NOTE_BYTES + share * ENTRY_BYTES));
    }
    if (at->mine < 0) {
        return WEFT_OK;
    }
    sparse_shard *mine = &at->shard[at->mine];
    for (int i = 0; i < at->bundle_slots && plan->variable; ++i) {
        longest += NOTE_BYTES + slots_note(&plan->slots, i)->amount * ENTRY_BYTES;
    }
    if (plan->variable) {
        shard_sizes(mine, longest);
    }
    mine->status = plan->trouble;
    mine->status.amount = mine->bundle_bytes;
    if (mine->bundle_bytes == 0 || at->ranks == 1) {
        return WEFT_OK;
    }
    char *to = at->bundle;
    for (int i = 0; i < at->bundle_slots; ++i) {
        int64_t bytes = NOTE_BYTES + slots_note(&plan->slots, i)->amount * ENTRY_BYTES;
        memcpy(to, slots_note(&plan->slots, i), (size_t)bytes);
        to += bytes;
    }
    /* Where a sender had trouble the bundle is shorter than its length says: the rest is defined, and ignored. */
    memset(to, 0, (size_t)(at->bundle + mine->bundle_bytes - to));
    return WEFT_OK;
}

static weft_status learn_sizes(void *argument, uint64_t post)
{
    (void)post;
    sparse_plan *plan = argument;
    for (int j = 0; j < plan->at.shards; ++j) {
        sparse_shard *shard = &plan->at.shard[j];
        WEFT_CHECK(shard->status.amount >= 0 && shard->status.amount <= shard->bundle_most, WEFT_ERR_INTERNAL,
                   "sparse exchange: a bundle of %lld bytes announced where %lld fit", (long long)shard->status.amount,
                   (long long)shard->bundle_most);
        shard->bundle_bytes = shard->status.amount;
        shard->dense_bytes = shard->status.amount > 0 ? 0 : shard->count * (int64_t)sizeof(float);
    }
    return WEFT_OK;
}

weft_status node_unpack(sparse_plan *plan, const sparse_shard *shard, const char *bundle)
{
    float *to = plan->desc.buffer + shard->begin;
    int64_t bytes = 0;
    if (!plan->window.usable) { /* else its owner has cleared it */
        memset(to, 0, (size_t)shard->count * sizeof *to);
    }
    for (int i = 0; i < plan->at.bundle_slots; ++i, bundle += bytes) {
        WEFT_TRY(slot_add(bundle, to, shard->count, &bytes));
    }
    return WEFT_OK;
}

static weft_status unpack_others(void *argument, uint64_t post)
{
    (void)post;
    sparse_plan *plan = argument;
    for (int j = 0; j < plan->at.shards; ++j) {
        const sparse_shard *shard = &plan->at.shard[j];
        sparse_blame(plan, &shard->status);
        if (j != plan->at.mine && shard->bundle_bytes > 0) {
            WEFT_TRY(node_unpack(plan, shard, shard->inbox));
        }
    }
    return WEFT_OK;
}

typedef enum gather_part { GATHER_STATUS, GATHER_SHARDS } gather_part;

static void build_messages(sparse_plan *plan, gather_part part)
{
    sparse_node *at = &plan->at;
    comm_schedule *s = &plan->schedule;
    for (int k = 1; k < at->ranks; ++k) {
        int from = (at->local + at->ranks - k) % at->ranks;
        int to = (at->local + k) % at->ranks;
        sparse_shard *theirs = from < at->shards ? &at->shard[from] : NULL;
        sparse_shard *mine = at->mine >= 0 ? &at->shard[at->mine] : NULL;
        if (part == GATHER_STATUS) {
            if (theirs != NULL) {
                schedule_receive(s, from, &theirs->status, NOTE_BYTES);
            }
            if (mine != NULL) {
                schedule_send(s, to, &mine->status, NOTE_BYTES);
            }
            continue;
        }
        if (theirs != NULL) {
            schedule_receive_late(s, from, plan->desc.buffer + theirs->begin, &theirs->dense_bytes,
                                  theirs->count * (int64_t)sizeof(float));
            schedule_receive_late(s, from, theirs->inbox, &theirs->bundle_bytes, theirs->bundle_most);
        }
        if (mine != NULL) {
            schedule_send_late(s, to, plan->desc.buffer + mine->begin, &mine->dense_bytes,
                               mine->count * (int64_t)sizeof(float));
            schedule_send_late(s, to, at->bundle, &mine->bundle_bytes, mine->bundle_most);
        }
    }
}

void node_build_gather(sparse_plan *plan)
{
    comm_schedule *s = &plan->schedule;
    if (plan->window.usable) {
        window_build_gather(plan);
        return;
    }
    schedule_round(s, "pack");
    schedule_call(s, node_prepare_bundle, plan);
    schedule_members(s, plan->at.member);
    schedule_round(s, "intra");
    build_messages(plan, GATHER_STATUS);
    if (plan->variable) {
        schedule_call(s, learn_sizes, plan);
        schedule_round(s, "intra");
    }
    build_messages(plan, GATHER_SHARDS);
    schedule_members(s, NULL);
    schedule_round(s, "unpack");
    schedule_call(s, unpack_others, plan);
}
