/*
 * app/train/train_load.h: who else used the CPUs of a training's nodes, from its first epoch to its last
 * (machine/host_load.h).
 *
 * The first rank of each node looks. Only the node where other programs used most of the CPUs is reported.
 */
#pragma once

#include "app/setup/context.h"
#include "machine/host_load.h"

typedef struct train_load {
    /* Figures of the reported node, on rank 0 after train_load_gather; cpus is 0 when nothing is known. */
    double own, others, stolen; /* processors' worth: of this job, of other processes, of other guests */
    int threads, cpus;          /* of this job, and the CPUs that they run on */
    char competitors[120];      /* "python3 (pid 7) 0.9, ..."; "" when they cannot be seen */

    /* State of this rank between begin and gather. */
    host_look *look; /* NULL on ranks that do not look */
    host_load seen;
    cpu_set node_cpus;
    int *pids; /* of this job on this node, [pid_count] */
    int pid_count;
    double cpu_begin, cpu_used; /* seconds */
} train_load;

/* Collective, before the first epoch. */
weft_status train_load_begin(train_load *load, const app_context *context);
/* After the last; frees what begin took. Harmless when there was none, and the second time. */
void train_load_end(train_load *load);
/* Collective, after train_load_end. */
weft_status train_load_gather(train_load *load, const app_context *context);

/* The figures of the node where others had most, from one row a rank. A function of the rows alone. */
typedef struct train_load_row {
    char host[64];
    int threads;
    double used;    /* CPU seconds of this rank between the looks */
    host_load seen; /* seconds 0 where the rank did not look */
} train_load_row;
void train_load_choose(const train_load_row *rows, int ranks, train_load *load);
