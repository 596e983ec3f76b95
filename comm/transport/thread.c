/*
 * comm/transport/thread.c: ranks as threads of one process, for sanitizers and unit tests.
 *
 * Each rank has a mailbox with two lists, both in order of arrival: receives that its owner has posted and sends
 * addressed to it. Whoever completes a pair takes both from the lists under the mailbox's lock and copies outside of
 * it, straight from the sender's buffer to the receiver's:
 *
 *      rank 0: isend(to 1) --> mailbox 1 [ sends: 0/lane/tag | receives: ... ] <-- irecv(from 0) : rank 1
 *
 * A send is complete only when it was received (a rendezvous, stricter than MPI), so an algorithm that leans on
 * buffered sends hangs here first. Requests are the list nodes: nothing is allocated per message.
 *
 * Limits: the lists are searched linearly; made for tens of ranks.
 */
#include <assert.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "comm/comm.h"
#include "comm/transport/transport.h"

enum { LANES_PER_CONTEXT = 16, FAILURE_BYTES = 1024 };

typedef enum message_state {
    MESSAGE_IDLE,
    MESSAGE_LISTED,
    MESSAGE_MATCHED,
    MESSAGE_DONE,
    MESSAGE_WRONG_SIZE
} message_state;

typedef struct message message;
struct message {
    message *next;
    struct mailbox *box; /* where it is listed */
    uint64_t context;    /* group and lane */
    int source, tag;     /* source: rank in the world */
    bool is_send;
    const void *from;
    void *to;
    size_t bytes, peer_bytes;
    atomic_int state; /* message_state; the last write of whoever completes it */
};

typedef struct message_list {
    message *first, *last;
} message_list;

typedef struct mailbox {
    pthread_mutex_t lock;
    message_list sends, receives;
} mailbox;

/* Segments that some ranks share: made by the first that asks, freed by the last that leaves. */
typedef struct shared_block shared_block;
struct shared_block {
    shared_block *next;
    uint64_t context, key;
    int holders, asked; /* members that hold it, members that have asked so far */
    int leader;         /* member[0] in the world: groups of one context may use the same key */
    void *memory;
    weft_status status;
};

struct thread_world {
    int ranks;
    mailbox *box; /* [ranks] */
    _Atomic uint64_t next_context;
    pthread_mutex_t share_lock;
    shared_block *shared;
    atomic_bool failed;
    pthread_mutex_t failure_lock;
    int failed_rank;
    weft_status failure;
    char failure_text[FAILURE_BYTES];
};

typedef struct thread_transport {
    transport base;
    thread_world *world;
    uint64_t context;
    int *world_rank; /* [size] */
} thread_transport;

/* ---- lists ----------------------------------------------------------------------------------------------- */
static void list_append(message_list *list, message *m)
{
    m->next = NULL;
    if (list->last != NULL) {
        list->last->next = m;
    } else {
        list->first = m;
    }
    list->last = m;
}

static void list_unlink(message_list *list, message *previous, message *m)
{
    if (previous != NULL) {
        previous->next = m->next;
    } else {
        list->first = m->next;
    }
    if (list->last == m) {
        list->last = previous;
    }
    m->next = NULL;
}

static message *list_take_match(message_list *list, const message *like)
{
    message *previous = NULL;
    for (message *m = list->first; m != NULL; previous = m, m = m->next) {
        if (m->context == like->context && m->source == like->source && m->tag == like->tag) {
            list_unlink(list, previous, m);
            return m;
        }
    }
    return NULL;
}

/* ---- messages -------------------------------------------------------------------------------------------- */
static weft_status world_check(thread_world *world)
{
    if (!atomic_load_explicit(&world->failed, memory_order_acquire)) {
        return WEFT_OK;
    }
    return weft_fail(WEFT_ERR_LAUNCH, "rank %d failed: %s", world->failed_rank, world->failure_text);
}

/* Neither message may be touched after its state is written: its owner may free it at once. */
static void message_complete(message *send, message *receive)
{
    int state = MESSAGE_DONE;
    if (send->bytes != receive->bytes) {
        state = MESSAGE_WRONG_SIZE;
        send->peer_bytes = receive->bytes;
        receive->peer_bytes = send->bytes;
    } else if (send->bytes > 0) {
        memcpy(receive->to, send->from, send->bytes);
    }
    atomic_store_explicit(&send->state, state, memory_order_release);
    atomic_store_explicit(&receive->state, state, memory_order_release);
}

