/*
 * partition/methods/method_stream.c: the vertex-cut for graphs that the others cannot hold.
 *
 * Edges are read as they lie, a few times, in order (edge_stream.h): no list of pairs, no METIS, counts of 64 bits, any
 * number of vertices and parts. Beside the result it takes edge_stream_memory bytes, and says so before where they are
 * not there. Balanced are edges, and vertices by preference. The result depends on no seed.
 */
#include "partition/methods/method.h"
#include "partition/partition_options.def"
#include "partition/stream/edge_stream.h"

weft_status method_stream(const partition_job *job, weft_partition *partition)
{
    const row_team alone = row_team_alone(job->graph);
    const uint64_t need = edge_stream_memory(&alone, job->parts);
    WEFT_CHECK(job->memory_limit == 0 || need <= job->memory_limit, WEFT_ERR_RESOURCE,
               "partitioning %lld vertices needs %.2f GiB, %.2f GiB are left: use " FLAG_METHOD
               " random, or a machine with more memory",
               (long long)job->graph->vertices, (double)need / (double)(1 << 30),
               (double)job->memory_limit / (double)(1 << 30));
    const edge_stream_options options = {.parts = job->parts,
                                         .share = job->options->share,
                                         .threads = job->threads,
                                         .balance = partition_pair_balance(job->options)};
    return edge_stream_assign(&alone, &options, partition->edge_part, NULL, NULL);
}
