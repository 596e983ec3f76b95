/*
 * comm/coll/bcast.c: broadcast down a binomial tree.
 *
 *      P = 8, root 0:    0 -> 4, 2, 1;   4 -> 6, 5;   2 -> 3;   6 -> 7
 *
 * Ranks are numbered from the root. A rank receives from its number with the lowest set bit cleared, then sends to its
 * number plus every smaller power of two, the largest subtree first. Cost: log2 P rounds of M; a rank sends M a child.
 */
#include "comm/coll/coll.h"

#include <assert.h>

void coll_bcast_build(comm_schedule *s, int rank, int size, int root, void *buffer, int64_t bytes)
{
    assert(rank >= 0 && rank < size && root >= 0 && root < size);
    int number = (rank - root + size) % size;
    int bit = 1;
    while (bit < size && (number & bit) == 0) {
        bit *= 2;
    }
    if (number != 0) {
        schedule_round(s, "from the parent");
        schedule_receive(s, (number - bit + root) % size, buffer, bytes);
    }
    schedule_round(s, "to the children");
    for (bit /= 2; bit > 0; bit /= 2) {
        if (number + bit < size) {
            schedule_send(s, (number + bit + root) % size, buffer, bytes);
        }
    }
}

int coll_bcast_children(int number, int size)
{
    int children = 0;
    for (int bit = 1; bit < size && (number & bit) == 0; bit *= 2) {
        children += number + bit < size;
    }
    return children;
}
