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
 * It has no halves: every rank holds everything from the first round on.
 * Cost: log2 p rounds, M log2 p bytes a rank; + 2 rounds and up to 2 M when P is no power of two. Through a node's link
 * go n M in each round across nodes. Memory: M.
 *
 * R. Thakur, R. Rabenseifner, W. Gropp: Optimization of collective communication operations in MPICH. IJHPCA 19(1),
 * 2005, doi:10.1177/1094342005051521
 */
#include "comm/coll/coll.h"

#include <assert.h>

static int64_t scratch_bytes(const coll_allreduce *args)
{
    return coll_vector_bytes(args);
}

static void build_steps(comm_schedule *s, const coll_allreduce *args)
{
    assert(args->size > 1 && args->half == COMM_WHOLE);
    coll_fold fold = coll_fold_of(args->rank, args->size);
    int64_t bytes = coll_vector_bytes(args);
    void *tmp = args->scratch;
    coll_fold_in(s, &fold, args, tmp);
    for (int mask = 1; fold.virtual >= 0 && mask < fold.power; mask *= 2) {
        int partner = fold.virtual ^ mask;
        bool lower = fold.virtual < partner;
        schedule_round(s, "exchange");
        schedule_receive(s, coll_fold_rank(&fold, partner), tmp, bytes);
        schedule_send(s, coll_fold_rank(&fold, partner), args->buffer, bytes);
        coll_reduce(s, args, lower ? args->buffer : tmp, lower ? tmp : args->buffer);
    }
    coll_fold_out(s, &fold, args);
}

static comm_cost cost_of(const coll_place *place, int64_t count, int64_t element)
{
    coll_fold fold = coll_fold_of(place->rank, place->size);
    int64_t bytes = count * element;
    comm_cost cost = {0};
    if (count == 0) {
        return cost;
    }
    cost.messages_sent = fold.virtual < 0 ? 1 : fold.steps + (place->rank < 2 * fold.extra);
    cost.bytes_sent = cost.messages_sent * bytes;
    cost.reduced = (fold.steps + (fold.extra > 0 ? 1 : 0)) * bytes;
    for (int mask = 1; mask < fold.power; mask *= 2) {
        coll_path_pairs(&cost, place, &fold, mask, bytes);
    }
    if (fold.extra > 0) {
        comm_cost folding = {0};
        coll_path_pairs(&folding, place, &fold, 0, bytes);
        coll_path_add(&cost, &folding, 2);
    }
    return cost;
}

const coll_algorithm allreduce_recursive_doubling = {.id = COMM_ALGO_RECURSIVE_DOUBLING,
                                                     .name = "recursive-doubling",
                                                     .description =
                                                         "exchanges whole vectors: fewest rounds, for short vectors",
                                                     .scratch = scratch_bytes,
                                                     .build = build_steps,
                                                     .cost = cost_of};
