/*
 * machine/stream.h: how fast this machine's memory is read and written by a team of threads.
 *
 *      stream_request request = {.threads = 8, .array_bytes = stream_array_bytes(l3, 1), .thread_node = -1,
 *                                .memory_node = -1};
 *      WEFT_TRY(stream_measure(&request, &rates));
 *
 * Two kernels on float32 arrays larger than the caches: a sum (reads), and McCalpin's triad a = b + s * c, of which
 * three arrays a pass are counted, as his STREAM does (https://www.cs.virginia.edu/stream/). The best of a few passes
 * counts: whatever else the machine does only takes time. About 0.1 s.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/status.h"

typedef struct stream_request {
    int threads;        /* of the team */
    size_t array_bytes; /* of each of the three arrays */
    const int *cpu;     /* [threads] where they are pinned (placement.cpu), NULL: loose */
    int thread_node;    /* only threads whose CPU is of this NUMA node take part; -1: all */
    int memory_node;    /* where the arrays lie; -1: each thread's share where it runs */
} stream_request;

typedef struct stream_rates {
    double read, triad; /* bytes a second; 0 when no thread takes part */
} stream_rates;

/* Four times the last-level cache, at most 192 MiB and a sixteenth of the memory; a share of it for each of the ranks
 * on a node, at least 16 MiB. */
size_t stream_array_bytes(uint64_t l3_bytes, int node_ranks);

/* WEFT_ERR_RESOURCE without memory, or when the arrays may not lie on memory_node. */
weft_status stream_measure(const stream_request *request, stream_rates *rates);

/*
 * Bytes a second that the team reads where each thread reads `set_bytes` of its own over and over: the rate of the
 * level of memory that such sets lie in, and with them whatever else the machine does. row_bytes 0: in order; else rows
 * of so many bytes, whole lines of 64, each once in a random order. threads, cpu and thread_node of the request count.
 * About 10 ms. WEFT_ERR_RESOURCE without memory.
 */
weft_status stream_measure_set(const stream_request *request, size_t set_bytes, size_t row_bytes, double *read);
