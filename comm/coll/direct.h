/*
 * comm/coll/direct.h: reduce-scatter and all-gather by direct exchange, in rank order.
 *
 * `owners` <= size ranks of a group own a slice of the vector each. Everybody sends slice s straight to rank s, which
 * sums ((x0 + x1) + x2) + ... + x(size - 1); the owners send their finished slices to everybody:
 *
 *      3 ranks, 2 owners      slice 0    slice 1
 *      rank 0                 owner      -> 1           1. scatter, all at once; each owner sums in rank order
 *      rank 1                 -> 0       owner
 *      rank 2                 -> 0       -> 1           2. gather, all at once
 *
 * With a wire type (float32 sums, as many owners as ranks) slices travel encoded: the owner decodes and sums in
 * float32, its own part unrounded, encodes the sum once, and every rank, the owner included, decodes the same bits.
 * With u the half unit in the last place of the wire's type relative to the value (bf16: 2^-8 of it, fp16: 2^-11; for
 * values below the type's normal range an absolute 2^-134 or 2^-25) the error of an element is at most
 *
 *      u * (sum of |x_q| over the other ranks) + u * |sum as computed| + the rounding of a float32 sum in rank order
 *
 * NaN stays NaN, infinities stay, and what passes 65504 in fp16 becomes infinity.
 *
 * Cost: 1 round of size - 1 messages each way. Memory: coll_direct_scratch.
 */
#pragma once

#include "comm/coll/coll.h"

typedef struct coll_direct {
    int rank, size, owners;
    char *buffer;
    int64_t count;
    weft_dtype dtype;
    comm_op op;
    comm_wire wire; /* not SAME: owners == size */
} coll_direct;

int64_t coll_direct_scratch(const coll_direct *d);
void coll_direct_reduce_scatter(comm_schedule *s, const coll_direct *d, char *scratch);
void coll_direct_all_gather(comm_schedule *s, const coll_direct *d, char *scratch);
/* Adds what this rank sends, `link` bytes an element, in the halves asked for. */
void coll_direct_sent(comm_cost *cost, const coll_direct *d, comm_half half, int64_t link);

/* The same with a wire type (comm/coll/direct_encoded.c). */
int64_t coll_encoded_scratch(const coll_direct *d);
void coll_encoded_reduce_scatter(comm_schedule *s, const coll_direct *d, char *scratch);
void coll_encoded_all_gather(comm_schedule *s, const coll_direct *d, char *scratch);
