/* base/process_stat.h: what the kernel says of a process: a line of /proc/NUMBER/stat, proc(5). */
#pragma once

#include <stdbool.h>
#include <stdint.h>

typedef struct process_stat {
    int64_t number;
    char name[64]; /* of the program, as the kernel cuts it; may hold anything */
    char state;    /* 'Z', 'X': it has ended; nobody has asked for its exit code yet */
    int parent;
    double user, system, child_user, child_system; /* ticks; children that it has waited for */
    int64_t began;                                 /* ticks after the boot: numbers are used again */
    int cpu;                                       /* where its first thread ran last */
} process_stat;

/* root: what stands before /proc, "" for this machine. False when there is no such process, or nothing to be seen of
 * it. */
bool process_stat_read(const char *root, int64_t number, process_stat *stat);
/* The same of /proc/NUMBER/task/TASK and the like: path behind "/proc/". */
bool process_stat_read_at(const char *root, const char *path, process_stat *stat);
