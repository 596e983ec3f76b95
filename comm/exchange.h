/*
 * comm/exchange.h: a planned all-to-all whose counts are known only when it is posted.
 *
 * The plan agrees on the most elements that each pair of ranks may exchange and takes memory for them once: an area to
 * write to for every peer that this rank may send to, and an area to read from for every peer that may send to it. A
 * post says how many elements each area holds; no element is copied on the way, nothing is allocated.
 *
 *     const comm_exchange_desc desc = {.lane = COMM_LANE_HALO, .element_bytes = sizeof(row), .most = most};
 *     WEFT_TRY(comm_exchange_plan(comm, &desc, &exchange));
 *     for (...) {
 *         fill comm_exchange_area(exchange, p), count[p] elements, for every p
 *         WEFT_TRY(comm_exchange_post(exchange, count)); ...compute...; WEFT_TRY(comm_exchange_wait(exchange));
 *         const row *from_p = comm_exchange_received(exchange, p, &n);
 *     }
 *
 * A pair that may exchange something sends 8 bytes in a post, the count, and the elements right behind; a count of zero
 * ends there. Pairs whose most is zero send nothing. What a rank sends to itself is copied in the post. Any lane.
 */
#pragma once

#include "comm/comm.h"

typedef struct comm_exchange comm_exchange;

typedef struct comm_exchange_desc {
    comm_lane lane;
    int64_t element_bytes;
    const int64_t *most; /* [P] most elements that this rank sends to each rank in one post */
    const char *name;    /* what travels, for messages; NULL: none */
    int64_t *sent; /* each post adds the bytes that it sends to other ranks; outlives the plan. NULL: nobody asks */
} comm_exchange_desc;

/* Collective; lane, element_bytes and name are the same on every rank, else WEFT_ERR_INTERNAL with both. */
weft_status comm_exchange_plan(weft_comm *comm, const comm_exchange_desc *desc, comm_exchange **exchange);
/* Where the elements for a peer go: room for most[peer], 64-byte aligned; NULL for none. To be written while nothing is
 * posted. */
void *comm_exchange_area(comm_exchange *exchange, int peer);
/*
 * count: [P], each at most most[p]; read before the return. WEFT_ERR_INTERNAL, and nothing is sent, for a count out of
 * range or a second post without a wait. Collective.
 */
weft_status comm_exchange_post(comm_exchange *exchange, const int64_t *count);
weft_status comm_exchange_test(comm_exchange *exchange, bool *done);
weft_status comm_exchange_wait(comm_exchange *exchange);
/* What a peer sent in the last exchange that was waited for: count elements, 64-byte aligned, until the next post. */
const void *comm_exchange_received(const comm_exchange *exchange, int peer, int64_t *count);
void comm_exchange_destroy(comm_exchange *exchange);
