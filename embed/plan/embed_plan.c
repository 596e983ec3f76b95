/* embed/plan/embed_plan.c: see embed/plan/embed_plan.h. */
#include "embed/plan/embed_plan.h"

#include "embed/exchange/row_route.h"

enum {
    NUMBER_BYTES = sizeof(float),
    COUNT_BYTES = 8, /* before the elements of each message (comm/exchange.h) */
    KEY_BYTES = 16,  /* a key and how often it occurs (embed/exchange/row_route.c) */
    /* A key and its bag, and its weight; as many say how many samples a rank has (embed/exchange/bag_route.c). */
    BAG_BYTES = 12,
    WEIGHT_BYTES = 4
};

weft_status embed_counts_add(const embed_bags *bags, int rank, uint64_t seed, bag_index *index, embed_counts *counts)
{
    WEFT_TRY(bag_index_fill(index, bags));
    counts->samples += bags->samples;
    counts->weighted = counts->weighted || bags->weight != NULL;
    counts->distinct += index->distinct;
    for (int64_t i = 0; i < index->distinct; ++i) {
        const bool away = row_route_owner(index->key[i], seed, counts->ranks) != rank;
        counts->distinct_away += away;
        counts->keys_away += away ? index->times[i] : 0;
    }
    return WEFT_OK;
}

weft_status embed_counts_share(weft_comm *comm, const embed_bags *bags, uint64_t seed, bag_index *index,
                               embed_counts *counts)
{
    embed_counts own = {.ranks = comm_size(comm)};
    WEFT_TRY(comm_agree(comm, embed_counts_add(bags, comm_rank(comm), seed, index, &own)));
    int64_t sum[] = {own.samples, own.distinct, own.distinct_away, own.keys_away};
    WEFT_TRY(comm_allreduce(comm, sum, 4, WEFT_DTYPE_I64, COMM_SUM));
    *counts = (embed_counts){own.ranks, sum[0], sum[1], sum[2], sum[3], own.weighted};
    return WEFT_OK;
}

int64_t embed_mode_bytes(embed_mode mode, const embed_counts *c, int stride, int64_t columns, bool whole)
{
    const int64_t others = c->ranks - 1, pairs = c->ranks * others, row = (int64_t)NUMBER_BYTES * stride;
    const int64_t bag = BAG_BYTES + (c->weighted ? WEIGHT_BYTES : 0);
    switch (mode) {
    case EMBED_REPLICATE: /* keys, gradients */
        return 2 * pairs * COUNT_BYTES + others * c->distinct * (KEY_BYTES + row);
    case EMBED_DES: /* bags, sums, gradients of sums */
        return (whole ? 0 : pairs * (COUNT_BYTES + bag) + c->keys_away * bag) +
               2 * (pairs * COUNT_BYTES + others * c->samples * columns * NUMBER_BYTES);
    case EMBED_ALL_TO_ALL:
    case EMBED_MODE_AUTO:
        break;
    }
    return 3 * pairs * COUNT_BYTES + c->distinct_away * (KEY_BYTES + 2 * row); /* keys, rows, gradients */
}

embed_mode embed_mode_cheapest(const embed_counts *counts, int stride, int64_t columns, bool whole)
{
    embed_mode best = EMBED_ALL_TO_ALL;
    for (int m = 0; m < EMBED_MODES_COUNT; ++m) {
        const int64_t least = embed_mode_bytes(best, counts, stride, columns, whole);
        best = embed_mode_bytes((embed_mode)m, counts, stride, columns, whole) < least ? (embed_mode)m : best;
    }
    return best;
}

int64_t embed_server_bytes(const embed_counts *counts, int stride)
{
    return 2 * counts->distinct * stride * NUMBER_BYTES;
}

double embed_des_saving(const embed_counts *c, int stride, int64_t columns)
{
    const double des = 2.0 * (double)(c->ranks - 1) * (double)(c->samples * columns) * NUMBER_BYTES;
    const int64_t server = embed_server_bytes(c, stride);
    return server > 0 ? 1 - des / (double)server : 0;
}
