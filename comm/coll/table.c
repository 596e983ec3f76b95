/*
 * comm/coll/table.c: the table of all-reduce algorithms and the choice among them.
 *
 * AUTO takes the smallest rounds * ALPHA + bytes * BETA + reduced * GAMMA. The constants are those of a 10 Gbit/s
 * network; they only set where the short-vector algorithm hands over (about 10-40 KiB), and being off by a factor of
 * two costs little there. fixed_order is never chosen: it is asked for.
 */
#include "comm/coll/coll.h"

#define ALPHA_SECONDS          10e-6  /* a message */
#define BETA_SECONDS_PER_BYTE  1e-9   /* 1 GB/s */
#define GAMMA_SECONDS_PER_BYTE 0.2e-9 /* 5 GB/s of local reduction */

static const coll_algorithm algorithms[] = {
    {COMM_ALGO_RECURSIVE_DOUBLING, "recursive-doubling", "exchanges whole vectors: fewest rounds, for short vectors",
     coll_recursive_doubling_build, coll_recursive_doubling_cost},
    {COMM_ALGO_HALVING_DOUBLING, "halving-doubling",
     "reduce-scatter and all-gather by halves: long vectors on a power of two of ranks", coll_halving_doubling_build,
     coll_halving_doubling_cost},
    {COMM_ALGO_RING, "ring", "reduce-scatter and all-gather around a ring: long vectors on any number of ranks",
     coll_ring_build, coll_ring_cost},
    {COMM_ALGO_FIXED_ORDER, "fixed-order", "sums in rank order on every element: bit-reproducible",
     coll_fixed_order_build, coll_fixed_order_cost},
};

enum { ALGORITHMS = sizeof algorithms / sizeof algorithms[0] };

const coll_algorithm *coll_algorithm_of(comm_algorithm id)
{
    for (int i = 0; i < ALGORITHMS; ++i) {
        if (algorithms[i].id == id) {
            return &algorithms[i];
        }
    }
    return NULL;
}

const char *comm_algorithm_name(comm_algorithm algorithm)
{
    const coll_algorithm *found = coll_algorithm_of(algorithm);
    return found != NULL ? found->name : algorithm == COMM_ALGO_AUTO ? "auto" : "unknown";
}

const coll_algorithm *coll_choose(int size, int64_t count, weft_dtype dtype)
{
    const coll_algorithm *best = NULL;
    double best_seconds = 0.0;
    for (int i = 0; i < ALGORITHMS; ++i) {
        /* The critical path is that of a rank that takes part to the end: the same number on every rank. */
        coll_cost cost = algorithms[i].cost(0, size, count, (int64_t)weft_dtype_bytes(dtype));
        double seconds = (double)cost.rounds * ALPHA_SECONDS + (double)cost.bytes * BETA_SECONDS_PER_BYTE +
                         (double)cost.reduced * GAMMA_SECONDS_PER_BYTE;
        bool asked_only = algorithms[i].id == COMM_ALGO_FIXED_ORDER;
        if (!asked_only && (best == NULL || seconds < best_seconds)) {
            best = &algorithms[i];
            best_seconds = seconds;
        }
    }
    return best;
}
