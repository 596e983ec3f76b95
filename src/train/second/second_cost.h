/*
 * train/second/second_cost.h: bytes and seconds of a second-order method on many ranks, from shapes alone.
 *
 *      look        each rank multiplies its rows of the sample
 *      inversion   the busiest rank's inversions (train/second/second_place.h)
 *      turn        the products of the layers that a rank turns
 *      messages    sums of triangles over ranks, broadcasts of inverses, broadcasts of directions
 *
 * Work is divided by rates that are measured on this machine in some 50 ms; messages are predicted by the model of
 * comm/core/cost.h. What hides behind other work is not taken off, so the sum is an upper bound. A step costs
 *
 *      look / factors + inversion / interval + turn + messages  --precondition-factors, --precondition-interval
 *
 * Bytes are exact: they are counted by the code that allocates them. Scratch memory of the backend's sums and
 * factorisations comes on top, as the backend tells it.
 */
#pragma once

#include "comm/core/cost.h"
#include "train/second/second.h"

/* Sides n of square matrices whose factorisations are timed: 72, 144, 288, 576. Larger matrices run at the rate of 576
 * within a fifth. They are no powers of two, because rows of such lengths share few lines of a cache. */
enum { SECOND_RATED = 4, SECOND_RATED_FIRST = 72 };

typedef struct second_rates {
    double product; /* operations a second in large products */
    double gram;    /* operations a second in sums of products of rows */
    /* n^3 a second, for n = 72, 144, ... */
    double cholesky[SECOND_RATED], eigen[SECOND_RATED];
    double memory; /* bytes a second that pass through memory in operations by element */
    double call;   /* seconds of an operation on a small matrix */
} second_rates;

/* Rates of this rank's backend, while other ranks measure theirs. Work of a host is timed by the processor's clock of
 * the calling thread, so that rates are those of a rank that has its cores to itself. */
weft_status second_rates_measure(weft_hal *hal, second_rates *rates);

/* The ranks of a job. */
typedef struct second_ranks {
    int rank, ranks;
    int nodes;          /* over which the ranks are spread evenly, in their order */
    int64_t population; /* rows with ids over all ranks; 0: rows have none */
    int64_t rows;       /* rows of a step over all ranks, if population is 0 */
} second_ranks;

typedef struct second_price {
    double look, inversion, turn; /* seconds of the busiest rank's work, when it happens */
    double messages;              /* seconds of messages in a step, the mean over the schedule */
    double step;                  /* seconds of a step, the mean over the schedule */
    uint64_t bytes;               /* second_bytes of the largest rank */
} second_price;

/* Memory that a rank takes for a while, beside second_bytes. */
typedef struct second_beside {
    /* Bytes of one sum of products and one factorisation, or on a device of sampled rows while ranks gather them. */
    uint64_t scratch;
    /* Bytes of the copies that a checkpoint is written from, on rank 0. */
    uint64_t checkpoint;
} second_beside;

/* Returns in *bytes what second_bytes will return on this rank. [out] beside: NULL if it is not wanted. outline:
 * parameters and maps of the model; its store needs no memory yet. options->place is not AUTO. hal: the backend; NULL:
 * a host, if `beside` is NULL. Local. */
weft_status second_plan_bytes(const train_model *outline, const second_options *options, const second_ranks *job,
                              weft_hal *hal, uint64_t *bytes, second_beside *beside);
/* [out] Operations of inversions and turned gradients of all layers, in a step on average. Local. */
weft_status second_flops_of(const train_model *outline, const second_options *options, const second_ranks *job,
                            double *flops);
/* Price of input or kfac. Local. */
weft_status second_price_of(const train_model *outline, const second_options *options, const second_ranks *job,
                            const second_rates *rates, const comm_model *network, second_price *price);
