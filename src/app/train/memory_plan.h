/*
 * app/train/memory_plan.h: how much memory a rank will need, before it is taken.
 *
 * The peak is the largest of three phases: cutting out the part (graph mapped, local edges copied), building the
 * aggregation matrix (local edges and matrix), training (features, activations, matrix, buffers). The plan counts the
 * same matrices that gnn/layers/layer_plan.h allocates, plus what the process held when it started.
 */
#ifndef WEFT_APP_TRAIN_MEMORY_PLAN_H
#define WEFT_APP_TRAIN_MEMORY_PLAN_H

#include "app/setup/context.h"
#include "gnn/layers/layer_plan.h"
#include "partition/part.h"

typedef struct memory_plan {
    uint64_t process; /* resident before anything was loaded */
    uint64_t mapped;  /* pages of the graph and its partition, while the part is cut out */
    uint64_t edges;   /* local edges as CSR */
    uint64_t matrix;  /* aggregation matrix, both directions, with its packing buffer */
    uint64_t features, activations, parameters, communication, setup;
    uint64_t training; /* of this phase, without the process */
    uint64_t peak;
} memory_plan;

/* For a rank with these local sizes; halo_rows: replica rows it sends or receives in the larger direction; cut: the
 * matrix is in parts that hide the halo (gnn/layers/local_matrix.h). */
void memory_plan_make(const weft_graph *graph, const gnn_plan *plan, int parts, int64_t local_edges, bool symmetric,
                      int64_t halo_rows, bool cut, uint64_t process, memory_plan *memory);
/* Buffers of the synchronisation mode: they live while the model trains. */
void memory_plan_add_sync(memory_plan *memory, uint64_t bytes);
/* The need of each node against what it has (or --memory-limit): WEFT_ERR_RESOURCE with both figures. Collective. */
weft_status memory_plan_check(const app_context *context, const memory_plan *memory, uint64_t limit);
void memory_plan_print(const memory_plan *memory);

#endif
