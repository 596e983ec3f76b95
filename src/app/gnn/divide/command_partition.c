/*
 * app/gnn/divide/command_partition.c: weft partition: divide a graph store into parts, report their quality, keep the
 * result beside the store. Under mpirun all ranks do so together (partition/partition_team.h).
 */
#include <inttypes.h>
#include <stdio.h>

#include "app/gnn/divide/command_partition.h"
#include "app/gnn/divide/partition_together.h"
#include "app/gnn/divide/rank_weights.h"
#include "app/gnn/options/gnn_options.h"
#include "app/setup/context.h"
#include "base/alloc.h"
#include "base/clock.h"
#include "base/escape.h"
#include "io/json.h"
#include "machine/launcher.h"
#include "partition/methods/method.h"
#include "partition/part_store.h"
#include "partition/partition_store.h"
#include "partition/reorder.h"

enum { KEPT_PARTS_MAX = 16 };

#define KEEPING "keeping the partition (--save off does not): "

partition_options gnn_partition_options(const weft_options *options)
{
    return (partition_options){.method = option_text(options, OPT_METHOD),
                               .parts = (int)option_int(options, OPT_PARTS),
                               .seed = (uint64_t)option_int(options, OPT_PARTITION_SEED),
                               .balance = option_real(options, OPT_BALANCE),
                               .threads = (int)option_int(options, OPT_THREADS)};
}

/* What a user waits for, in seconds; report->seconds of it divide. */
typedef struct partition_times {
    double start; /* of the command, by clock_seconds */
    double keep;  /* writing the partition, cutting and writing its parts */
    bool keeps_parts;
} partition_times;

static void print_json(const weft_graph *graph, const partition_options *options, const partition_report *report,
                       const partition_times *times)
{
    json_writer json = json_begin(stdout, false);
    json_object(&json, NULL);
    json_text(&json, "graph", graph->name);
    json_int(&json, "vertices", graph->vertices);
    json_int(&json, "edges", graph->edges);
    json_text(&json, "method", options->method);
    json_int(&json, "parts", options->parts);
    json_int(&json, "seed", (int64_t)options->seed);
    partition_report_json(&json, report);
    json_real(&json, "keep_seconds", times->keep);
    json_real(&json, "total_seconds", clock_seconds() - times->start);
    json_end(&json);
    json_line_end(&json);
}

static void print_table(const weft_graph *graph, const partition_options *options, const partition_report *report,
                        const partition_times *times)
{
    double n = graph->vertices > 0 ? (double)graph->vertices : 1, e = graph->edges > 0 ? (double)graph->edges : 1;
    printf("graph               %s: %" PRId64 " vertices, %" PRId64 " edges\n", escape_say(graph->name).text,
           graph->vertices, graph->edges);
    printf("method              %s: %s\n", options->method, partition_method_find(options->method)->description);
    printf("parts               %d (seed %" PRIu64 ")\n", options->parts, options->seed);
    printf("replication factor  %.3f\n", report->replication_factor);
    printf("edge balance        %.3f (largest part over %s)\n", report->edge_balance,
           options->share != NULL ? "its share" : "the mean");
    printf("vertex balance      %.3f\n", report->vertex_balance);
    printf("root balance        %.3f\n", report->root_balance);
    printf("rows per layer      %" PRId64 " (%.2f per vertex)\n", report->rows_per_layer,
           (double)report->rows_per_layer / n);
    printf("split vertices      %" PRId64 " (%.1f %%)\n", report->split_vertices,
           100.0 * (double)report->split_vertices / n);
    printf("cut edges           %" PRId64 " (%.1f %%)\n", report->cut_edges, 100.0 * (double)report->cut_edges / e);
    printf("empty parts         %" PRId64 "\n", report->empty_parts);
    printf("time                %.2f s: %.2f s to divide, %.2f s to keep the partition%s\n",
           clock_seconds() - times->start, report->seconds, times->keep,
           times->keeps_parts ? " and its parts as ranks cut them" : "");
    printf("peak memory         %.2f GiB\n", (double)report->peak_rss_bytes / (double)(1 << 30));
}

/*
 * The parts as a training's ranks would cut them, so that its first job starts at once. Of many parts, and of a graph
 * whose vertices are to be ordered first, each is left to its rank.
 */
static bool keeps_parts(const weft_graph *graph, const weft_partition *partition)
{
    return partition->parts > 1 && partition->parts <= KEPT_PARTS_MAX && !graph_prefers_clustering(graph);
}

