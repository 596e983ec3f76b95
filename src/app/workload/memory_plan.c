/* app/workload/memory_plan.c: see app/workload/memory_plan.h. */
#include "app/workload/memory_plan.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/number.h"
#include "comm/core/layout.h"

void memory_plan_add(memory_plan *memory, const char *name, uint64_t bytes)
{
    assert(memory->rows < MEMORY_ROWS);
    memory->row[memory->rows++] = (memory_row){name, bytes};
}

void memory_plan_sum(memory_plan *memory)
{
    memory->peak = 0;
    for (int i = 0; i < memory->rows; ++i) {
        memory->peak += memory->row[i].bytes;
    }
    memory->device = memory->beside = memory->peak;
}

static bool on_device(const app_context *context)
{
    return context->hal != NULL && context->hal->mem.room != NULL;
}

static const double usable = 0.95;

static weft_status fail_need(const memory_plan *memory, const char *where, double need, double have, const char *whose)
{
    return weft_fail(WEFT_ERR_RESOURCE, "%s would need %s%s, %s %s: %s", where, memory->least ? "at least " : "",
                     number_say_bytes((uint64_t)need).text, number_say_bytes((uint64_t)have).text, whose, memory->cure);
}

/* Ranks that share a device stand beside each other: the largest, which needs `need`, stands for all of them. [out]
 * all: what they need; left: what is free there. */
static weft_status device_room(const app_context *context, double need, double *all, double *left)
{
    size_t free_bytes = 0, total = 0;
    WEFT_TRY(context->hal->mem.room(context->hal, &free_bytes, &total));
    *all = need * context->device_ranks;
    *left = (double)free_bytes;
    return WEFT_OK;
}

static weft_status check_device(const app_context *context, const memory_plan *memory, double need)
{
    double left = 0;
    char where[160];
    WEFT_TRY(device_room(context, need, &need, &left));
    snprintf(where, sizeof where, "%d rank(s) on a GPU of node %s", context->device_ranks, context->host);
    return need > usable * left ? fail_need(memory, where, need, left, "are free there") : WEFT_OK;
}

weft_status memory_plan_fits_device(const app_context *context, const memory_plan *memory, bool *fits)
{
    double need = on_device(context) ? (double)memory->device : 0.0;
    double left = 0;
    int64_t lacks = 0;
    weft_status status = WEFT_OK;
    WEFT_TRY(comm_allreduce(context->comm, &need, 1, WEFT_DTYPE_F64, COMM_MAX));
    if (on_device(context)) {
        status = device_room(context, need, &need, &left);
        lacks = need > usable * left;
    }
    WEFT_TRY(comm_agree(context->comm, status));
    WEFT_TRY(comm_allreduce(context->comm, &lacks, 1, WEFT_DTYPE_I64, COMM_MAX));
    *fits = lacks == 0;
    return WEFT_OK;
}

static double larger(double a, double b)
{
    return a > b ? a : b;
}

/* [out] node of all ranks of this node, which share its memory: sums on the host, the largest on a device. Ranks may
 * have different shares of the data, and some no device. Sets memory->largest. Collective. */
static weft_status add_up(const app_context *context, memory_plan *memory, memory_peaks *node)
{
    weft_comm *comm = context->comm;
    const comm_layout *layout = comm_get_layout(comm);
    const memory_peaks mine = on_device(context)
                                  ? (memory_peaks){.beside = (double)memory->beside, .device = (double)memory->device}
                                  : (memory_peaks){.host = (double)memory->peak};
    memory_peaks *all = NULL;
    *node = memory->largest = (memory_peaks){.host = 0.0};
    weft_status status = comm_agree(comm, WEFT_NEW_ZERO(&all, comm_size(comm), WEFT_MEM_GENERAL));
    status = status == WEFT_OK ? comm_allgather(comm, &mine, (int64_t)sizeof mine, all) : status;
    for (int r = 0; status == WEFT_OK && r < comm_size(comm); r++) {
        memory_peaks *largest = &memory->largest;
        *largest = (memory_peaks){.host = larger(largest->host, all[r].host),
                                  .beside = larger(largest->beside, all[r].beside),
                                  .device = larger(largest->device, all[r].device)};
        if (layout->node_of[r] == layout->node_of[comm_rank(comm)]) {
            node->host += all[r].host;
            node->beside += all[r].beside;
            node->device = larger(node->device, all[r].device);
        }
    }
    weft_free(all);
    return status;
}

