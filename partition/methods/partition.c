/* partition/methods/partition.c: run a method of the table and wrap up what every method shares: roots, self-loops,
 * the report.
 */
#include "partition/partition.h"

#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/nearest.h"
#include "base/text/append.h"
#include "machine/placement.h"
#include "machine/thread_ranges.h"
#include "partition/given/given_parts.h"
#include "partition/methods/method.h"
#include "partition/methods/root.h"
#include "partition/partition_options.def"
#include "partition/partition_store.h"

weft_mem_tag WEFT_MEM_PARTITION[1] = {{.text = "partitioning"}};

weft_status partition_check_method(const char *name)
{
    enum { METHODS_MAX = 16 };
    const char *names[METHODS_MAX];
    char list[256] = "";
    int count = 0;
    if (given_is_file(name)) {
        char key[33];
        return given_parts_identity(name, key);
    }
    if (partition_method_find(name) != NULL) {
        return WEFT_OK;
    }
    for (; count < METHODS_MAX && partition_method_at(count) != NULL; ++count) {
        names[count] = partition_method_at(count)->name;
        text_append_item(list, sizeof list, "%s", names[count]);
    }
    const char *nearest = nearest_word(name, names, count);
    return nearest != NULL
               ? weft_fail(WEFT_ERR_USAGE, "unknown partitioning method \"%s\": did you mean %s?", name, nearest)
               : weft_fail(WEFT_ERR_USAGE, "unknown partitioning method \"%s\": choose one of %s", name, list);
}

weft_status partition_check_shares(const char *method)
{
    char list[256] = "";
    for (int i = 0; partition_method_at(i) != NULL; ++i) {
        if (partition_method_at(i)->shares) {
            text_append_item(list, sizeof list, "%s", partition_method_at(i)->name);
        }
    }
    const partition_method *found = partition_method_find(method);
    WEFT_CHECK(found == NULL || found->shares, WEFT_ERR_USAGE,
               "the partitioning method %s does not make parts of different sizes: leave out " FLAG_RANK_WEIGHTS
               ", or take one of %s",
               found->name, list);
    return WEFT_OK;
}

static weft_status check_shares(const partition_options *options)
{
    double sum = 0.0;
    for (int p = 0; p < options->parts; ++p) {
        WEFT_CHECK(options->share[p] > 0.0, WEFT_ERR_USAGE, "part %d has a share of %g: it must be above 0", p,
                   options->share[p]);
        sum += options->share[p];
    }
    WEFT_CHECK(fabs(sum - 1.0) < 1e-6, WEFT_ERR_USAGE, "the shares of %d parts add up to %g, not 1", options->parts,
               sum);
    return partition_check_shares(options->method);
}

static weft_status check_options(const partition_options *options)
{
    WEFT_CHECK(options->parts >= 1 && options->parts <= PARTITION_MAX_PARTS, WEFT_ERR_USAGE,
               FLAG_PARTS " %d: must be between 1 and %d", options->parts, PARTITION_MAX_PARTS);
    WEFT_CHECK(options->balance >= 1.0, WEFT_ERR_USAGE, FLAG_BALANCE " %g: must be at least 1", options->balance);
    WEFT_TRY(partition_check_method(options->method));
    return options->share != NULL ? check_shares(options) : WEFT_OK;
}

weft_status partition_check_rows(const weft_graph *graph, int64_t begin, int64_t end, int threads)
{
    int64_t n = graph->vertices, bad_row = -1, bad_edge = -1;
    WEFT_CHECK(graph->offset[0] == 0 && graph->offset[n] == graph->edges, WEFT_ERR_DATA,
               "%s: offsets run from %lld to %lld, expected 0 to %lld", graph->name, (long long)graph->offset[0],
               (long long)graph->offset[n], (long long)graph->edges);
#pragma omp parallel for schedule(static) num_threads(split_threads(end - begin, threads)) reduction(max : bad_row)
    for (int64_t v = begin; v < end; ++v) {
        bad_row = graph->offset[v] > graph->offset[v + 1] ? v : bad_row;
    }
    WEFT_CHECK(bad_row < 0, WEFT_ERR_DATA, "%s: offset of row %lld is %lld, the next is %lld: must not descend",
               graph->name, (long long)bad_row, (long long)graph->offset[bad_row],
               (long long)graph->offset[bad_row + 1]);
    const int64_t first = graph->offset[begin], last = graph->offset[end];
    WEFT_CHECK(first >= 0 && last <= graph->edges, WEFT_ERR_DATA,
               "%s: edges of rows %lld to %lld are %lld to %lld, of %lld: an offset outside these rows descends",
               graph->name, (long long)begin, (long long)end - 1, (long long)first, (long long)last - 1,
               (long long)graph->edges);
#pragma omp parallel for schedule(static) num_threads(split_threads(last - first, threads)) reduction(max : bad_edge)
    for (int64_t e = first; e < last; ++e) {
        int64_t u = graph_source(graph, e);
        bad_edge = u < 0 || u >= n ? e : bad_edge;
    }
    WEFT_CHECK(bad_edge < 0, WEFT_ERR_DATA, "%s: source of edge %lld is %lld: must be between 0 and %lld", graph->name,
               (long long)bad_edge, (long long)graph_source(graph, bad_edge), (long long)(n - 1));
    return WEFT_OK;
}

