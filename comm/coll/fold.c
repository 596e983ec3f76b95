/*
 * comm/coll/fold.c: any number of ranks as a power of two.
 *
 * The first 2 * extra ranks form pairs; the even one hands its vector to the odd one and gets the result at the end:
 *
 *      P = 7, p = 4, extra = 3        rank     0  1   2  3   4  5   6
 *                                     acts as  -  0   -  1   -  2   3
 *
 * Neighbours pair, so the fold stays inside a node when ranks are placed node by node. Cost: 2 rounds and 2 M.
 */
#include "comm/coll/coll.h"

#include <assert.h>

coll_fold coll_fold_of(int rank, int size)
{
    coll_fold fold = {.power = 1};
    while (fold.power <= size / 2) {
        fold.power *= 2;
        ++fold.steps;
    }
    fold.extra = size - fold.power;
    if (rank >= 2 * fold.extra) {
        fold.virtual = rank - fold.extra;
    } else {
        fold.virtual = rank % 2 == 1 ? rank / 2 : -1;
    }
    return fold;
}

int coll_fold_rank(const coll_fold *fold, int virtual)
{
    assert(virtual >= 0 && virtual < fold->power);
    return virtual < fold->extra ? 2 * virtual + 1 : virtual + fold->extra;
}

void coll_fold_in(comm_schedule *s, const coll_fold *fold, const coll_allreduce *args, void *tmp)
{
    if (args->rank >= 2 * fold->extra) {
        return;
    }
    schedule_round(s, "fold");
    if (fold->virtual < 0) {
        schedule_send(s, args->rank + 1, args->buffer, coll_vector_bytes(args));
    } else {
        schedule_receive(s, args->rank - 1, tmp, coll_vector_bytes(args));
        coll_reduce(s, args, tmp, args->buffer);
    }
}

void coll_fold_out(comm_schedule *s, const coll_fold *fold, const coll_allreduce *args)
{
    if (args->rank >= 2 * fold->extra) {
        return;
    }
    schedule_round(s, "unfold");
    if (fold->virtual < 0) {
        schedule_receive(s, args->rank + 1, args->buffer, coll_vector_bytes(args));
    } else {
        schedule_send(s, args->rank - 1, args->buffer, coll_vector_bytes(args));
    }
}
