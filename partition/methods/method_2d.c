/*
 * partition/methods/method_2d.c: parts form a grid of R rows and C columns; a pair {u < v} goes to (hash(u) mod R,
 * hash(v) mod C).
 *
 *        C columns            A vertex meets at most one row of the grid (as the smaller id of a pair) and one column
 *     +---+---+---+           (as the larger id), so it has at most R + C - 1 replicas however large its degree, and
 *   R | . | v | . |           exchanges messages with those parts only. R is the largest divisor of K that is not above
 *     | u |u,v| u |           its square root: a prime K gives one row, where a vertex may meet all K parts.
 *     +---+---+---+
 *
 * N. Jain, G. Liao, T. Willke: GraphBuilder: scalable graph ETL framework. GRADES'13, doi:10.1145/2484425.2484429
 * (grid)
 */
#include "base/philox.h"
#include "machine/thread_ranges.h"
#include "partition/methods/method.h"

static uint32_t bucket(uint64_t seed, int64_t id, uint32_t side, uint32_t buckets)
{
    uint32_t word = philox4x32(philox_counter(side, (uint64_t)id, WEFT_RNG_PARTITION, 0), seed).word[0];
    return (uint32_t)(((uint64_t)word * buckets) >> 32);
}

weft_status method_2d(const partition_job *job, weft_partition *partition)
{
    const weft_graph *graph = job->graph;
    const uint64_t seed = job->options->seed;
    int grid_rows = 1;
    for (int r = 1; r * r <= job->parts; ++r) {
        grid_rows = job->parts % r == 0 ? r : grid_rows;
    }
    const uint32_t rows = (uint32_t)grid_rows, columns = (uint32_t)(job->parts / grid_rows);
#pragma omp parallel num_threads(split_threads(graph->edges, job->threads))
    OWN_ROWS(v, graph->offset, graph->vertices) {
        for (int64_t e = graph->offset[v]; e < graph->offset[v + 1]; ++e) {
            int64_t u = graph_source(graph, e);
            int64_t low = u < v ? u : v, high = u < v ? v : u;
            uint32_t part = bucket(seed, low, 0, rows) * columns + bucket(seed, high, 1, columns);
            partition->edge_part[e] = u == v ? PARTITION_NO_PART : (uint16_t)part;
        }
    }
    return WEFT_OK;
}
