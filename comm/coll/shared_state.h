/* comm/coll/shared_state.h: what a shared-memory all-reduce keeps: made by shared_create.c, used by allreduce_shared.c.
 */
#pragma once

#include "comm/coll/shared.h"
#include "comm/core/comm_internal.h"

typedef enum shared_form { SHARED_SLOTS, SHARED_DIRECT, SHARED_STAGED } shared_form;

enum { SHARED_LINE = 64, SHARED_PIECE_BYTES = 1 << 18, SHARED_SLOT_WINDOWED_BYTES = 512 };

struct coll_shared {
    weft_comm *comm;
    comm_schedule *schedule;
    comm_window *window; /* leased */
    int ranks, me;
    shared_form form;
    /* the vector, set anew by coll_shared_aim */
    char *buffer;
    int64_t count, element;
    weft_dtype dtype;
    comm_op op;
    /* direct */
    void **vector; /* [ranks] everybody's */
    /* slots and staged */
    int64_t slot_bytes;                    /* of one slot or one half */
    int64_t piece;                         /* elements of a piece */
    int64_t pieces, entered, summed, left; /* of this post */
    /* work space */
    void **to;         /* [ranks] */
    const void **from; /* [ranks] */
    int awaited;       /* ranks before it have come */
};

/* Whether a vector of so many bytes goes through slots; windowed: it lies in a window. */
bool shared_fits_slot(int ranks, int64_t bytes, bool windowed);

static inline char *shared_segment(const coll_shared *shared, int q)
{
    return window_segment(shared->window, q);
}

/* A slot begins with its own flag: the number of the post whose vector it holds. */
static inline char *shared_slot(const coll_shared *shared, int q, uint64_t post)
{
    return shared_segment(shared, q) + (int64_t)(post % 2) * shared->slot_bytes;
}

static inline uint64_t *shared_slot_flag(char *slot)
{
    return (uint64_t *)(void *)slot;
}
