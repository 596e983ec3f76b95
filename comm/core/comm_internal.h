/* comm/core/comm_internal.h: the communicator as the room comm sees it. */
#pragma once

#include <stdatomic.h>

#include "comm/comm.h"
#include "comm/core/cost.h"
#include "comm/core/layout.h"
#include "comm/core/progress.h"
#include "comm/core/schedule.h"
#include "comm/core/window.h"
#include "comm/transport/transport.h"

/* Well below INT_MAX and a multiple of every element size. */
#define COMM_CHUNK_BYTES ((int64_t)1 << 30)

/* The figures of a lane. Each has one writer at a time, the driver or the caller who waits, and may be read any time.
 */
typedef struct comm_counters {
    _Atomic uint64_t bytes_sent, messages_sent; /* the driver's */
    _Atomic uint64_t shared_bytes;              /* the driver's */
    _Atomic uint64_t busy_ns;                   /* the driver's */
    _Atomic uint64_t wait_ns;                   /* the caller's */
} comm_counters;

/*
 * What making windows, layouts and shared plans needs of all ranks of a communicator. comm/group defines these
 * functions on top of comm/coll and hands them down here, because comm/core and comm/coll stand below it and do not
 * call upwards. Each has the meaning of the function of comm/comm.h with the same name.
 */
typedef struct comm_meetings {
    weft_status (*agree)(weft_comm *comm, weft_status local);
    weft_status (*allreduce)(weft_comm *comm, void *buffer, int64_t count, weft_dtype dtype, comm_op op);
    weft_status (*allgather)(weft_comm *comm, const void *send, int64_t bytes, void *recv);
} comm_meetings;

/* Whether blocking all-reduces of short vectors go through shared memory. */
typedef enum small_state {
    SMALL_UNKNOWN, /* the layout is not known yet, or the window is being made: messages meanwhile */
    SMALL_WANTED,  /* the next one makes it */
    SMALL_READY,
    SMALL_REFUSED
} small_state;

/* The blocking all-reduce of short vectors: its steps are written once. */
typedef struct comm_small {
    small_state state;
    comm_schedule schedule;
    struct coll_shared *shared;
} comm_small;

struct weft_comm {
    transport *transport;
    const comm_meetings *meet;
    comm_progress *progress; /* shared with the communicators split from this one */
    comm_layout *layout;
    comm_model model;
    comm_counters counters[COMM_LANES];
    int next_tag[COMM_LANES];
    int64_t chunk_bytes;        /* longest message; a smaller one is set by tests, on every rank alike */
    bool calls;                 /* the first of its family: other ranks call to the inquest on its transport */
    bool straight[HAL_REACHES]; /* messages may lie in device memory of that reach (comm_choose_direct) */
    bool messages_only;         /* no shared memory between ranks: set by tests, on every rank alike */
    comm_schedule blocking;     /* of the blocking collectives: kept, so that a repeated call allocates nothing */
    comm_small small;
    window_pool pool;
    buffer_registry *buffers; /* shared with the communicators split from this one */
    uint64_t windows_made;    /* the same on every rank */
};

/* Wrap a transport, owned from now on, also on failure. Collective over its ranks. */
weft_status comm_create(transport *t, weft_comm **comm);

/* Collective: make the layout from each rank's lowest rank on its node, in place of the one there was. */
weft_status comm_layout_exchange(weft_comm *comm, int leader);

/* Operations of a lane are posted in the same order on every rank; the tag tells them apart. */
int comm_next_tag(weft_comm *comm, comm_lane lane);

/* Collective: WEFT_ERR_INTERNAL on every rank, naming two descriptions, unless all ranks pass the same text. */
weft_status comm_check_same(weft_comm *comm, const char *text);

static inline void comm_count(_Atomic uint64_t *counter, uint64_t amount)
{
    uint64_t before = atomic_load_explicit(counter, memory_order_relaxed);
    atomic_store_explicit(counter, before + amount, memory_order_relaxed);
}

static inline void comm_count_seconds(_Atomic uint64_t *nanoseconds, double seconds)
{
    comm_count(nanoseconds, (uint64_t)(seconds * 1e9));
}
