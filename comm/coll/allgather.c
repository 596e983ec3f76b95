/*
 * comm/coll/allgather.c: everybody gets everybody's block, around a ring.
 *
 * In round k rank r sends block r - k to the right and receives block r - k - 1 from the left, straight into its place.
 * Cost: P - 1 rounds; a rank sends all blocks but its right neighbour's.
 */
#include "comm/coll/coll.h"

#include <assert.h>

int64_t coll_shares_begin(coll_shares shares, int rank)
{
    int64_t begin = shares.each * rank;
    for (int r = 0; shares.count != NULL && r < rank; ++r) {
        begin += shares.count[r];
    }
    return begin;
}

int64_t coll_shares_count(coll_shares shares, int rank)
{
    return shares.count != NULL ? shares.count[rank] : shares.each;
}

void coll_allgather_build(comm_schedule *s, int rank, int size, const void *send, void *recv, coll_shares bytes)
{
    assert(rank >= 0 && rank < size);
    assert(bytes.count == NULL || bytes.each == 0);
    char *to = recv;
    const int right = (rank + 1) % size;
    const int left = (rank + size - 1) % size;
    schedule_round(s, "own block");
    if (send != NULL) {
        schedule_copy(s, to + coll_shares_begin(bytes, rank), send, coll_shares_count(bytes, rank));
    }
    for (int k = 0; k < size - 1; ++k) {
        const int sent = (rank - k + size) % size;
        const int got = (rank - k - 1 + size) % size;
        schedule_round(s, "ring");
        schedule_receive(s, left, to + coll_shares_begin(bytes, got), coll_shares_count(bytes, got));
        schedule_send(s, right, to + coll_shares_begin(bytes, sent), coll_shares_count(bytes, sent));
    }
}