static weft_status keep(const char *store, const weft_graph *graph, const partition_options *request,
                        const weft_partition *partition, const partition_report *report, partition_times *times)
{
    const double start = clock_seconds();
    weft_status status = partition_save(store, graph, partition, report, request);
    times->keeps_parts = keeps_parts(graph, partition);
    if (status == WEFT_OK && times->keeps_parts) {
        status = part_keep_all(store, graph, request, partition);
    }
    times->keep = clock_seconds() - start;
    return status == WEFT_OK ? status : weft_fail_context(status, KEEPING);
}

static weft_status check_store(const char *store)
{
    char path[FILE_PATH_MAX];
    WEFT_TRY(file_path(path, "%s/partition", store));
    weft_status status = file_check_output(path);
    return status == WEFT_OK ? status : weft_fail_context(status, KEEPING);
}

static void print_result(const weft_options *options, const weft_graph *graph, const partition_options *request,
                         const partition_report *report, const partition_times *times)
{
    if (option_flag(options, OPT_JSON)) {
        print_json(graph, request, report, times);
    } else {
        print_table(graph, request, report, times);
    }
}

static weft_status divide_alone(const weft_options *options)
{
    const char *store = option_argument(options, 0);
    partition_options request = gnn_partition_options(options);
    partition_times times = {.start = clock_seconds()};
    double *share = NULL;
    weft_graph graph = {0};
    weft_partition partition = {0};
    partition_report report = {0};
    weft_status status = WEFT_OK;
    bool kept = option_choice(options, OPT_SAVE) == SAVE_ON;
    WEFT_TRY_GOTO(rank_weights_of_parts(options, request.parts, &share), status, done);
    request.share = share;
    WEFT_TRY_GOTO(graph_open(store, 0, false, &graph), status, done);
    WEFT_TRY_GOTO(graph_validate_once(store, &graph), status, done);
    WEFT_TRY_GOTO(kept ? check_store(store) : WEFT_OK, status, done);
    WEFT_TRY_GOTO(partition_compute(&graph, &request, &partition, &report), status, done);
    if (kept) {
        WEFT_TRY_GOTO(keep(store, &graph, &request, &partition, &report, &times), status, done);
    }
    print_result(options, &graph, &request, &report, &times);
done:
    partition_destroy(&partition);
    graph_close(&graph);
    weft_free(share);
    return status;
}

/* ---- all ranks of a job together --------------------------------------------------------------------------------- */

static weft_status divide_together(const app_context *context)
{
    const weft_options *options = context->options;
    weft_comm *comm = context->comm;
    const char *store = option_argument(options, 0);
    const bool kept = option_choice(options, OPT_SAVE) == SAVE_ON, first = comm_rank(comm) == 0;
    partition_options request = gnn_partition_options(options);
    partition_times times = {.start = clock_seconds()};
    double *share = NULL;
    weft_graph graph = {0};
    weft_partition whole = {0};
    partition_report report = {0};
    weft_status status = WEFT_OK;
    WEFT_TRY_GOTO(comm_agree(comm, rank_weights_of_parts(options, request.parts, &share)), status, done);
    request.share = share;
    WEFT_TRY_GOTO(comm_agree(comm, graph_open(store, 0, false, &graph)), status, done);
    partition_extend_patience(context, &graph);
    status = first ? graph_validate_once(store, &graph) : WEFT_OK;
    status = first && kept && status == WEFT_OK ? check_store(store) : status;
    WEFT_TRY_GOTO(comm_agree(comm, status), status, done);
    WEFT_TRY_GOTO(partition_together(context, &graph, &request, kept ? &whole : NULL, &report), status, done);
    if (kept) {
        partition_extend_patience(context, &graph);
        status = first ? keep(store, &graph, &request, &whole, &report, &times) : WEFT_OK;
        WEFT_TRY_GOTO(comm_agree(comm, status), status, done);
    }
    if (first) {
        partition_options done_with = request;
        done_with.method = partition_method_together(&request);
        print_result(options, &graph, &done_with, &report, &times);
    }
done:
    partition_destroy(&whole);
    graph_close(&graph);
    weft_free(share);
    return status;
}

weft_status gnn_command_partition(const weft_options *options)
{
    app_context context;
    if (launcher_size() <= 1) {
        return divide_alone(options);
    }
    weft_status status = app_context_open(options, &context);
    status = status == WEFT_OK ? divide_together(&context) : status;
    if (status != WEFT_OK) {
        app_context_fail(&context, status);
    }
    app_context_close(&context);
    return status;
}
