/*
 * trees/grow/rank_exchange.h: what ranks tell each other while trees grow, apart from histograms: the largest
 * gradients, sums of whole numbers, and the best splits of nodes.
 *
 * All are all-reduces by recursive doubling that are planned once, so what is sent is known (trees/grow/growth_work.h).
 * Longer vectors go in parts.
 */
#pragma once

#include "comm/comm.h"
#include "trees/grow/growth_work.h"
#include "trees/grow/split.h"

typedef struct rank_exchange {
    weft_comm *comm;
    comm_plan *most, *sum, *best; /* NULL on one rank */
    double largest[3];            /* vector of `most` */
    int64_t *number;              /* [EXCHANGE_BYTES / 8] vector of `sum` */
    char *record;                 /* [EXCHANGE_BYTES] vector of `best` */
    int64_t record_bytes;
    growth_work work; /* so far; also what others add */
    growth_seconds seconds;
} rank_exchange;

/* category_bins: of a column at most; sets of them are sent. 0: splits are by numbers alone. Collective. */
weft_status exchange_create(weft_comm *comm, int category_bins, rank_exchange *exchange);
void exchange_destroy(rank_exchange *exchange); /* zeros are fine */
/* Posts a plan and waits for it, counting the seconds. Collective. */
weft_status exchange_run(rank_exchange *exchange, comm_plan *plan);
/* As comm_agree(), counted. Collective. */
weft_status exchange_agree(rank_exchange *exchange, weft_status local);
/* [in, out] largest: of all ranks. Collective. */
weft_status exchange_most(rank_exchange *exchange, double largest[3]);
/* [in, out] number: [count] sums over all ranks. Collective. */
weft_status exchange_sum(rank_exchange *exchange, int64_t *number, int64_t count);
/* [in, out] split: [count] the best of all ranks, by the order of split_is_better(). Collective. */
weft_status exchange_best(rank_exchange *exchange, tree_split *split, int64_t count);
