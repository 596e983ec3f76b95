/*
 * comm/core/transfer.h: a set of messages under way together: the chunking layer and the traffic counters.
 *
 * Counts are int64; transports take messages that fit in an int. A transfer is cut into chunks, on both sides alike: of
 * at most chunk_bytes of its communicator, and where that spans nodes of 256 KiB, or into 256 of them. Chunks count as
 * messages.
 *
 *      transfers_reserve(set, n);                       once: cells for n messages
 *      transfers_send(set, ...); transfers_receive(set, ...);
 *      while (!transfers_done(set)) { transfers_test(set); }
 *      transfers_clear(set);                            before the next round
 */
#pragma once

#include "comm/comm.h"
#include "comm/transport/transport.h"

typedef struct transfer_info {
    int peer;
    bool is_send, pending;
    int64_t bytes;
    int group; /* the caller's own number, e.g. the halo's peer */
} transfer_info;

typedef struct comm_transfers {
    weft_comm *comm;
    comm_lane lane;
    int tag;
    int count, capacity, pending;
    void *request;       /* [capacity] cells of the transport */
    transfer_info *info; /* [capacity] */
    int *ended;          /* [capacity] indices that ended in the last transfers_test */
    int ended_count;
} comm_transfers;

void transfers_init(comm_transfers *set, weft_comm *comm, comm_lane lane);
weft_status transfers_reserve(comm_transfers *set, int64_t capacity);
void transfers_free(comm_transfers *set); /* cancels what is under way */

/* Messages that one transfer of this size takes. */
int64_t transfers_chunks(const weft_comm *comm, int64_t bytes);

/* Zero bytes: nothing is sent, and the peer expects nothing. */
weft_status transfers_send(comm_transfers *set, int peer, const void *data, int64_t bytes, int group);
weft_status transfers_receive(comm_transfers *set, int peer, void *data, int64_t bytes, int group);
/* Never blocks; the messages that ended are set->ended[0 .. ended_count). */
weft_status transfers_test(comm_transfers *set);
bool transfers_done(const comm_transfers *set);
void transfers_clear(comm_transfers *set);
void transfers_cancel(comm_transfers *set);
/* "no message from rank 3 (4000 bytes); 2 more to come" */
void transfers_describe(const comm_transfers *set, char *text, size_t bytes);
