/*
 * comm/core/window.c: windows over whatever the transport shares, and the pool of windows of planned operations.
 *
 * A segment starts with the owner's flags, a cache line each, so that raising one disturbs no other; the data follow.
 * The pool exists because destroying a window is collective while destroying a plan is not: a plan hands its window
 * back, and the next lease asks all ranks which windows nobody uses.
 */
#include "comm/core/window.h"

#include <assert.h>
#include <stdatomic.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "comm/core/comm_internal.h"

enum { LINE = 64, HEAD_BYTES = WINDOW_FLAGS * LINE };

/* Looks at flags between two chances for the transport. */
enum { BLOCKED_LOOKS = 64 };

struct comm_window {
    transport *transport;
    comm_progress *progress; /* its lock guards the transport */
    void *handle;            /* the transport's; NULL: plain memory of a node of one rank */
    uint64_t id;
    int ranks, me;
    void **segment;  /* [ranks] with the flags */
    int64_t *bytes;  /* [ranks] with them */
    int64_t largest; /* of all ranks of the communicator, without them */
};

struct pooled_window {
    comm_window *window;
    bool used;
};

/* ---- making ------------------------------------------------------------------------------------------------------ */
static void window_free(comm_window *window)
{
    if (window != NULL) {
        if (window->handle == NULL && window->segment != NULL && window->ranks == 1) {
            weft_free(window->segment[0]);
        }
        WEFT_FREE_ALL((void *)window->segment, window->bytes, window);
    }
}

void comm_window_destroy(comm_window *window)
{
    if (window != NULL && window->handle != NULL) {
        progress_lock(window->progress);
        window->transport->ops->unshare(window->transport, window->handle);
        progress_unlock(window->progress);
    }
    window_free(window);
}

static weft_status window_new(weft_comm *comm, int64_t bytes, comm_window **out)
{
    weft_status status = WEFT_OK;
    comm_window *window = NULL;
    int ranks = comm_node_size(comm);
    WEFT_CHECK(bytes >= 0 && bytes < INT64_MAX - HEAD_BYTES, WEFT_ERR_INTERNAL, "a window of %lld bytes",
               (long long)bytes);
    WEFT_TRY(WEFT_NEW_ZERO(&window, 1, WEFT_MEM_COMM));
    window->transport = comm->transport;
    window->progress = comm->progress;
    window->ranks = ranks;
    window->me = comm_node_rank(comm);
    WEFT_TRY_GOTO(WEFT_NEW_ZERO(&window->segment, ranks, WEFT_MEM_COMM), status, done);
    WEFT_TRY_GOTO(WEFT_NEW(&window->bytes, ranks, WEFT_MEM_COMM), status, done);
    *out = window;
    window = NULL;
done:
    window_free(window);
    return status;
}

/* What a rank tells the others about a window that is made. */
typedef struct window_card {
    int64_t bytes;
    uint64_t id;
} window_card;

/* Process and count: no other window of the node has the leader's. */
static uint64_t next_id(void)
{
    static _Atomic uint32_t made;
    return (uint64_t)getpid() << 32 | atomic_fetch_add_explicit(&made, 1, memory_order_relaxed);
}

/* card: [P]; the segments themselves, of this rank's node. */
static weft_status window_share(weft_comm *comm, comm_window *window, const window_card *card)
{
    const comm_layout *layout = comm->layout;
    const int *member = layout->member + layout->first[layout->node_of[comm_rank(comm)]];
    for (int q = 0; q < window->ranks; ++q) {
        window->bytes[q] = card[member[q]].bytes + HEAD_BYTES;
    }
    window->id = card[member[0]].id;
    if (window->ranks == 1) {
        return weft_malloc(1, (size_t)window->bytes[0], WEFT_MEM_COMM, &window->segment[0]);
    }
    const transport_share share = {
        .member = member, .count = window->ranks, .me = window->me, .bytes = window->bytes, .key = comm->windows_made};
    progress_lock(comm->progress);
    weft_status status = comm->transport->ops->share(comm->transport, &share, window->segment, &window->handle);
    progress_unlock(comm->progress);
    return status;
}

static void flags_clear(comm_window *window)
{
    for (int flag = 0; flag < WINDOW_FLAGS; ++flag) {
        window_raise(window, flag, 0);
    }
}

weft_status comm_window_create(weft_comm *comm, int64_t bytes, comm_window **out)
{
    weft_status status = WEFT_OK;
    int size = comm_size(comm);
    comm_window *window = NULL;
    window_card *card = NULL;
    window_card mine = {bytes, next_id()};
    *out = NULL;
    weft_status local = window_new(comm, bytes, &window);
    local = local == WEFT_OK ? WEFT_NEW(&card, size, WEFT_MEM_COMM) : local;
    COMM_AGREED_GOTO(comm->meet->agree(comm, local), local, status, done);
    WEFT_TRY_GOTO(comm->meet->allgather(comm, &mine, (int64_t)sizeof mine, card), status, done);
    for (int q = 0; q < size; ++q) {
        window->largest = card[q].bytes > window->largest ? card[q].bytes : window->largest;
    }
    ++comm->windows_made;
    local = window_share(comm, window, card);
    if (local == WEFT_OK) {
        flags_clear(window);
    }
    WEFT_TRY_GOTO(comm->meet->agree(comm, local), status, done);
    *out = window;
    window = NULL;
done:
    comm_window_destroy(window);
    weft_free(card);
    return status;
}

