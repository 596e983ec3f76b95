/*
 * partition/methods/method_random.c: every undirected pair goes to a part drawn from a hash of its two ids.
 *
 * The baseline: perfectly balanced, or by shares, in expectation, no memory beyond the result, and the most replicas of
 * all. Works for any number of vertices.
 */
#include "base/philox.h"
#include "machine/thread_ranges.h"
#include "partition/methods/method.h"

/* The part whose share of [0, 2^32) the word lies in. */
static uint16_t part_at(const double *share, int parts, uint32_t word)
{
    double left = (double)word * 0x1p-32;
    int part = 0;
    while (part + 1 < parts && left >= share[part]) {
        left -= share[part++];
    }
    return (uint16_t)part;
}

weft_status method_random(const partition_job *job, weft_partition *partition)
{
    const weft_graph *graph = job->graph;
    const uint32_t parts = (uint32_t)job->parts;
    const uint64_t seed = job->options->seed;
    const double *share = job->options->share;
#pragma omp parallel num_threads(split_threads(graph->edges, job->threads))
    OWN_ROWS(v, graph->offset, graph->vertices) {
        for (int64_t e = graph->offset[v]; e < graph->offset[v + 1]; ++e) {
            int64_t u = graph_source(graph, e);
            int64_t low = u < v ? u : v, high = u < v ? v : u;
            /* The larger id takes the place of the epoch word and, above 32 bits, the index word. */
            philox_block counter =
                philox_counter((uint32_t)(high >> 32), (uint64_t)low, WEFT_RNG_PARTITION, (uint32_t)high);
            uint32_t word = philox4x32(counter, seed).word[0];
            const uint16_t part =
                share != NULL ? part_at(share, job->parts, word) : (uint16_t)(((uint64_t)word * parts) >> 32);
            partition->edge_part[e] = u == v ? PARTITION_NO_PART : part;
        }
    }
    return WEFT_OK;
}
