/*
 * gnn/links/link_ranking.h: how well a model recommends: for each user with links of test, all items that training does
 * not join to the user, by the product of both rows.
 *
 *     recall@K    links of test among the first K items / links of test
 *     NDCG@K      sum over those of 1 / log2(1 + place), by what it would be with all of them in front
 *
 * Both are means over users, as NGCF and LightGCN tell them. Equal scores stand by the number of the item. Each rank
 * judges the users among its rows, and holds the pairs of test of all ranks, 8 bytes each. Work: users x items x d, in
 * products of 64 users by all items; memory: 8 bytes for each number of the items' rows, and 512 for each item.
 */
#pragma once

#include "gnn/links/link_ends.h"
#include "gnn/links/link_set.h"

typedef struct link_ranking {
    int at;        /* K */
    int64_t users; /* with links of test, over all ranks */
    double recall, ndcg;
} link_ranking;

/* Bytes that link_ranking_make takes for items whose rows are so wide, beside the pairs of test. */
uint64_t link_ranking_bytes(int64_t items, int64_t width);
/* set->users is above 0, and ends->row holds the rows of all vertices. [out] ranking: the same on all ranks.
 * Collective. WEFT_ERR_RESOURCE. */
weft_status link_ranking_make(weft_comm *comm, weft_hal *hal, const link_set *set, const link_ends *ends, int at,
                              link_ranking *ranking);
