/*
 * app/workload/memory_plan.h: how much memory a rank will need, before it is taken: what the workload counted, held
 * against what there is.
 */
#ifndef WEFT_APP_WORKLOAD_MEMORY_PLAN_H
#define WEFT_APP_WORKLOAD_MEMORY_PLAN_H

#include "app/setup/context.h"
#include "train/memory.h"

enum { MEMORY_ROWS = 16 };

typedef struct memory_row {
    const char *name;
    uint64_t bytes;
} memory_row;

/* Of the ranks that compute on the host, and of those that compute on devices; 0: there are none. */
typedef struct memory_peaks {
    double host, beside, device;
} memory_peaks;

typedef struct memory_plan {
    memory_row row[MEMORY_ROWS]; /* what it is made of; rows of different phases do not add up to the peak */
    int rows;
    uint64_t peak;        /* of the phase that needs most, with what the process held when it started */
    uint64_t device;      /* where the backend has memory of its own: the peak of that, */
    uint64_t beside;      /* and that of the host's memory then */
    memory_peaks largest; /* of all ranks, once they were checked; zeros: this rank's alone are known */
    const char *cure;     /* options that need less, for the message of a job that cannot fit */
} memory_plan;

void memory_plan_add(memory_plan *memory, const char *name, uint64_t bytes);
/* The need of each node against what it has (or limit bytes, --memory-limit; 0: none), and of the ranks on each device
 * against what is free there: WEFT_ERR_RESOURCE with both figures. Sets `largest`. Collective. */
weft_status memory_plan_check(const app_context *context, memory_plan *memory, uint64_t limit);
/* [out] fits: what the ranks need fits on every device of the job; true where no rank has one. Collective. */
weft_status memory_plan_fits_device(const app_context *context, const memory_plan *memory, bool *fits);
/* The bytes of parameters `desc`, whose optimiser and parts of batches are those of the options. trains: false for a
 * model that only answers. */
train_memory memory_plan_parameters(const app_context *context, bool trains, const train_memory_desc *desc);
/* A line a row, on stdout. */
void memory_plan_print(const app_context *context, const memory_plan *memory);

#endif