uint64_t comm_window_room(const weft_comm *comm)
{
    const transport_ops *ops = comm->transport->ops;
    return comm_node_size(comm) > 1 && ops->share_room != NULL ? ops->share_room(comm->transport) : UINT64_MAX;
}

/* ---- using ------------------------------------------------------------------------------------------------------- */
void *window_segment(const comm_window *window, int local)
{
    assert(local >= 0 && local < window->ranks);
    return (char *)window->segment[local] + HEAD_BYTES;
}

int64_t window_segment_bytes(const comm_window *window, int local)
{
    return window->bytes[local] - HEAD_BYTES;
}

int window_ranks(const comm_window *window)
{
    return window->ranks;
}

int window_me(const comm_window *window)
{
    return window->me;
}

uint64_t window_id(const comm_window *window)
{
    return window->id;
}

static uint64_t *flag_of(const comm_window *window, int local, int flag)
{
    assert(flag >= 0 && flag < WINDOW_FLAGS);
    return (uint64_t *)(void *)((char *)window->segment[local] + (ptrdiff_t)flag * LINE);
}

void window_raise(comm_window *window, int flag, uint64_t value)
{
    __atomic_store_n(flag_of(window, window->me, flag), value, __ATOMIC_RELEASE);
}

uint64_t window_flag(const comm_window *window, int local, int flag)
{
    return __atomic_load_n(flag_of(window, local, flag), __ATOMIC_ACQUIRE);
}

weft_status window_look_again(const weft_comm *comm, unsigned *looks)
{
    return ++*looks % BLOCKED_LOOKS == 0 ? comm->transport->ops->poll(comm->transport) : WEFT_OK;
}

/* ---- the pool ---------------------------------------------------------------------------------------------------- */
static weft_status pool_grow(window_pool *pool)
{
    if (pool->count < pool->capacity) {
        return WEFT_OK;
    }
    int wanted = pool->capacity == 0 ? 8 : 2 * pool->capacity;
    WEFT_TRY(weft_realloc((void **)&pool->entry, (size_t)wanted, sizeof *pool->entry, WEFT_MEM_COMM));
    pool->capacity = wanted;
    return WEFT_OK;
}

/* Collective: the smallest window that fits all ranks and that none uses, the same on all of them; -1: none. unfit:
 * [count]. */
static weft_status pool_find(weft_comm *comm, int64_t bytes, int32_t *unfit, int *found)
{
    const window_pool *pool = &comm->pool;
    *found = -1;
    for (int i = 0; i < pool->count; ++i) {
        const comm_window *window = pool->entry[i].window;
        unfit[i] = pool->entry[i].used || window_segment_bytes(window, window->me) < bytes;
    }
    WEFT_TRY(comm->meet->allreduce(comm, unfit, pool->count, WEFT_DTYPE_I32, COMM_MAX));
    for (int i = 0; i < pool->count; ++i) {
        if (unfit[i] == 0 && (*found < 0 || pool->entry[i].window->largest < pool->entry[*found].window->largest)) {
            *found = i;
        }
    }
    return WEFT_OK;
}

weft_status comm_window_lease(weft_comm *comm, int64_t bytes, comm_window **window)
{
    weft_status status = WEFT_OK;
    window_pool *pool = &comm->pool;
    int32_t *unfit = NULL;
    int found = -1;
    *window = NULL;
    weft_status local = pool_grow(pool);
    local = local == WEFT_OK ? WEFT_NEW(&unfit, pool->count + 1, WEFT_MEM_COMM) : local;
    COMM_AGREED_GOTO(comm->meet->agree(comm, local), local, status, done);
    WEFT_TRY_GOTO(pool_find(comm, bytes, unfit, &found), status, done);
    if (found < 0) {
        WEFT_TRY_GOTO(comm_window_create(comm, bytes, &pool->entry[pool->count].window), status, done);
        found = pool->count++;
    }
    pool->entry[found].used = true;
    *window = pool->entry[found].window;
    flags_clear(*window);
    /* Its pages are made here, by their owner, and not in the first post. */
    memset(window_segment(*window, (*window)->me), 0, (size_t)window_segment_bytes(*window, (*window)->me));
done:
    weft_free(unfit);
    return status;
}

void comm_window_return(weft_comm *comm, comm_window *window)
{
    for (int i = 0; i < comm->pool.count; ++i) {
        if (comm->pool.entry[i].window == window) {
            comm->pool.entry[i].used = false;
        }
    }
}

void window_pool_destroy(window_pool *pool)
{
    for (int i = 0; i < pool->count; ++i) {
        comm_window_destroy(pool->entry[i].window);
    }
    weft_free(pool->entry);
    *pool = (window_pool){0};
}
