/*
 * app/gnn/data/graph_data.h: from --data and --partition to this rank's part of the graph.
 */
#pragma once

#include "app/gnn/options/gnn_options.h"
#include "app/workload/workload.h"
#include "base/file.h"
#include "partition/part.h"

typedef struct graph_data {
    char store[FILE_PATH_MAX];
    bool derived;   /* made of another store for this job: on every rank */
    bool temporary; /* rank 0: a generated graph, whose store is removed once every rank has loaded it */
    weft_graph graph;
    double *share;           /* [ranks] of the graph that each shall have; NULL: all the same */
    double share_slack;      /* as partition_options has it */
    partition_report report; /* of more than one part; valid on every rank */
    bool partition_was_stored, reordered;
    weft_part part;
} graph_data;

/* --data names a graph to be generated: the same answer on every rank. data->temporary is true on the one that removes
 * its store again. */
bool graph_data_is_generated(const app_context *context);
/* A graph so large that what takes long at the start of a first job is left out or to a later one. */
bool graph_data_is_large(const graph_data *data);
/* Open or generate the graph. `folder` takes what is generated and is made if need be. Collective. */
weft_status graph_data_open(const app_context *context, const char *folder, graph_data *data);
/* What the options, and data->share, say of dividing the graph into so many parts. */
partition_options graph_data_partition_options(const app_context *context, const graph_data *data, int parts);
/* Sets data->share by --rank-weights, for the ranks that graph_data_ranks tells. width: columns that epochs aggregate.
 * Collective. */
weft_status graph_data_weigh(const app_context *context, int64_t width, graph_data *data);
/* This rank's share; of ranks that there are not, the largest. */
double graph_data_share(const app_context *context, const graph_data *data);
/* Whether parts are cut in a vertex order that puts neighbours near each other. */
bool graph_data_wants_clustering(const weft_options *options, const weft_graph *graph);
/* Finds or computes the partition and cuts out this rank's part; an earlier one goes. Collective. */
weft_status graph_data_cut(const app_context *context, const char *folder, graph_data *data);
/* Ranks of the job, or those that a dry run plans for (option dry-ranks). */
int graph_data_ranks(const app_context *context);
/* Returns true if the part that was cut serves these options: its owned vertices stand in the order that they ask for,
 * and its edges have weights where the graph has (data->graph.weight). */
bool graph_data_fits(const app_context *context, const graph_data *data);
/* In place of graph_data_cut for a dry run of other ranks than there are: the sizes of the largest part with the
 * replicas that the option replication says, each of them a source and a destination; no lists. */
void graph_data_assume(const app_context *context, graph_data *data);
/* Unmap the store; remove a generated one. Collective. */
weft_status graph_data_release(const app_context *context, graph_data *data);
/* Also after a failure: nothing generated stays. */
void graph_data_close(graph_data *data);
