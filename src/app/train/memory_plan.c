/* app/train/memory_plan.c: see app/train/memory_plan.h. */
#include "app/train/memory_plan.h"

#include <stdio.h>
#include <string.h>

#include "base/log.h"

/* Library code, thread stacks and generated kernels that become resident with the first epoch; measured on graphs of a
 * few hundred vertices. */
#define LAZY_BYTES ((uint64_t)4 << 20)

/* The aggregation matrix holds 2 bytes an edge in its block forms and 4 in its row form, plus row pointers; see
 * hal_spmm_form. Rows that meet many edges go to blocks. */
static uint64_t matrix_bytes(int64_t rows, int64_t edges)
{
    double a_row = rows > 0 ? (double)edges / (double)rows : 0.0;
    uint64_t pointers = 8 * (uint64_t)rows;
    if (a_row > 64.0) {
        uint64_t blocks = (uint64_t)rows / 16384 + 1;
        return 2 * (uint64_t)edges + 4 * (uint64_t)rows * blocks;
    }
    return 4 * (uint64_t)edges + pointers;
}

static uint64_t max3(uint64_t a, uint64_t b, uint64_t c)
{
    uint64_t ab = a > b ? a : b;
    return ab > c ? ab : c;
}

void memory_plan_make(const weft_graph *graph, const gnn_plan *plan, int parts, int64_t local_edges, bool symmetric,
                      int64_t halo_rows, bool cut, uint64_t process, memory_plan *memory)
{
    memset(memory, 0, sizeof *memory);
    uint64_t id_bytes = graph->source64 != NULL ? 8 : 4;
    uint64_t e = (uint64_t)graph->edges;
    uint64_t n = (uint64_t)graph->vertices;
    uint64_t local = (uint64_t)plan->n_local;
    bool uses_graph = plan->config.kind != GNN_MLP;
    memory->process = process + LAZY_BYTES;
    memory->mapped = e * id_bytes + n * 8 + (parts > 1 ? 2 * e + 2 * n : 0);
    memory->edges = (uint64_t)local_edges * 4 + local * 16;
    memory->matrix =
        uses_graph ? matrix_bytes(plan->n_local, local_edges) * (symmetric ? 1 : 2) + local * 128 * (cut ? 2 : 1) : 0;
    memory->features = plan->feature_bytes;
    memory->activations = plan->activation_bytes;
    memory->parameters = plan->parameter_bytes;
    memory->communication = 2 * (uint64_t)halo_rows * (uint64_t)plan->max_width * 4;
    memory->setup = plan->setup_bytes;
    uint64_t cutting = memory->mapped + memory->edges;
    uint64_t building = memory->edges + memory->matrix + (cut ? (uint64_t)local_edges * 4 : 0); /* a copy of a part */
    memory->training = memory->matrix + memory->features + memory->activations + memory->parameters +
                       memory->communication + memory->setup + local * 24;
    memory->peak = memory->process + max3(cutting, building, memory->training);
}

void memory_plan_add_sync(memory_plan *memory, uint64_t bytes)
{
    memory->communication += bytes;
    memory->training += bytes;
    uint64_t training = memory->process + memory->training;
    memory->peak = memory->peak > training ? memory->peak : training;
}

weft_status memory_plan_check(const app_context *context, const memory_plan *memory, uint64_t limit)
{
    uint64_t have = limit > 0 ? limit : placement_memory_available();
    double need = (double)memory->peak;
    /* Ranks of a node share its memory; the largest stands for all of them. */
    WEFT_TRY(comm_allreduce(context->comm, &need, 1, WEFT_DTYPE_F64, COMM_MAX));
    need *= comm_node_size(context->comm);
    weft_status status = WEFT_OK;
    if (need > 0.95 * (double)have) {
        bool small = need < 0x1p30;
        status =
            weft_fail(WEFT_ERR_RESOURCE,
                      "%d rank(s) on node %s would need %.2f %s, %.2f %s %s: use more nodes, a smaller --hidden, or "
                      "--input-dropout 0 with --order linear-first",
                      comm_node_size(context->comm), context->host, need / (small ? 0x1p20 : 0x1p30),
                      small ? "MiB" : "GiB", (double)have / (small ? 0x1p20 : 0x1p30), small ? "MiB" : "GiB",
                      limit > 0 ? "are allowed by --memory-limit" : "are available");
    }
    return comm_agree(context->comm, status);
}

static void print_row(const char *name, uint64_t bytes)
{
    if (bytes > 0) {
        printf("  %-40s %10.1f MB\n", name, (double)bytes / 1e6);
    }
}

void memory_plan_print(const memory_plan *memory)
{
    printf("memory of the largest rank:\n");
    print_row("process", memory->process);
    print_row("mapped graph (while loading)", memory->mapped);
    print_row("local edges (until the matrix is built)", memory->edges);
    print_row("aggregation matrix", memory->matrix);
    print_row("features", memory->features);
    print_row("activations", memory->activations);
    print_row("parameters and optimiser", memory->parameters);
    print_row("communication buffers", memory->communication);
    print_row("set-up", memory->setup);
    print_row("predicted peak", memory->peak);
}
