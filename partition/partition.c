/* partition/partition.c: run a method of the table and wrap up what every method shares: roots, self-loops, the report.
 */
#include "partition/partition.h"

#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "partition/method.h"
#include "partition/root.h"
#include "partition/split.h"

static weft_status check_options(const partition_options *options)
{
    WEFT_CHECK(options->parts >= 1 && options->parts <= PARTITION_MAX_PARTS, WEFT_ERR_USAGE,
               "--parts %d: must be between 1 and %d", options->parts, PARTITION_MAX_PARTS);
    WEFT_CHECK(options->balance >= 1.0, WEFT_ERR_USAGE, "--balance %g: must be at least 1", options->balance);
    if (partition_method_find(options->method) != NULL) {
        return WEFT_OK;
    }
    char names[256] = "";
    for (int i = 0; partition_method_at(i) != NULL; ++i) {
        size_t used = strlen(names);
        snprintf(names + used, sizeof names - used, "%s%s", i > 0 ? ", " : "", partition_method_at(i)->name);
    }
    return weft_fail(WEFT_ERR_USAGE, "unknown partitioning method \"%s\": choose one of %s", options->method, names);
}

static void follow_roots(const weft_graph *graph, int threads, weft_partition *partition)
{
#pragma omp parallel num_threads(split_threads(graph->edges, threads))
    {
        int t = omp_get_thread_num(), team = omp_get_num_threads();
        int64_t end = split_rows(graph->offset, graph->vertices, t + 1, team);
        for (int64_t v = split_rows(graph->offset, graph->vertices, t, team); v < end; ++v) {
            for (int64_t e = graph->offset[v]; e < graph->offset[v + 1]; ++e) {
                partition->edge_part[e] = partition->root[v];
            }
        }
    }
}

static weft_status compute_parts(const weft_graph *graph, const partition_options *options, int threads,
                                 weft_partition *partition)
{
    const partition_method *method = partition_method_find(options->method);
    partition_job job = {.graph = graph,
                         .options = options,
                         .parts = options->parts,
                         .threads = threads,
                         .memory_limit = options->memory_limit};
    WEFT_TRY(WEFT_NEW(&partition->edge_part, graph->edges, WEFT_MEM_PARTITION));
    WEFT_TRY(WEFT_NEW(&partition->root, graph->vertices, WEFT_MEM_PARTITION));
    WEFT_TRY(method->run(&job, partition));
    if (method->kind == PARTITION_EDGE_CUT) {
        follow_roots(graph, threads, partition);
        return WEFT_OK;
    }
    return partition_choose_roots(graph, threads, partition);
}

weft_status partition_compute(const weft_graph *graph, const partition_options *options, weft_partition *partition,
                              partition_report *report)
{
    double start = clock_seconds();
    *partition = (weft_partition){0};
    WEFT_TRY(check_options(options));
    *partition = (weft_partition){.parts = options->parts,
                                  .method = partition_method_find(options->method)->name,
                                  .vertices = graph->vertices,
                                  .edges = graph->edges};
    weft_status status = WEFT_OK;
    if (options->parts > 1) {
        int threads = options->threads > 0 ? options->threads : omp_get_max_threads();
        WEFT_TRY_GOTO(compute_parts(graph, options, threads, partition), status, done);
    }
    if (report != NULL) {
        double seconds = clock_seconds() - start;
        WEFT_TRY_GOTO(partition_measure(graph, partition, report), status, done);
        report->seconds = seconds;
        report->peak_rss_bytes = clock_peak_rss_bytes();
    }
done:
    if (status != WEFT_OK) {
        partition_destroy(partition);
    }
    return status;
}

void partition_destroy(weft_partition *partition)
{
    weft_free(partition->edge_part);
    weft_free(partition->root);
    *partition = (weft_partition){0};
}