/* Bytes left for a partitioner: the limit less what this process holds, or what the machine has free. */
static uint64_t memory_left(const partition_options *options)
{
    uint64_t held = clock_rss_bytes();
    if (options->memory_limit == 0) {
        return placement_memory_available();
    }
    return options->memory_limit > held ? options->memory_limit - held : 1;
}

bool partition_auto_streams(const weft_graph *graph, const partition_options *options)
{
    const partition_job job = {
        .graph = graph, .options = options, .parts = options->parts, .memory_limit = memory_left(options)};
    return method_auto_streams(&job);
}

/* The largest resident set so far, of this process or of a child that METIS ran in (which starts as our copy). */
static uint64_t peak_bytes(void)
{
    struct rusage children;
    uint64_t own = clock_peak_rss_bytes();
    if (getrusage(RUSAGE_CHILDREN, &children) != 0) {
        return own;
    }
    uint64_t child = (uint64_t)children.ru_maxrss * 1024;
    return child > own ? child : own;
}

static void follow_roots(const weft_graph *graph, int threads, weft_partition *partition)
{
#pragma omp parallel num_threads(split_threads(graph->edges, threads))
    OWN_ROWS(v, graph->offset, graph->vertices) {
        for (int64_t e = graph->offset[v]; e < graph->offset[v + 1]; ++e) {
            assert(partition->root[v] < partition->parts);
            partition->edge_part[e] = partition->root[v];
        }
    }
}

static weft_status choose_roots(const weft_graph *graph, const double *share, int threads, weft_partition *partition)
{
    const row_team alone = row_team_alone(graph);
    uint64_t *held = NULL;
    replica_table table;
    WEFT_TRY(replica_marks(graph, partition->edge_part, partition->parts, threads, &held));
    WEFT_TRY(replica_table_build(&alone, partition->edge_part, partition->parts, held, false, threads, &table));
    weft_status status =
        partition_choose_roots(&table, partition->parts, share, threads, partition->edge_part, partition->root);
    replica_table_free(&table);
    return status;
}

static weft_status compute_parts(const weft_graph *graph, const partition_options *options, int threads,
                                 weft_partition *partition)
{
    const partition_method *method = partition_method_find(options->method);
    partition_kind made = method->kind;
    partition_job job = {.graph = graph,
                         .options = options,
                         .parts = options->parts,
                         .threads = threads,
                         .memory_limit = memory_left(options),
                         .made = &made};
    WEFT_TRY(partition_check_rows(graph, 0, graph->vertices, threads));
    WEFT_TRY(WEFT_NEW(&partition->edge_part, graph->edges, WEFT_MEM_PARTITION));
    WEFT_TRY(WEFT_NEW(&partition->root, graph->vertices, WEFT_MEM_PARTITION));
    WEFT_TRY(method->run(&job, partition));
    partition->edge_cut = made == PARTITION_EDGE_CUT;
    if (partition->edge_cut && options->by_roots) {
        weft_free(partition->edge_part);
        partition->edge_part = NULL;
        return WEFT_OK;
    }
    if (partition->edge_cut) {
        follow_roots(graph, threads, partition);
        return WEFT_OK;
    }
    return choose_roots(graph, options->share, threads, partition);
}

weft_status partition_compute(const weft_graph *graph, const partition_options *asked, weft_partition *partition,
                              partition_report *report)
{
    double start = clock_seconds();
    partition_options plain = *asked;
    const partition_options *options = &plain;
    *partition = (weft_partition){0};
    WEFT_TRY(check_options(asked));
    plain.share = shares_unequal(asked->share, asked->parts);
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
        WEFT_TRY_GOTO(partition_measure(graph, partition, options->share, report), status, done);
        report->seconds = seconds;
        report->peak_rss_bytes = peak_bytes();
        if (report->edge_balance > options->balance && graph->edges > 64 * (int64_t)options->parts) {
            log_info("partition %s: the largest part has %.2f times %s number of edges (" FLAG_BALANCE
                     " %g); metis keeps the balance",
                     partition->method, report->edge_balance, options->share != NULL ? "its" : "the mean",
                     options->balance);
        }
    }
done:
    if (status != WEFT_OK) {
        partition_destroy(partition);
    }
    return status;
}

void partition_destroy(weft_partition *partition)
{
    if (partition->mapping != NULL) {
        partition_unmap(partition);
    } else {
        WEFT_FREE_ALL(partition->edge_part, partition->root);
    }
    *partition = (weft_partition){0};
}