static void message_submit(mailbox *box, message *m)
{
    m->box = box;
    pthread_mutex_lock(&box->lock);
    message *other = list_take_match(m->is_send ? &box->receives : &box->sends, m);
    if (other == NULL) {
        atomic_store_explicit(&m->state, MESSAGE_LISTED, memory_order_relaxed);
        list_append(m->is_send ? &box->sends : &box->receives, m);
    } else {
        atomic_store_explicit(&m->state, MESSAGE_MATCHED, memory_order_relaxed);
        atomic_store_explicit(&other->state, MESSAGE_MATCHED, memory_order_relaxed);
    }
    pthread_mutex_unlock(&box->lock);
    if (other != NULL) {
        message_complete(m->is_send ? m : other, m->is_send ? other : m);
    }
}

static uint64_t lane_context(const thread_transport *self, int lane)
{
    assert(lane >= 0 && lane < LANES_PER_CONTEXT);
    return self->context * LANES_PER_CONTEXT + (uint64_t)lane;
}

static weft_status thread_isend(transport *t, int lane, int peer, int tag, const void *data, size_t bytes,
                                void *request)
{
    thread_transport *self = (thread_transport *)t;
    WEFT_TRY(world_check(self->world));
    message *m = request;
    m->context = lane_context(self, lane);
    m->source = self->world_rank[t->rank];
    m->tag = tag;
    m->is_send = true;
    m->from = data;
    m->to = NULL;
    m->bytes = bytes;
    message_submit(&self->world->box[self->world_rank[peer]], m);
    return WEFT_OK;
}

static weft_status thread_irecv(transport *t, int lane, int peer, int tag, void *data, size_t bytes, void *request)
{
    thread_transport *self = (thread_transport *)t;
    WEFT_TRY(world_check(self->world));
    message *m = request;
    m->context = lane_context(self, lane);
    m->source = self->world_rank[peer];
    m->tag = tag;
    m->is_send = false;
    m->from = NULL;
    m->to = data;
    m->bytes = bytes;
    message_submit(&self->world->box[self->world_rank[t->rank]], m);
    return WEFT_OK;
}

static weft_status thread_test_some(transport *t, void *requests, int count, int *ended, int *ended_count)
{
    thread_transport *self = (thread_transport *)t;
    message *m = requests;
    *ended_count = 0;
    WEFT_TRY(world_check(self->world));
    for (int i = 0; i < count; ++i) {
        int state = atomic_load_explicit(&m[i].state, memory_order_acquire);
        if (state == MESSAGE_WRONG_SIZE) {
            return weft_fail(WEFT_ERR_INTERNAL, "a message is sent with %zu bytes and received with %zu",
                             m[i].is_send ? m[i].bytes : m[i].peer_bytes, m[i].is_send ? m[i].peer_bytes : m[i].bytes);
        }
        if (state == MESSAGE_DONE) {
            atomic_store_explicit(&m[i].state, MESSAGE_IDLE, memory_order_relaxed);
            ended[(*ended_count)++] = i;
        }
    }
    return WEFT_OK;
}

static void thread_cancel(transport *t, void *request)
{
    (void)t;
    message *m = request;
    if (atomic_load_explicit(&m->state, memory_order_acquire) == MESSAGE_IDLE) {
        return;
    }
    pthread_mutex_lock(&m->box->lock);
    if (atomic_load_explicit(&m->state, memory_order_relaxed) == MESSAGE_LISTED) {
        message_list *list = m->is_send ? &m->box->sends : &m->box->receives;
        message *previous = NULL;
        for (message *at = list->first; at != m; at = at->next) {
            previous = at;
        }
        list_unlink(list, previous, m);
        atomic_store_explicit(&m->state, MESSAGE_DONE, memory_order_relaxed);
    }
    pthread_mutex_unlock(&m->box->lock);
    /* A peer may be copying: it ends soon. */
    while (atomic_load_explicit(&m->state, memory_order_acquire) == MESSAGE_MATCHED) {
        sched_yield();
    }
    atomic_store_explicit(&m->state, MESSAGE_IDLE, memory_order_relaxed);
}

