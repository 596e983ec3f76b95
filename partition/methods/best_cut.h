/*
 * partition/methods/best_cut.h: several vertex-cuts of the same pairs, of which the best is kept.
 *
 * The best needs the fewest replicas. The slowest rank is waited for: where the largest part exceeds BEST_CUT_BALANCE
 * times the mean part, as many count as would fill every part like that one; and they count the more where a part has
 * more than BEST_CUT_BALANCE times its share of vertices that no other part holds, whose roots nobody can take off it.
 * Parts of different shares are compared as if they were as large as the mean.
 */
#pragma once

#include <stdbool.h>

#include "partition/cover/adjacency.h"
#include "partition/cover/refine.h"
#include "partition/methods/method.h"

enum { BEST_CUT_PAIRS = 8000000 }; /* of graphs with more, one is tried */
#define BEST_CUT_BALANCE 1.12

typedef struct best_cut {
    bool found;
    const char *from; /* what made it */
    refine_result result;
    uint16_t *pair_part;      /* [pairs] */
    uint16_t *other;          /* [pairs] where the next one is tried */
    uint16_t *entry_part;     /* [entries of the adjacency] both directions of the one that was tried last */
    uint16_t *own_entry_part; /* what best_cut_free frees of it */
    bool is_last;             /* the best is the one that was tried last */
    double cost;              /* of the best */
    uint16_t *holder;         /* [vertices] scratch */
} best_cut;

/* several: more than one will be offered. Free with best_cut_free, also after a failure. */
weft_status best_cut_create(const pair_list *list, bool several, best_cut *best);
void best_cut_free(best_cut *best);
/* Sets entry_part: edge_part [edges], scratch until the end, where the adjacency is the graph's own rows, else memory
 * of its own. */
weft_status best_cut_entries(best_cut *best, const adjacency *adjacent, uint16_t *edge_part);
/* The cut of list in best->other, of `result`, is kept where it is the first or better. */
void best_cut_offer(best_cut *best, const char *from, const pair_list *list, const refine_result *result,
                    const partition_job *job);
/* The best in edge_part [edges], in which it stands already where it is the last one and best_cut_entries took that. */
weft_status best_cut_finish(const best_cut *best, const partition_job *job, const pair_list *list, uint16_t *edge_part);

/* The ways of method expand, offered to best. edge_part [edges]: scratch. */
weft_status expand_offer(const partition_job *job, const pair_list *list, const adjacency *adjacent,
                         uint16_t *edge_part, best_cut *best);
/* That of them which serves graphs whose vertices have neighbours everywhere, where this is one: else offered is
 * false. */
weft_status expand_offer_design(const partition_job *job, const pair_list *list, const adjacency *adjacent,
                                uint16_t *edge_part, best_cut *best, bool *offered);
