/*
 * comm/coll/gatherv.c: everybody's block to one rank, straight. Cost: one message a rank; the root receives P - 1.
 */
#include "comm/coll/coll.h"

void coll_gatherv_build(comm_schedule *s, int rank, int size, int root, const void *send, int64_t send_bytes,
                        void *recv, const int64_t *recv_bytes)
{
    schedule_round(s, "to the root");
    if (rank != root) {
        schedule_send(s, root, send, send_bytes);
        return;
    }
    char *to = recv;
    for (int q = 0; q < size; ++q) {
        if (q != root) {
            schedule_receive(s, q, to, recv_bytes[q]);
        }
        to += recv_bytes[q];
    }
    to = recv;
    for (int q = 0; q < root; ++q) {
        to += recv_bytes[q];
    }
    schedule_copy(s, to, send, send_bytes);
}