/* ---- shared memory --------------------------------------------------------------------------------------- */
static int64_t segments_bytes(const transport_share *share, int count)
{
    int64_t bytes = 0;
    for (int q = 0; q < count; ++q) {
        bytes += (share->bytes[q] + 63) / 64 * 64;
    }
    return bytes;
}

/* Under the lock. The block of these members, made if this is the first of them; NULL: no memory for its record. */
static shared_block *share_find(thread_transport *self, const transport_share *share)
{
    int leader = self->world_rank[share->member[0]];
    for (shared_block *at = self->world->shared; at != NULL; at = at->next) {
        if (at->context == self->context && at->key == share->key && at->leader == leader) {
            return at;
        }
    }
    shared_block *block = NULL;
    if (WEFT_NEW_ZERO(&block, 1, WEFT_MEM_COMM) != WEFT_OK) {
        return NULL;
    }
    *block = (shared_block){.next = self->world->shared, .context = self->context, .key = share->key, .leader = leader};
    block->status = weft_malloc((size_t)segments_bytes(share, share->count), 1, WEFT_MEM_COMM, &block->memory);
    self->world->shared = block;
    return block;
}

/* Under the lock. */
static void share_drop(thread_world *world, shared_block *block)
{
    shared_block **at = &world->shared;
    while (*at != block) {
        at = &(*at)->next;
    }
    *at = block->next;
    WEFT_FREE_ALL(block->memory, block);
}

static weft_status thread_share(transport *t, const transport_share *share, void **segment, void **handle)
{
    thread_transport *self = (thread_transport *)t;
    *handle = NULL;
    WEFT_TRY(world_check(self->world));
    pthread_mutex_lock(&self->world->share_lock);
    shared_block *block = share_find(self, share);
    weft_status status = block == NULL ? WEFT_ERR_RESOURCE : block->status;
    if (block != NULL) {
        block->asked += 1;
        block->holders += status == WEFT_OK;
        for (int q = 0; q < share->count && status == WEFT_OK; ++q) {
            segment[q] = (char *)block->memory + segments_bytes(share, q);
        }
        *handle = status == WEFT_OK ? block : NULL;
        if (status != WEFT_OK && block->asked == share->count) {
            share_drop(self->world, block);
        }
    }
    pthread_mutex_unlock(&self->world->share_lock);
    return status == WEFT_OK ? WEFT_OK
                             : weft_fail(status, "no memory for %lld shared bytes of %d ranks",
                                         (long long)segments_bytes(share, share->count), share->count);
}

static void thread_unshare(transport *t, void *handle)
{
    thread_world *world = ((thread_transport *)t)->world;
    shared_block *block = handle;
    pthread_mutex_lock(&world->share_lock);
    if (--block->holders == 0) {
        share_drop(world, block);
    }
    pthread_mutex_unlock(&world->share_lock);
}

static weft_status thread_poll(transport *t)
{
    return world_check(((thread_transport *)t)->world);
}

static bool thread_called(transport *t, int lane)
{
    thread_transport *self = (thread_transport *)t;
    mailbox *box = &self->world->box[self->world_rank[t->rank]];
    uint64_t context = lane_context(self, lane);
    bool called = false;
    pthread_mutex_lock(&box->lock);
    for (const message *m = box->sends.first; m != NULL && !called; m = m->next) {
        called = m->context == context;
    }
    pthread_mutex_unlock(&box->lock);
    return called;
}

/* A rank that gives up either ends well on its own or fails the world, which the others see. */
static void thread_abandon(transport *t)
{
    (void)t;
}

/* ---- transport ------------------------------------------------------------------------------------------- */
static uint64_t thread_token(transport *t)
{
    thread_transport *self = (thread_transport *)t;
    return atomic_fetch_add_explicit(&self->world->next_context, 1, memory_order_relaxed);
}

static void thread_destroy(transport *t)
{
    if (t != NULL) {
        WEFT_FREE_ALL(((thread_transport *)t)->world_rank, t);
    }
}

static _Noreturn void thread_abort(transport *t, int exit_status)
{
    (void)t;
    fflush(NULL);
    _Exit(exit_status);
}

