/*
 * machine/binding.h: who chose the affinity mask of a rank, and which CPUs of the node its job has.
 *
 * Only one mask may be replaced: the one that Open MPI's mpirun chooses by itself, a core a rank in small jobs. Every
 * other mask is somebody's will and is never widened:
 *
 *      no launcher            taskset, numactl, a batch script, a container   the job has the mask of the process
 *      srun, Hydra, ...       the launcher or its resource manager            the job has the masks of its ranks
 *      mpirun, told CPUs      --cpu-list, a rankfile, PE=N, mpirun taskset    masks stay; the job has what mpirun has
 *      mpirun, otherwise      --bind-to and --map-by kinds, or nothing        the job has what mpirun has
 *
 * "What mpirun has" is the mask of mpirun itself (on other nodes: of its daemon), which taskset or a resource manager
 * cut, within the CPUs of --cpu-set.
 */
#pragma once

#include "machine/placement.h"

/* Facts about one process and its launch. Pure data, so that tests can replay the launches of machines that we lack. */
typedef struct binding_facts {
    char *const *environment; /* "NAME=VALUE", NULL at the end */
    cpu_set mask;             /* affinity mask of the process at its start: placement_start_mask() */
    bool by_openmp;           /* variables of OpenMP may have named these CPUs */
    bool parent_known;        /* mpirun, or its daemon, was found among the ancestors */
    cpu_set parent;           /* its mask */
} binding_facts;

/* One rank's answer. Plain data: ranks exchange it as bytes. */
typedef struct binding {
    bound_by by;
    cpu_set mask;     /* as in the facts */
    cpu_set job;      /* CPUs of this node that the job has, as far as this rank can see */
    char manager[16]; /* resource manager that started the job, "" if none: "Slurm" */
    int granted;      /* CPUs of this node that the manager says the job has; 0: it does not say */
} binding;

/* A function of its arguments. */
void binding_judge(const machine *m, const binding_facts *facts, binding *b);
/* Describes the calling process. Call this before the first plan is applied. */
weft_status binding_read(const machine *m, binding *b);

/*
 * The node's binding from those of its ranks, `of` [ranks]. The machine is narrowed to the CPUs that the job has, so
 * that plans, advice and measurements see no others; with --pin inherit and off these are the masks as they stand. A
 * count of the resource manager is kept in the machine where nobody bound anything.
 */
void binding_of_node(const binding *of, int ranks, pin_mode pin, machine *m, bound_by *by);
