/*
 * embed/exchange/bag_route.h: the way of the bags of all ranks to the owners of their keys, and of sums between owners
 * and the ranks whose samples they are of. No row and no gradient of a row travels.
 *
 *     this rank                                   owners
 *     key and bag of each of its keys     ---->   the bags of all ranks, of which an owner sees its own keys alone
 *     totals of its samples               <----   partial sums of all samples, `columns` numbers a sample
 *     gradients of these totals           ---->   gradients of all samples
 *
 * Totals add the owners' sums in the order of ranks. Where every rank has read the bags of all ranks, no key travels
 * either. With one rank nothing is sent, and bags and gradients are not copied.
 */
#pragma once

#include "base/integer/integers.h"
#include "comm/exchange.h"
#include "embed/embed.h"
#include "embed/exchange/bag_store.h"

typedef struct bag_route_desc {
    int fields;
    bool weighted; /* keys have weights */
    bool to_all;   /* every rank gets every key, whoever owns it */
    int64_t most;  /* keys of a batch of any rank */
    uint64_t seed; /* of which rank owns which key */
} bag_route_desc;

typedef struct bag_route {
    weft_comm *comm;
    bag_route_desc desc;
    comm_exchange *keys, *sums, *gradients; /* NULL: not planned yet */
    int64_t columns, samples;               /* that sums and gradients are planned for */
    int64_t sent;                           /* bytes so far, to other ranks */
    /* ---- of the batch ---- */
    int64_t *first;  /* [ranks + 1] the first sample of each rank */
    int64_t *count;  /* [ranks] scratch: elements of a post */
    embed_bags bags; /* of all ranks, with the keys that this rank owns */
    bag_store own;   /* what bags point to */
    float *gradient; /* [samples of all ranks, columns] */
    int64_t gradients_held;
} bag_route;

/* Returns the samples of the rank that has most, at least 1. first: [ranks + 1] the first sample of each rank. */
static inline int64_t bag_route_most_samples(const int64_t *first, int ranks)
{
    int64_t most = 1;
    for (int p = 0; p < ranks; ++p) {
        most = larger(most, first[p + 1] - first[p]);
    }
    return most;
}

/* Free with bag_route_close, also after a failure. Sends nothing. */
weft_status bag_route_open(weft_comm *comm, const bag_route_desc *desc, bag_route *route);
void bag_route_close(bag_route *route);

/*
 * Fills route->bags and route->first.
 * bags     of this rank; or, with samples_of, of all ranks in the order of ranks, the same on each
 * samples_of [ranks] samples of each rank; NULL: bags are of this rank
 * columns  numbers of a sample that will travel; 0: none by this route
 * WEFT_ERR_INTERNAL: more keys than `most`, or samples_of that does not add up to bags. Collective; bags live until
 * the last of the calls.
 */
weft_status bag_route_bags(bag_route *route, const embed_bags *bags, const int64_t *samples_of, int64_t columns);
/* Where the partial sums of a rank's samples go, [samples, columns]; with one rank: NULL, they are the totals. */
float *bag_route_partial(bag_route *route, int rank);
/* [out] total: [samples of this rank, columns] with leading dimension ld. Collective. */
weft_status bag_route_totals(bag_route *route, float *total, int64_t ld);
/* gradient: [samples of this rank, columns], ld. [out] all, all_ld: [samples of all ranks, columns]. Collective. */
weft_status bag_route_gradients(bag_route *route, const float *gradient, int64_t ld, const float **all,
                                int64_t *all_ld);
