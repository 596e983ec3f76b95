/*
 * comm/coll/table.c: the table of all-reduce algorithms and the choice among them: the smallest predicted critical path
 * (comm/cost.h). fixed_order is never chosen: it is asked for.
 */
#include "comm/coll/shared.h"

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
    {COMM_ALGO_SHARED, "shared", "sums in shared memory, in rank order: any length, ranks of one node",
     coll_shared_build, coll_shared_cost},
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

void coll_flat_path(comm_cost *cost, const coll_place *place, int64_t rounds, int64_t bytes)
{
    bool networked = place->layout->nodes > 1;
    *(networked ? &cost->inter_rounds : &cost->intra_rounds) = rounds;
    *(networked ? &cost->inter_bytes : &cost->intra_bytes) = bytes;
}

static const coll_algorithm *choose(const comm_model *model, const comm_layout *layout, int size, int64_t count,
                                    weft_dtype dtype, bool shared)
{
    const coll_place place = {0, size, layout};
    const coll_algorithm *best = NULL;
    double best_seconds = 0.0;
    for (int i = 0; i < ALGORITHMS; ++i) {
        comm_cost cost = algorithms[i].cost(&place, count, (int64_t)weft_dtype_bytes(dtype));
        double seconds = comm_model_seconds(model, &cost);
        bool excluded = algorithms[i].id == COMM_ALGO_FIXED_ORDER || (algorithms[i].id == COMM_ALGO_SHARED && !shared);
        if (!excluded && (best == NULL || seconds < best_seconds)) {
            best = &algorithms[i];
            best_seconds = seconds;
        }
    }
    return best;
}

const coll_algorithm *coll_choose(const comm_model *model, const comm_layout *layout, int size, int64_t count,
                                  weft_dtype dtype)
{
    return choose(model, layout, size, count, dtype, coll_shared_possible(layout, size));
}

const coll_algorithm *coll_choose_messages(const comm_model *model, const comm_layout *layout, int size, int64_t count,
                                           weft_dtype dtype)
{
    return choose(model, layout, size, count, dtype, false);
}
