/*
 * app/gnn/gnn_memory.h: the memory that a rank of a graph network will need.
 *
 * The peak is the largest of three phases: cutting out the part (graph mapped, local edges copied), building the
 * aggregation matrix (local edges and matrix), training (features, activations, matrix, buffers). The plan counts the
 * same matrices that gnn/layers/layer_plan.h allocates, plus what the process held when it started.
 */
#pragma once

#include "app/workload/memory_plan.h"
#include "gnn/layers/layer_plan.h"
#include "graph/graph.h"

typedef struct gnn_memory_facts {
    const weft_graph *graph;
    const gnn_plan *plan; /* for the rank's local sizes */
    const weft_hal *hal;  /* what the rank computes on; NULL: a host */
    int parts;
    hal_spmm_form form; /* of matrices; AUTO: the form that takes least */
    int64_t edges;      /* local */
    double left;       /* reads that the first pass of a search for shared sums leaves, a local edge; 0: none is made */
    int64_t partial;   /* partial maxima, at most (gnn/edges/shared_edges.h), which the plan counts */
    int64_t halo_rows; /* rows that it sends and receives in a leg */
    bool symmetric;    /* forward and backward share one matrix */
    bool hides;        /* the matrix is in parts that hide the halo (gnn/layers/local_matrix.h) */
    bool keeps;        /* the local edges stay in memory for another model */
    bool least;        /* replicas and second order are not known yet */
    bool smooths;      /* the answers are smoothed along the edges (gnn/smooth.h) */
    uint64_t process;  /* resident before anything was loaded */
    memory_training training;
} gnn_memory_facts;

memory_plan gnn_memory_plan(const gnn_memory_facts *facts);
