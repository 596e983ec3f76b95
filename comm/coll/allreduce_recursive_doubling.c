/*
 * comm/coll/allreduce_recursive_doubling.c: the all-reduce for short vectors: fewest rounds.
 *
 * In round k every rank exchanges its whole vector with the rank whose number differs in bit k, and both reduce:
 *
 *      rank     0     1     2     3
 *      start    a     b     c     d
 *      bit 0    ab    ab    cd    cd
 *      bit 1    abcd  abcd  abcd  abcd
 *
 * The lower rank's part is always the left operand, so both partners compute the same bits. Other numbers of ranks are
 * folded onto a power of two (comm/coll/fold.c).
 *
 * Cost: log2 p rounds, M log2 p bytes a rank; + 2 rounds and up to 2 M when P is no power of two. Memory: M.
 *
 * R. Thakur, R. Rabenseifner, W. Gropp: Optimization of collective communication operations in MPICH. IJHPCA 19(1),
 * 2005, doi:10.1177/1094342005051521
 */
#include "comm/coll/coll.h"

void coll_recursive_doubling_build(comm_schedule *s, const coll_allreduce *args)
{
    coll_fold fold = coll_fold_of(args->rank, args->size);
    int64_t bytes = coll_vector_bytes(args);
    void *tmp = NULL;
    schedule_scratch(s, bytes, &tmp);
    coll_fold_in(s, &fold, args, tmp);
    for (int mask = 1; fold.virtual >= 0 && mask < fold.power; mask *= 2) {
        int partner = fold.virtual ^ mask;
        bool lower = fold.virtual < partner;
        schedule_round(s, "exchange");
        schedule_receive(s, coll_fold_rank(&fold, partner), tmp, bytes);
        schedule_send(s, coll_fold_rank(&fold, partner), args->buffer, bytes);
        schedule_reduce(s, args->dtype, args->op, args->buffer, lower ? args->buffer : tmp, lower ? tmp : args->buffer,
                        args->count);
    }
    coll_fold_out(s, &fold, args);
}

comm_cost coll_recursive_doubling_cost(const coll_place *place, int64_t count, int64_t element)
{
    int rank = place->rank;
    int size = place->size;
    coll_fold fold = coll_fold_of(rank, size);
    comm_cost cost = {0};
    if (count > 0) {
        bool folded = rank < 2 * fold.extra;
        int64_t rounds = fold.steps + (fold.extra > 0 ? 2 : 0);
        cost.messages_sent = fold.virtual < 0 ? 1 : fold.steps + folded;
        coll_flat_path(&cost, place, rounds, rounds * count * element);
    }
    cost.bytes_sent = cost.messages_sent * count * element;
    cost.reduced = (fold.steps + (fold.extra > 0 ? 1 : 0)) * count * element;
    return cost;
}
