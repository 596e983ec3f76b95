/*
 * embed/exchange/split_route.h: the way of sums whose columns belong to ranks: from the rank that has the columns to
 * the rank that has the sample, and of their gradients back.
 *
 *     rank p holds columns [first(p), first(p + 1)) of a row of `whole` numbers, and of each sample
 *     fields * (first(p + 1) - first(p)) sums, with `squares` one more: its part of a sum over all columns
 *
 * Nothing is padded: a sample's numbers travel once each way, those of squares to and from every rank.
 */
#pragma once

#include "comm/exchange.h"

typedef struct split_route {
    weft_comm *comm;
    int fields, whole;
    bool squares;
    comm_exchange *sums, *back; /* of sums, and of gradients; NULL: not planned yet */
    int64_t samples;            /* of any rank, that they are planned for */
    int64_t sent;               /* bytes so far, to other ranks */
    const int64_t *first;       /* [ranks + 1] the first sample of each rank */
    int64_t *count;             /* [ranks] scratch */
    float *gradient;            /* [samples of all ranks, columns of this rank] */
    int64_t gradients;          /* that `gradient` has room for */
} split_route;

/* The first column of a rank; of `ranks`: behind the last. */
static inline int split_route_first(int whole, int rank, int ranks)
{
    return (int)((int64_t)whole * rank / ranks);
}

void split_route_close(split_route *route);
/* A batch: first [ranks + 1], the first sample of each rank, until the last call. comm, fields, whole and squares of
 * the route are set. Collective. */
weft_status split_route_begin(split_route *route, const int64_t *first);
/* Numbers of a sample that a rank sums. */
int64_t split_route_columns(const split_route *route, int rank);
/* Where this rank's sums of a rank's samples go: [samples, columns of this rank]. */
float *split_route_part(split_route *route, int rank);
/* [out] total: [samples of this rank, fields * whole + squares], leading dimension ld. Collective. */
weft_status split_route_totals(split_route *route, float *total, int64_t ld);
/* gradient: of totals. [out] all: [samples of all ranks, columns of this rank]. Collective. */
weft_status split_route_gradients(split_route *route, const float *gradient, int64_t ld, const float **all);
