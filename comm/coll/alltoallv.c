/*
 * comm/coll/alltoallv.c: a block of its own from every rank to every other.
 *
 * Rank r sends to r + k and receives from r - k, k = 1 .. P - 1, WINDOW distances at a time: at any moment a rank is
 * the target of few others. Cost: ceil((P - 1) / WINDOW) rounds; a rank sends its blocks once.
 */
#include "comm/coll/coll.h"

#include <assert.h>

enum { WINDOW = 8 };

void coll_alltoallv_build(comm_schedule *s, int rank, int size, const void *send, const int64_t *send_bytes, void *recv,
                          const int64_t *recv_bytes)
{
    assert(rank >= 0 && rank < size);
    const char *from = send;
    char *to = recv;
    int64_t send_before = 0;
    int64_t recv_before = 0;
    for (int q = 0; q < rank; ++q) {
        send_before += send_bytes[q];
        recv_before += recv_bytes[q];
    }
    schedule_round(s, "own block");
    schedule_copy(s, to + recv_before, from + send_before, recv_bytes[rank]);
    /* Walk the targets up and the sources down, keeping their offsets. */
    int target = rank;
    int source = rank;
    for (int k = 1; k < size; ++k) {
        send_before = target + 1 == size ? 0 : send_before + send_bytes[target];
        target = (target + 1) % size;
        if (source == 0) {
            recv_before = 0;
            for (int q = 0; q < size - 1; ++q) {
                recv_before += recv_bytes[q];
            }
            source = size - 1;
        } else {
            recv_before -= recv_bytes[--source];
        }
        if (k % WINDOW == 1) {
            schedule_round(s, "pairs");
        }
        schedule_receive(s, source, to + recv_before, recv_bytes[source]);
        schedule_send(s, target, from + send_before, send_bytes[target]);
    }
}
