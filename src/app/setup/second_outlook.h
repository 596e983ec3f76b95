/*
 * app/setup/second_outlook.h: what --precondition will take, before a model is made: bytes for the plan of memory, and
 * seconds by which --precondition-place auto is decided and which --dry-run prints.
 */
#pragma once

#include <stdio.h>

#include "app/setup/context.h"
#include "train/second/second_cost.h"

enum { OUTLOOK_PLACES = 4, OUTLOOK_JOBS = 6 };

typedef struct second_outlook {
    /* second_bytes of this rank; 0: no second order. */
    uint64_t bytes;
    /* Memory of second order that comes and goes; beside.checkpoint is 0 without --checkpoint-every. */
    second_beside beside;
    /* Ranks of this job, and then of larger ones with a rank a node; jobs == 0: nothing was priced. */
    int ranks[OUTLOOK_JOBS], jobs;
    second_price price[OUTLOOK_JOBS][OUTLOOK_PLACES];
    /* Number of the place that the job takes. */
    int taken;
} second_outlook;

/*
 * outline: parameters and maps of the model, which need no memory. job: this rank among the ranks that are planned for.
 * room: bytes that the rank may take for second order. Decides --precondition-place where it is auto: the quickest
 * that fits. Collective.
 */
weft_status second_outlook_make(const app_context *context, const train_model *outline, const second_ranks *job,
                                uint64_t room, second_outlook *outlook);
/* A table of places and ranks; nothing if nothing was priced. */
void second_outlook_print(const second_outlook *outlook, FILE *out);
