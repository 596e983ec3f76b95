/*
 * machine/host_load.h: who else used the processors meanwhile.
 *
 * Two looks at proc, at the start and at the end of a stretch of work. What the CPUs were busy with, less what this job
 * used itself, is what others had; the processes that grew most in between have names. A look reads proc/stat and a
 * file of each process: 10 ms for a thousand of them.
 *
 * Limits. In a container the CPUs' times are those of the machine, but only the container's own processes are seen:
 * then others had time and have no names. A process that began and ended in between is counted with the parent that
 * waited for it (make for its compilers). On a virtual machine `stolen` is what its host gave to other guests.
 */
#pragma once

#include "machine/placement.h"

enum { HOST_LOAD_NAMED = 3, HOST_LOAD_NAME = 16 };

typedef struct host_process {
    double cpus; /* processors' worth that it had */
    int pid;
    char name[HOST_LOAD_NAME]; /* printable ASCII */
} host_process;

typedef struct host_load {
    double seconds;                      /* between the looks; 0 = nothing is known */
    double busy, stolen;                 /* processors' worth, of the set, by everybody; by other guests */
    int cpus;                            /* of the set */
    host_process other[HOST_LOAD_NAMED]; /* largest first; cpus 0 past the last */
} host_load;

typedef struct host_look host_look;

/* Look for the first time. root: "/", or a folder that imitates proc. NULL when proc cannot be read or memory lacks. */
host_look *host_look_begin(const char *root);
/*
 * Look again, and free the first look. cpus: the ones that the job may use; only processes that last ran on one of them
 * are named. mine: the processes of this job, [count]. first NULL: load->seconds is 0.
 */
void host_look_end(host_look *first, const char *root, const cpu_set *cpus, const int *mine, int count,
                   host_load *load);
