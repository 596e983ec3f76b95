/*
 * comm/model/link_probe.h: latency and bandwidth of every pair of ranks, one pair after the other, so that a bad link
 * shows.
 *
 * A figure of a link is the best of a few ping-pongs: 8 bytes for the latency, a long message for the bandwidth, as
 * long as the link moves in a few milliseconds. With more than PAIRS_RANKS ranks, as many of them, evenly spread, stand
 * for all. A rank that does not answer ends the measurement after the communicator's stall time-out, and the message
 * names the pair: WEFT_ERR_STALL.
 */
#pragma once

#include "comm/comm.h"

enum { PAIRS_RANKS = 32 };

typedef struct comm_pair {
    int a, b;                /* ranks, a < b */
    double latency;          /* seconds of a short message one way */
    double bytes_per_second; /* of a long one */
} comm_pair;

/* [out] pair [*count], the same on every rank, ordered by (a, b); freed with weft_free. None with one rank. Collective,
 * while nothing is posted. */
weft_status comm_measure_pairs(weft_comm *comm, comm_pair **pair, int *count);
