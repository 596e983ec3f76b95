/*
 * partition/methods/method_edgecut.c: METIS gives vertices to parts; every edge lies with its destination's root.
 *
 * Parts hold source replicas (the halo) and no partial sums: one message a layer and direction, but more rows than a
 * good vertex-cut on dense graphs. Graphs too small for METIS (fewer than 8 vertices a part) are cut into runs of ids
 * with equal degrees.
 */
#include "base/log.h"
#include "machine/thread_ranges.h"
#include "partition/methods/method.h"
#include "partition/methods/metis_call.h"

enum { FINE = 1 << 20 }; /* steps in which runs of different lengths end */

static int64_t run_begin(const weft_graph *graph, const double *share, int part, int parts)
{
    if (share == NULL) {
        return split_rows(graph->offset, graph->vertices, part, parts);
    }
    const int at = part < parts ? (int)(shares_before(share, parts, part) * FINE) : FINE;
    return split_rows(graph->offset, graph->vertices, at, FINE);
}

static void cut_runs(const weft_graph *graph, const double *share, int parts, uint16_t *root)
{
    for (int p = 0; p < parts; ++p) {
        int64_t end = run_begin(graph, share, p + 1, parts);
        for (int64_t v = run_begin(graph, share, p, parts); v < end; ++v) {
            root[v] = (uint16_t)p;
        }
    }
}

weft_status method_edgecut(const partition_job *job, weft_partition *partition)
{
    if (!metis_takes(job->graph->vertices, job->parts, job->options->share)) {
        log_info("edgecut: %lld vertices are too few for METIS and %d parts: cut into runs of ids",
                 (long long)job->graph->vertices, job->parts);
        cut_runs(job->graph, job->options->share, job->parts, partition->root);
        return WEFT_OK;
    }
    weft_status status = WEFT_OK;
    pair_list list = {0};
    adjacency adjacent = {0};
    WEFT_TRY_GOTO(pair_list_build(job->graph, job->threads, &list), status, done);
    WEFT_TRY_GOTO(adjacency_build(job->graph, &list, job->threads, &adjacent), status, done);
    pair_list_free(&list);
    status = metis_partition(&adjacent, job->parts, job->options->share, job->options->seed, job->threads,
                             job->memory_limit, partition->root);
done:
    adjacency_free(&adjacent);
    pair_list_free(&list);
    return status;
}
