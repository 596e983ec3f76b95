/*
 * app/workload/memory_plan.h: the memory that a rank will need, counted by the workload and compared with the free
 * memory before anything is allocated.
 */
#pragma once

#include "app/setup/context.h"
#include "app/setup/sync_setup.h"
#include "train/memory.h"
#include "train/second/second_cost.h"

enum { MEMORY_ROWS = 16 };

typedef struct memory_row {
    const char *name;
    uint64_t bytes;
} memory_row;

/* Largest needs in bytes. host: of ranks that compute on the host. beside and device: of ranks that compute on devices,
 * in the host's and in the device's memory. 0: the job has no such rank. */
typedef struct memory_peaks {
    double host, beside, device;
} memory_peaks;

typedef struct memory_plan {
    /* Named amounts of memory. Rows of different phases do not add up to the peak. */
    memory_row row[MEMORY_ROWS];
    int rows;
    /* Need of the largest phase, with the memory that the process held when it started. */
    uint64_t peak;
    /* Peak of the host's memory if a choice that is measured later (auto) needs more than the plan counts on; 0: none
     * does. */
    uint64_t most;
    /* Peak of the device's memory, if the backend has memory of its own. */
    uint64_t device;
    /* Peak of the host's memory, if the backend has memory of its own. */
    uint64_t beside;
    /* Largest needs of all ranks, set by memory_plan_check; zeros before. */
    memory_peaks largest;
    /* More may come: what is known so early is the least need. */
    bool least;
    /* Options that need less memory, for the message about a job that cannot fit. */
    const char *cure;
} memory_plan;

void memory_plan_add(memory_plan *memory, const char *name, uint64_t bytes);
/* All rows together are the peak, and at most what a device, or the host beside it, needs. */
void memory_plan_sum(memory_plan *memory);
/* The need of each node against what it has (or limit bytes, --memory-limit; 0: none), and of the ranks on each device
 * against what is free there: WEFT_ERR_RESOURCE with both figures. Sets `largest`. Collective. */
weft_status memory_plan_check(const app_context *context, memory_plan *memory, uint64_t limit);
/* [out] fits: what the ranks of every node need fits into it, by the same figures as memory_plan_check. Sets `largest`.
 * Collective. */
weft_status memory_plan_fits(const app_context *context, memory_plan *memory, uint64_t limit, bool *fits);
/* Returns the bytes of the node that are left for each of its ranks beside the plan's peak. */
uint64_t memory_plan_room(const app_context *context, const memory_plan *memory);
/* [out] fits: what the ranks need fits on every device of the job; true where no rank has one. Collective. */
weft_status memory_plan_fits_device(const app_context *context, const memory_plan *memory, bool *fits);
/* What a rank keeps of the parameters and of the mode of synchronisation. */
typedef struct memory_training {
    train_memory parameters;
    uint64_t sync;
    /* Of --precondition, and what it takes beside, set by the workload (app/setup/second_outlook.h). */
    uint64_t second;
    second_beside beside;
    sync_device_need sync_device;
} memory_training;

/* For parameters `desc`, whose optimiser and parts of batches are those of the options, on so many ranks. trains: false
 * for a model that only answers. */
memory_training memory_plan_training(const app_context *context, bool trains, sync_shards shards, int ranks,
                                     const train_memory_desc *desc);
/* A line a row, on stdout. */
void memory_plan_print(const app_context *context, const memory_plan *memory);
