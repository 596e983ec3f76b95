/*
 * io/process.h: a process by name, as another process reads it later: who it was, and whether it still runs.
 *
 * A number of a process means something below one kernel and one pid namespace only, and is given again when it is
 * free. So a process is named by the kernel's boot id and its namespace, its number, and the tick at which it began.
 *
 *     process_name me;
 *     process_name_self(&me);
 *     process_find(&me);          PROCESS_RUNS
 */
#pragma once

#include <stdint.h>

typedef struct process_name {
    char host[64];
    char kernel[96]; /* boot id and pid namespace; "" where the system does not tell */
    int64_t number;
    int64_t began; /* clock ticks after the boot; 0 where the system does not tell */
    char job[64];  /* of the batch system, "slurm 4711"; "" outside of one */
} process_name;

typedef enum process_fate {
    PROCESS_RUNS,
    PROCESS_ENDED,
    PROCESS_ELSEWHERE /* of another kernel or namespace: this process cannot tell */
} process_fate;

void process_name_self(process_name *name);
process_fate process_find(const process_name *name);
