/*
 * partition/methods/partition_team.c: see partition/partition_team.h.
 *
 * The steps of partition_compute with method stream (method_stream.c, root.h), and the figures of partition_measure, of
 * which each rank adds what its rows and their vertices tell.
 */
#include "partition/partition_team.h"

#include <string.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "machine/placement.h"
#include "partition/methods/method.h"
#include "partition/methods/root.h"
#include "partition/partition_options.def"
#include "partition/stream/edge_stream.h"

/* ---- figures ----------------------------------------------------------------------------------------------------- */

enum { REPLICAS, SPLIT, CUT, SUMS };

typedef struct figures {
    int64_t *held, *edges, *roots; /* [parts] vertices held, edges, roots of each part */
    int64_t *sums;                 /* [SUMS] */
} figures;

/* seen [parts]: scratch. */
static void measure_vertices(const replica_table *table, const uint16_t *root, int *seen, const figures *add)
{
    const row_team *team = table->team;
    for (int64_t v = team->begin; v < team->end; ++v) {
        const int count = replica_parts(table, v, seen);
        const int64_t at = replica_at(table, v);
        int copies = 1;
        ++add->roots[root[v]];
        ++add->held[root[v]];
        for (int i = 0; i < count; ++i) {
            if (seen[i] == root[v]) {
                continue;
            }
            const int32_t all = table->edges[at + i], leaving = table->leaving != NULL ? table->leaving[at + i] : -1;
            add->sums[REPLICAS] +=
                (leaving != 0 ? 1 : 0) + (leaving != all ? 1 : 0); /* as a source, as a destination */
            ++add->held[seen[i]];
            ++copies;
        }
        add->sums[SPLIT] += copies > 1 ? 1 : 0;
    }
}

static void measure_edges(const row_team *team, const partition_share *share, const figures *add)
{
    const weft_graph *graph = team->graph;
    const int64_t first = graph->offset[team->begin];
    for (int64_t v = team->begin; v < team->end; ++v) {
        for (int64_t e = graph->offset[v]; e < graph->offset[v + 1]; ++e) {
            ++add->edges[share->edge_part[e - first]];
            add->sums[CUT] += share->root[graph_source(graph, e)] != share->root[v] ? 1 : 0;
        }
    }
}

static weft_status measure(const replica_table *table, const partition_options *options, const partition_share *share,
                           partition_report *report)
{
    const int parts = options->parts;
    const row_team *team = table->team;
    const double n = (double)team->graph->vertices;
    int64_t *all = NULL, all_held = 0;
    int *seen = NULL;
    weft_status status = WEFT_NEW_ZERO(&all, 3 * parts + SUMS, WEFT_MEM_PARTITION);
    status = status == WEFT_OK ? WEFT_NEW(&seen, parts, WEFT_MEM_PARTITION) : status;
    WEFT_TRY_GOTO(row_team_agree(team, status), status, done);
    const figures sum = {.held = all, .edges = all + parts, .roots = all + 2 * parts, .sums = all + 3 * parts};
    measure_vertices(table, share->root, seen, &sum);
    measure_edges(team, share, &sum);
    WEFT_TRY_GOTO(row_team_sum(team, all, 3 * (int64_t)parts + SUMS), status, done);
    *report = (partition_report){
        .rows_per_layer = sum.sums[REPLICAS], .split_vertices = sum.sums[SPLIT], .cut_edges = sum.sums[CUT]};
    for (int p = 0; p < parts; ++p) {
        all_held += sum.held[p];
        report->empty_parts += sum.held[p] == 0 ? 1 : 0;
    }
    report->replication_factor = n > 0 ? (double)all_held / n : 1.0;
    report->edge_balance = partition_balance_of(sum.edges, parts, options->share, (double)team->graph->edges);
    report->root_balance = partition_balance_of(sum.roots, parts, options->share, n);
    report->vertex_balance = partition_balance_of(sum.held, parts, options->share, (double)all_held);
done:
    WEFT_FREE_ALL(seen, all);
    return status;
}

/* ---- all --------------------------------------------------------------------------------------------------------- */

static weft_status check(const row_team *team, const partition_options *options)
{
    const weft_graph *graph = team->graph;
    WEFT_CHECK(strcmp(options->method, "stream") == 0, WEFT_ERR_USAGE,
               FLAG_METHOD " %s divides a graph as one process: start it without mpirun, or use " FLAG_METHOD " stream",
               options->method);
    WEFT_CHECK(options->parts >= 2 && options->parts <= PARTITION_MAX_PARTS, WEFT_ERR_USAGE,
               FLAG_PARTS " %d: must be between 2 and %d", options->parts, PARTITION_MAX_PARTS);
    WEFT_CHECK(options->balance >= 1.0, WEFT_ERR_USAGE, FLAG_BALANCE " %g: must be at least 1", options->balance);
    WEFT_TRY(partition_check_rows(graph, team->begin, team->end, 1));
    const uint64_t need = edge_stream_memory(team, options->parts);
    const uint64_t left = options->memory_limit > 0 ? options->memory_limit : placement_memory_available();
    WEFT_CHECK(
        left == 0 || need <= left, WEFT_ERR_RESOURCE,
        "partitioning %lld vertices needs %.2f GiB a rank, %.2f GiB are left: use fewer ranks a node, or " FLAG_METHOD
        " random on one",
        (long long)graph->vertices, (double)need / (double)(1 << 30), (double)left / (double)(1 << 30));
    return WEFT_OK;
}

void partition_share_free(partition_share *share)
{
    WEFT_FREE_ALL(share->edge_part, share->root);
    *share = (partition_share){0};
}

weft_status partition_compute_team(const row_team *team, const partition_options *asked, partition_share *share,
                                   partition_report *report)
{
    const weft_graph *graph = team->graph;
    partition_options plain = *asked;
    const partition_options *options = &plain;
    plain.share = shares_unequal(asked->share, asked->parts);
    const int parts = options->parts, threads = 1; /* ranks share the cores */
    const double start = clock_seconds();
    uint64_t *held = NULL;
    replica_table table = {0};
    *share = (partition_share){0};
    WEFT_TRY(row_team_agree(team, check(team, options)));
    weft_status status =
        WEFT_NEW(&share->edge_part, graph->offset[team->end] - graph->offset[team->begin], WEFT_MEM_PARTITION);
    status = status == WEFT_OK ? WEFT_NEW(&share->root, graph->vertices, WEFT_MEM_PARTITION) : status;
    WEFT_TRY(row_team_agree(team, status));
    const edge_stream_options stream = {
        .parts = parts, .share = options->share, .threads = 1, .balance = partition_pair_balance(options)};
    WEFT_TRY(edge_stream_assign(team, &stream, share->edge_part, &held, NULL));
    WEFT_TRY(replica_table_build(team, share->edge_part, parts, held, true, threads, &table));
    WEFT_TRY_GOTO(partition_choose_roots(&table, parts, options->share, threads, share->edge_part, share->root), status,
                  done);
    const double seconds = clock_seconds() - start;
    WEFT_TRY_GOTO(measure(&table, options, share, report), status, done);
    report->seconds = seconds;
    report->peak_rss_bytes = clock_peak_rss_bytes();
done:
    replica_table_free(&table);
    return status;
}
