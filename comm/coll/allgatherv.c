/*
 * comm/coll/allgatherv.c: everybody gets everybody's block, around a ring.
 *
 * In round k rank r sends block r - k to the right and receives block r - k - 1 from the left, straight into its place.
 * Cost: P - 1 rounds; a rank sends all blocks but its right neighbour's.
 */
#include "comm/coll/coll.h"

static int64_t offset_of(const int64_t *bytes, int block)
{
    int64_t offset = 0;
    for (int b = 0; b < block; ++b) {
        offset += bytes[b];
    }
    return offset;
}

void coll_allgatherv_build(comm_schedule *s, int rank, int size, const void *send, void *recv,
                           const int64_t *recv_bytes)
{
    char *to = recv;
    int right = (rank + 1) % size;
    int left = (rank + size - 1) % size;
    schedule_round(s, "own block");
    schedule_copy(s, to + offset_of(recv_bytes, rank), send, recv_bytes[rank]);
    for (int k = 0; k < size - 1; ++k) {
        int sent = (rank - k + size) % size;
        int got = (rank - k - 1 + size) % size;
        schedule_round(s, "ring");
        schedule_receive(s, left, to + offset_of(recv_bytes, got), recv_bytes[got]);
        schedule_send(s, right, to + offset_of(recv_bytes, sent), recv_bytes[sent]);
    }
}