memory_training memory_plan_training(const app_context *context, bool trains, sync_shards shards, int ranks,
                                     const train_memory_desc *desc)
{
    const weft_options *o = context->options;
    const optimizer_options rule = {.kind = option_choice(o, OPT_OPTIMIZER),
                                    .momentum = option_real(o, OPT_MOMENTUM),
                                    .average = option_real(o, OPT_EMA)};
    train_memory_desc all = *desc;
    all.optimizer = trains ? &rule : NULL;
    all.in_parts = trains && option_int(o, OPT_ACCUMULATE) > 1;
    all.checkpoints = trains && strcmp(option_text(o, OPT_CHECKPOINT_EVERY), "0") != 0;
    const sync_options sync = sync_options_of(o, shards);
    const train_memory parameters = train_memory_of(&all);
    return (memory_training){.parameters = parameters,
                             .sync = sync_setup_bytes(&sync, parameters.gradient, ranks),
                             .sync_device = sync_setup_device(&sync, context->hal, parameters.gradient, ranks)};
}

static double node_has(const app_context *context, uint64_t limit)
{
    return (double)(limit > 0 ? limit : app_context_memory(context));
}

weft_status memory_plan_fits(const app_context *context, memory_plan *memory, uint64_t limit, bool *fits)
{
    memory_peaks node;
    WEFT_TRY(add_up(context, memory, &node));
    int32_t lacks = node.host + node.beside > usable * node_has(context, limit);
    WEFT_TRY(comm_allreduce(context->comm, &lacks, 1, WEFT_DTYPE_I32, COMM_MAX));
    *fits = lacks == 0;
    return WEFT_OK;
}

weft_status memory_plan_check(const app_context *context, memory_plan *memory, uint64_t limit)
{
    const double have = node_has(context, limit);
    memory_peaks node;
    weft_status status = WEFT_OK;
    WEFT_TRY(add_up(context, memory, &node));
    const double need = node.host + node.beside;
    if (need > usable * have) {
        char where[160];
        snprintf(where, sizeof where, "%d rank(s) on node %s", comm_node_size(context->comm), context->host);
        status = fail_need(memory, where, need, have,
                           limit > 0 ? "are allowed by --memory-limit, of which a twentieth stays free"
                                     : "are available, of which a twentieth stays free");
    } else if (on_device(context)) {
        status = check_device(context, memory, node.device);
    }
    return comm_agree(context->comm, status);
}

uint64_t memory_plan_room(const app_context *context, const memory_plan *memory)
{
    const uint64_t limit = option_size(context->options, OPT_MEMORY_LIMIT);
    const double have = usable * (double)(limit > 0 ? limit : app_context_memory(context));
    const double left = have / comm_node_size(context->comm) - (double)memory->peak;
    return left > 0.0 ? (uint64_t)left : 0;
}

static void print_row(const char *name, double bytes)
{
    if (bytes > 0) {
        printf("  %-40s %10.1f MB\n", name, bytes / 1e6);
    }
}

void memory_plan_print(const app_context *context, const memory_plan *memory)
{
    memory_peaks peaks = memory->largest;
    if (peaks.host + peaks.device == 0.0) {
        peaks = on_device(context) ? (memory_peaks){.beside = (double)memory->beside, .device = (double)memory->device}
                                   : (memory_peaks){.host = (double)memory->peak};
    }
    printf("memory of the largest rank:\n");
    for (int i = 0; i < memory->rows; i++) {
        print_row(memory->row[i].name, (double)memory->row[i].bytes);
    }
    print_row(peaks.device > 0 ? "predicted peak of ranks without a GPU" : "predicted peak", peaks.host);
    print_row("at most, by the form that auto measures", peaks.host > 0 ? (double)memory->most : 0.0);
    print_row("predicted peak of the host's memory", peaks.beside);
    print_row("predicted peak of the GPU's memory", peaks.device);
}
