/*
 * comm/core/cost.h: what communication costs on this machine, and what an operation takes by that.
 *
 * An algorithm states its work on the critical path as counts (comm_cost); the model holds what each unit costs
 * (comm_model). The prediction is their product. Algorithms, sync modes and `--sync auto` are chosen by it, where the
 * very operation was not timed (comm/core/timings.h), and `weft bench comm` prints it beside what was measured.
 *
 *      seconds = inter.rounds * inter.latency + inter.bytes * inter.seconds_per_byte
 *              + intra.rounds * intra.latency + intra.bytes * intra.seconds_per_byte
 *              + shared.syncs * sync + shared.bytes * shared_per_byte + reduced * reduce_per_byte
 *              + selected * select_per_element + ...
 *
 * R. Thakur, R. Rabenseifner, W. Gropp: Optimization of collective communication operations in MPICH. IJHPCA 19(1),
 * 2005, doi:10.1177/1094342005051521 (the alpha-beta-gamma model).
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "comm/comm.h"
#include "comm/core/timings.h"

typedef struct comm_cost {
    int64_t bytes_sent, messages_sent;  /* by this rank, exact, messages uncut */
    int64_t inter_rounds, inter_bytes;  /* messages in a row between nodes; bytes through one node's network link */
    int64_t inter_paired;               /* those of inter_bytes between ranks that send to each other at once */
    int64_t intra_rounds, intra_bytes;  /* messages in a row inside a node; bytes of one rank */
    int64_t shared_syncs, shared_bytes; /* meetings in shared memory; bytes that one rank reads and writes there */
    int64_t reduced;                    /* bytes of operands that one rank reduces */
    int64_t selected;                   /* elements that one rank selects from */
    int64_t scattered;                  /* sparse elements that one rank adds into a dense vector */
} comm_cost;

typedef struct comm_link {
    double latency;          /* seconds of an empty message */
    double seconds_per_byte; /* of a long one */
} comm_link;

typedef struct comm_model {
    comm_link inter, intra;
    double paired_per_byte;    /* what a byte between nodes costs more when its receiver sends to its sender at once:
                                  both directions share a connection */
    double sync;               /* seconds of a meeting of a node's ranks in shared memory */
    double shared_per_byte;    /* read or written there, all ranks of the node at once */
    double reduce_per_byte;    /* of operands of a local reduction */
    double select_per_element; /* exact top-k selection */
    double scatter_per_element;
    double others;      /* CPUs' worth that other programs had while this was measured; 0: nobody, or unknown */
    bool measured;      /* false: the constants of a 10 Gbit/s network, fixed */
    comm_timings timed; /* all-reduces inside a node; asked before anything is predicted */
} comm_model;

/* The fixed constants. */
comm_model comm_model_default(void);
double comm_model_seconds(const comm_model *model, const comm_cost *cost);

/* The work of a planned all-reduce on this rank. */
comm_cost comm_plan_cost(const comm_plan *plan);

/* The communicator's model: the default, until one is set (on all ranks alike). Split communicators inherit it. */
const comm_model *comm_get_model(const weft_comm *comm);
void comm_set_model(weft_comm *comm, const comm_model *model);
