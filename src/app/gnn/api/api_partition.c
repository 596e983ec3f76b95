/* app/gnn/api/api_partition.c: see weft/partition.h. The opaque weft_partition is partition/partition.h's. */
#include "weft/partition.h"

#include "app/api/api.h"
#include "app/gnn/divide/command_partition.h"
#include "app/gnn/divide/rank_weights.h"
#include "base/alloc.h"

static weft_partition_report public_report(const partition_report *report)
{
    return (weft_partition_report){.replication_factor = report->replication_factor,
                                   .edge_balance = report->edge_balance,
                                   .vertex_balance = report->vertex_balance,
                                   .root_balance = report->root_balance,
                                   .rows_per_layer = report->rows_per_layer,
                                   .split_vertices = report->split_vertices,
                                   .cut_edges = report->cut_edges,
                                   .empty_parts = report->empty_parts,
                                   .seconds = report->seconds};
}

weft_status weft_partition_compute(const weft_graph *graph, const weft_options *options, weft_partition **partition,
                                   weft_partition_report *report)
{
    weft_partition *made = NULL;
    partition_report quality = {0};
    *partition = NULL;
    WEFT_TRY(api_check_command(options, "partition", "weft_partition_compute"));
    partition_options request = gnn_partition_options(options);
    double *share = NULL;
    WEFT_TRY(rank_weights_of_parts(options, request.parts, &share));
    request.share = share;
    weft_status status = WEFT_NEW_ZERO(&made, 1, WEFT_MEM_PARTITION);
    status = status == WEFT_OK ? partition_compute(graph, &request, made, &quality) : status;
    weft_free(share);
    if (status != WEFT_OK) {
        weft_partition_destroy(made);
        return status;
    }
    if (report != NULL) {
        *report = public_report(&quality);
    }
    *partition = made;
    return WEFT_OK;
}

int weft_partition_parts(const weft_partition *partition)
{
    return partition->parts;
}

const uint16_t *weft_partition_edge_part(const weft_partition *partition)
{
    return partition->edge_part;
}

const uint16_t *weft_partition_root(const weft_partition *partition)
{
    return partition->root;
}

void weft_partition_destroy(weft_partition *partition)
{
    if (partition != NULL) {
        partition_destroy(partition);
        weft_free(partition);
    }
}
