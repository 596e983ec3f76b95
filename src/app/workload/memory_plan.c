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

weft_status memory_plan_check(const app_context *context, const memory_plan *memory, uint64_t limit)
{
    uint64_t have = limit > 0 ? limit : placement_memory_available();
    double need = (double)memory->peak;
    /* Ranks of a node share its memory; the largest stands for all of them. */
    WEFT_TRY(comm_allreduce(context->comm, &need, 1, WEFT_DTYPE_F64, COMM_MAX));
    need *= comm_node_size(context->comm);
    weft_status status = WEFT_OK;
    if (need > 0.95 * (double)have) {
        status = weft_fail(WEFT_ERR_RESOURCE, "%d rank(s) on node %s would need %s, %s %s: %s",
                           comm_node_size(context->comm), context->host, number_say_bytes((uint64_t)need).text,
                           number_say_bytes(have).text, limit > 0 ? "are allowed by --memory-limit" : "are available",
                           memory->cure);
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
    for (int i = 0; i < memory->rows; i++) {
        print_row(memory->row[i].name, memory->row[i].bytes);
    }
    print_row("predicted peak", memory->peak);
}