static weft_status thread_split(transport *t, const int *members, int count, int me, uint64_t token, transport **out);

static const transport_ops thread_ops = {
    .name = "thread",
    .request_bytes = sizeof(message),
    .isend = thread_isend,
    .irecv = thread_irecv,
    .test_some = thread_test_some,
    .cancel = thread_cancel,
    .token = thread_token,
    .split = thread_split,
    .share = thread_share,
    .unshare = thread_unshare,
    .poll = thread_poll,
    .called = thread_called,
    .abandon = thread_abandon,
    .abort = thread_abort,
    .destroy = thread_destroy,
};

/* members: ranks of the parent's group, or NULL for the whole world. */
static weft_status group_create(thread_world *world, const thread_transport *parent, const int *members, int count,
                                int me, uint64_t context, transport **out)
{
    weft_status status = WEFT_OK;
    thread_transport *self = NULL;
    *out = NULL;
    WEFT_TRY_GOTO(WEFT_NEW_ZERO(&self, 1, WEFT_MEM_COMM), status, done);
    WEFT_TRY_GOTO(WEFT_NEW(&self->world_rank, count, WEFT_MEM_COMM), status, done);
    for (int i = 0; i < count; ++i) {
        self->world_rank[i] = members == NULL ? i : parent->world_rank[members[i]];
    }
    self->base = (transport){.ops = &thread_ops, .rank = me, .size = count, .node_leader = 0};
    self->world = world;
    self->context = context;
    *out = &self->base;
    self = NULL;
done:
    thread_destroy((transport *)self);
    return status;
}

static weft_status thread_split(transport *t, const int *members, int count, int me, uint64_t token, transport **out)
{
    thread_transport *parent = (thread_transport *)t;
    return group_create(parent->world, parent, members, count, me, token, out);
}

weft_status transport_thread_create(thread_world *world, int rank, transport **out)
{
    return group_create(world, NULL, NULL, world->ranks, rank, 0, out);
}

/* ---- world ----------------------------------------------------------------------------------------------- */
weft_status thread_world_create(int ranks, thread_world **out)
{
    weft_status status = WEFT_OK;
    thread_world *world = NULL;
    *out = NULL;
    WEFT_CHECK(ranks >= 1, WEFT_ERR_INTERNAL, "a world of %d ranks", ranks);
    WEFT_TRY(WEFT_NEW_ZERO(&world, 1, WEFT_MEM_COMM));
    WEFT_TRY_GOTO(WEFT_NEW_ZERO(&world->box, ranks, WEFT_MEM_COMM), status, done);
    world->ranks = ranks;
    atomic_init(&world->next_context, 1);
    atomic_init(&world->failed, false);
    pthread_mutex_init(&world->failure_lock, NULL);
    pthread_mutex_init(&world->share_lock, NULL);
    for (int r = 0; r < ranks; ++r) {
        pthread_mutex_init(&world->box[r].lock, NULL);
    }
    *out = world;
    return WEFT_OK;
done:
    weft_free(world);
    return status;
}

void thread_world_destroy(thread_world *world)
{
    if (world == NULL) {
        return;
    }
    for (int r = 0; r < world->ranks; ++r) {
        pthread_mutex_destroy(&world->box[r].lock);
    }
    pthread_mutex_destroy(&world->failure_lock);
    pthread_mutex_destroy(&world->share_lock);
    while (world->shared != NULL) { /* of ranks that failed on their way */
        share_drop(world, world->shared);
    }
    WEFT_FREE_ALL(world->box, world);
}

void thread_world_fail(thread_world *world, int rank, weft_status status, const char *text)
{
    pthread_mutex_lock(&world->failure_lock);
    if (!atomic_load_explicit(&world->failed, memory_order_relaxed)) {
        world->failed_rank = rank;
        world->failure = status;
        snprintf(world->failure_text, sizeof world->failure_text, "%s", text);
        atomic_store_explicit(&world->failed, true, memory_order_release);
    }
    pthread_mutex_unlock(&world->failure_lock);
}

weft_status thread_world_failure(thread_world *world)
{
    if (!atomic_load_explicit(&world->failed, memory_order_acquire)) {
        return WEFT_OK;
    }
    return weft_fail(world->failure, "rank %d: %s", world->failed_rank, world->failure_text);
}
