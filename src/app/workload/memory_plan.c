/* app/workload/memory_plan.c: see app/workload/memory_plan.h. */
#include "app/workload/memory_plan.h"

#include <assert.h>
#include <stdio.h>

#include "base/number.h"

void memory_plan_add(memory_plan *memory, const char *name, uint64_t bytes)
{
    assert(memory->rows < MEMORY_ROWS);
    memory->row[memory->rows++] = (memory_row){name, bytes};
}

static bool on_device(const app_context *context)
{
    return context->hal != NULL && context->hal->mem.room != NULL;
}

static const double usable = 0.95;

/* `where` would need more than it has. */
static weft_status fail_need(const char *where, double need, double have, const char *whose, const char *cure)
{
    return weft_fail(WEFT_ERR_RESOURCE, "%s would need %s, %s %s: %s", where, number_say_bytes((uint64_t)need).text,
                     number_say_bytes((uint64_t)have).text, whose, cure);
}

/* Ranks that share a device stand beside each other: the largest, which needs `need`, stands for all of them. [out] all:
 * what they need; left: what is free there. */
static weft_status device_room(const app_context *context, double need, double *all, double *left)
{
    size_t free_bytes = 0;
    size_t total = 0;
    WEFT_TRY(context->hal->mem.room(context->hal, &free_bytes, &total));
    *all = need * context->device_ranks;
    *left = (double)free_bytes;
    return WEFT_OK;
}

static weft_status check_device(const app_context *context, double need, const char *cure)
{
    double left = 0;
    char where[160];
    WEFT_TRY(device_room(context, need, &need, &left));
    snprintf(where, sizeof where, "%d rank(s) on a GPU of node %s", context->device_ranks, context->host);
    return need > usable * left ? fail_need(where, need, left, "are free there", cure) : WEFT_OK;
}

weft_status memory_plan_fits_device(const app_context *context, const memory_plan *memory, bool *fits)
{
    double need = (double)memory->device;
    double left = 0;
    *fits = true;
    if (!on_device(context)) {
        return WEFT_OK;
    }
    WEFT_TRY(comm_allreduce(context->comm, &need, 1, WEFT_DTYPE_F64, COMM_MAX));
    WEFT_TRY(comm_agree(context->comm, device_room(context, need, &need, &left)));
    int64_t lacks = need > usable * left;
    WEFT_TRY(comm_allreduce(context->comm, &lacks, 1, WEFT_DTYPE_I64, COMM_MAX));
    *fits = lacks == 0;
    return WEFT_OK;
}

weft_status memory_plan_check(const app_context *context, const memory_plan *memory, uint64_t limit)
{
    const uint64_t have = limit > 0 ? limit : placement_memory_available();
    const bool device = on_device(context);
    double need[] = {(double)(device ? memory->beside : memory->peak), (double)memory->device};
    /* Ranks of a node share its memory; the largest stands for all of them. */
    WEFT_TRY(comm_allreduce(context->comm, need, 2, WEFT_DTYPE_F64, COMM_MAX));
    need[0] *= comm_node_size(context->comm);
    weft_status status = WEFT_OK;
    if (need[0] > usable * (double)have) {
        char where[160];
        snprintf(where, sizeof where, "%d rank(s) on node %s", comm_node_size(context->comm), context->host);
        status = fail_need(where, need[0], (double)have, limit > 0 ? "are allowed by --memory-limit" : "are available",
                           memory->cure);
    } else if (device) {
        status = check_device(context, need[1], memory->cure);
    }
    return comm_agree(context->comm, status);
}

static void print_row(const char *name, uint64_t bytes)
{
    if (bytes > 0) {
        printf("  %-40s %10.1f MB\n", name, (double)bytes / 1e6);
    }
}

void memory_plan_print(const app_context *context, const memory_plan *memory)
{
    printf("memory of the largest rank:\n");
    for (int i = 0; i < memory->rows; i++) {
        print_row(memory->row[i].name, memory->row[i].bytes);
    }
    if (on_device(context)) {
        print_row("predicted peak of the host's memory", memory->beside);
        print_row("predicted peak of the GPU's memory", memory->device);
    } else {
        print_row("predicted peak", memory->peak);
    }
}
