/*
 * app/gnn/scaling/scaling.h: seconds that an epoch of a graph network would take on many sockets: types and functions
 * that the files of `weft predict-scaling` share.
 *
 * One rank a socket. An epoch lasts as long as its busiest part, the one with most edges:
 *
 *     aggregate     edges x columns aggregated (gnn_layer_plan) x seconds of an edge and column   measured on that part
 *     linear        rows computed x seconds of a row in the layers' products                      measured
 *     elementwise   bytes of activations that pass through memory, and the optimiser's            triad
 *     halo          rows that cross x bytes of a row (gnn_plan_halo_bytes)                        comm/core/cost.h
 *                   packed and unpacked in memory                                                 triad
 *     all-reduce    the algorithm that a job would choose for these gradients                     comm/coll/coll.h
 *
 * The graph is divided as training divides it, for as many sockets as is bearable; beyond them rows that cross grow by
 * the power law through the last two numbers of parts, edges and rows of a part keep their balance, and an edge costs
 * as much as on the last measured part. Messages are predicted by the model that chooses algorithms.
 */
#pragma once

#include "comm/core/cost.h"
#include "gnn/layers/layer_plan.h"
#include "hal/hal.h"
#include "partition/part.h"

/* The busiest of `parts` parts. */
typedef struct scaling_part {
    int64_t parts;
    bool measured;      /* false: extrapolated */
    double rows, edges; /* rows that the part computes; edges that it aggregates along */
    /* The larger of rows sent and rows received by the part, on all legs of one direction of a layer. */
    double halo_rows;
    double peers; /* parts that share rows with this part */
    int legs;     /* exchanges in a direction: 2; 1 if no sums return (an edge-cut); 0 if there is one part */
    double replication;
    double edge_seconds[GNN_MAX_LAYERS]; /* of an edge and column at the layer's width; 0: it aggregates nothing */
} scaling_part;

/* One socket, and what lies between sockets. */
typedef struct scaling_machine {
    double row_seconds[GNN_MAX_LAYERS]; /* of a row in the products of a layer, forward and backward */
    double byte_seconds;                /* of a byte through memory */
    double aggregate_speed;             /* of the socket over this machine's */
    double bus_seconds;    /* of a byte between a device and its host, through which messages go; 0: none */
    double launch_seconds; /* of a layer's operations to be called, forward and backward */
    comm_model model;
    int node_sockets;         /* that share a node and its network link */
    comm_algorithm allreduce; /* the algorithm that was asked for; AUTO, or one that these nodes lack: chosen */
    comm_wire wire;
} scaling_machine;

typedef struct scaling_epoch {
    double aggregate, linear, elementwise, halo, allreduce; /* seconds */
    double total;                                           /* no message hides behind computation */
    double least;                                           /* every message does */
    double launch;                                          /* of the total: operations to be called */
    double halo_bytes;                                      /* that the part sends */
} scaling_epoch;

/* Extrapolates the busiest of `parts` parts from measured[count], which ascend in `parts`; count >= 1. From a single
 * point the halo grows in proportion to the number of parts. */
scaling_part scaling_extrapolate(const scaling_part *measured, int count, int64_t parts, int64_t vertices);

/* plan: for the sizes of layers; its rows are not read. WEFT_ERR_RESOURCE: no memory for a table of the sockets. */
weft_status scaling_predict(const scaling_machine *machine, const gnn_plan *plan, const gnn_halo_options *halo,
                            const scaling_part *part, scaling_epoch *epoch);

/* Counts of a part as scaling_part tells them: all but measured times. */
scaling_part scaling_part_of(const weft_part *part, double replication);

/* Seconds of an edge and column in the products of this part, by layer: the best of a few, in this form. */
weft_status scaling_measure_edges(weft_hal *hal, const weft_part *part, const gnn_plan *plan, hal_spmm_form form,
                                  double *seconds);
/* [out] in, out  columns of the two sides of a layer's product. */
void scaling_product_shape(const gnn_layer_plan *layer, int64_t *in, int64_t *out);
/* Seconds of a row in the products of each layer, by layer: dense ones, and of the graph's own features where the plan
 * holds these sparse. Rows are sampled where the graph has many. */
weft_status scaling_measure_rows(weft_hal *hal, const weft_graph *graph, const gnn_plan *plan, double *seconds);
