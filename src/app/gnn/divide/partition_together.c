/* app/gnn/divide/partition_together.c: see app/gnn/divide/partition_together.h. */
#include "app/gnn/divide/partition_together.h"

#include <assert.h>
#include <string.h>

#include "app/setup/comm_setup.h"
#include "base/alloc.h"
#include "base/log.h"
#include "gnn/team_talk.h"
#include "partition/methods/method.h"
#include "partition/partition_team.h"

/* METIS cuts two million edges a second, so ten times as long. */
void partition_extend_patience(const app_context *context, const weft_graph *graph)
{
    static const double edges_per_second = 2e5;
    comm_setup_extend_patience(context, (double)graph->edges / edges_per_second);
}

static bool is_auto(const partition_options *options)
{
    return strcmp(options->method, "auto") == 0;
}

const char *partition_method_together(const partition_options *options)
{
    return is_auto(options) ? "stream" : options->method;
}

weft_status partition_goes_together(const app_context *context, const weft_graph *graph,
                                    const partition_options *options, bool *together)
{
    const bool several = comm_size(context->comm) > 1;
    *together = several && strcmp(options->method, "stream") == 0;
    if (!several || !is_auto(options)) {
        return WEFT_OK;
    }
    *together = comm_rank(context->comm) == 0 && partition_auto_streams(graph, options);
    return comm_bcast(context->comm, 0, together, sizeof *together);
}

/* Rank 0 has everybody's edges, in order, and takes its roots. */
static weft_status gather(weft_comm *comm, const row_team *team, partition_share *share,
                          const partition_options *options, weft_partition *whole)
{
    const weft_graph *graph = team->graph;
    const bool first = team->rank == 0;
    assert(team->size == comm_size(comm) && team->rank == comm_rank(comm));
    int64_t *bytes = NULL;
    uint16_t *edge_part = NULL;
    weft_status status = WEFT_NEW(&bytes, team->size, WEFT_MEM_PARTITION);
    if (status == WEFT_OK && first) {
        status = WEFT_NEW(&edge_part, graph->edges, WEFT_MEM_PARTITION);
    }
    WEFT_TRY_GOTO(comm_agree(comm, status), status, done);
    for (int r = 0; r < team->size; r++) {
        bytes[r] = (graph->offset[team->first[r + 1]] - graph->offset[team->first[r]]) * (int64_t)sizeof *edge_part;
    }
    WEFT_TRY_GOTO(comm_gatherv(comm, 0, share->edge_part, bytes[team->rank], edge_part, bytes), status, done);
    if (first) {
        *whole = (weft_partition){.parts = options->parts,
                                  .method = partition_method_find(options->method)->name,
                                  .vertices = graph->vertices,
                                  .edges = graph->edges,
                                  .edge_part = edge_part,
                                  .root = share->root};
        edge_part = NULL;
        share->root = NULL;
    }
done:
    WEFT_FREE_ALL(edge_part, bytes);
    return status;
}

weft_status partition_together(const app_context *context, const weft_graph *graph, const partition_options *options,
                               weft_partition *whole, partition_report *report)
{
    weft_comm *comm = context->comm;
    const row_team_talk talk = gnn_team_talk(comm);
    partition_options asked = *options;
    row_team team = {0};
    partition_share share = {0};
    weft_status status = WEFT_OK;
    asked.method = partition_method_together(options);
    log_info("partition: %d ranks do it together, with the method %s", comm_size(comm), asked.method);
    if (asked.memory_limit == 0) {
        asked.memory_limit = app_context_memory(context) / (uint64_t)comm_node_size(comm);
    }
    partition_extend_patience(context, graph);
    WEFT_TRY_GOTO(row_team_create(graph, comm_rank(comm), comm_size(comm), &talk, &team), status, done);
    WEFT_TRY_GOTO(partition_compute_team(&team, &asked, &share, report), status, done);
    status = whole != NULL ? gather(comm, &team, &share, &asked, whole) : WEFT_OK;
done:
    partition_share_free(&share);
    row_team_free(&team);
    comm_setup_extend_patience(context, 0.0);
    return status;
}
