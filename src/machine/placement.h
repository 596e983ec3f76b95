/*
 * machine/placement.h: where threads run.
 *
 * The runtime makes its own plan for each rank of a node: allowed cores (control groups respected) divided by the ranks
 * on the node, NUMA-aligned, one thread a core, SMT siblings left idle. mpirun binds a rank of a small job to ONE core,
 * and "--bind-to none" with OMP_PROC_BIND pins every rank to core 0: both are seen and healed under --pin auto. Masks
 * of mpirun that are disjoint and wider than one core are kept. Every other mask is kept as it stands, and no plan
 * leaves the CPUs that the job has (machine/binding.h).
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/option_words.h"
#include "base/status.h"

/* A set of logical CPUs of one node, by operating-system number. */
enum { PLACEMENT_MAX_CPUS = 4096 };
typedef struct cpu_set {
    uint64_t bits[PLACEMENT_MAX_CPUS / 64];
} cpu_set;

bool cpu_set_has(const cpu_set *set, int cpu);
void cpu_set_add(cpu_set *set, int cpu);
int cpu_set_count(const cpu_set *set);
bool cpu_set_intersects(const cpu_set *a, const cpu_set *b);
bool cpu_set_equal(const cpu_set *a, const cpu_set *b);
void cpu_set_intersect(cpu_set *set, const cpu_set *with);
void cpu_set_unite(cpu_set *set, const cpu_set *with);
/* "0-3,8" into text, "none" when empty, ending in "..." when it does not fit; returns text. */
const char *cpu_set_text(const cpu_set *set, char *text, size_t bytes);

/* The facts about a machine that placement needs. Built from hwloc: this machine, a synthetic description, or an
 * exported XML file. */
typedef struct machine_core {
    int package, numa;
    int cpus[8];  /* its hardware threads, first = the one to use; -1 past the end */
    bool allowed; /* at least the first hardware thread may be used */
} machine_core;

typedef struct machine {
    int cores, packages, numa_nodes; /* numa nodes that own cores */
    int node_cores, node_cpus;       /* cores and hardware threads that the control group allows */
    int smt;                         /* hardware threads of a core */
    machine_core *core;              /* [cores] in topology order */
    cpu_set allowed;                 /* of these, what the job has: machine_narrow() */
    uint64_t l2_bytes, l3_bytes;     /* of one core's caches */
    uint64_t memory_bytes;
    int memory_only_numa; /* NUMA nodes without cores of their own (e.g. MCDRAM) */
    int quota_cpus;   /* CPUs' worth of time that the control group grants, rounded down, at least 1; 0 = no limit */
    int granted_cpus; /* CPUs of the node that a resource manager counts for the job but bound nobody to; 0 = no such */
    char manager[16]; /* its name; "" if there is no such count */
    char model[96];
} machine;

weft_status machine_detect(machine *m);
/* hwloc's notation, e.g. "package:2 core:16 pu:2"; allowed_cpus as "0-3,8", NULL = all. */
weft_status machine_from_synthetic(const char *description, const char *allowed_cpus, machine *m);
weft_status machine_from_xml(const char *path, machine *m);
/* Leaves the job these CPUs alone. A set that has none of the allowed ones changes nothing. */
void machine_narrow(machine *m, const cpu_set *job);
void machine_free(machine *m);

#define PIN_MODES(X)                                                                                                   \
    X(PIN_AUTO, "auto")                                                                                                \
    X(PIN_ON, "on")                                                                                                    \
    X(PIN_OFF, "off")                                                                                                  \
    X(PIN_INHERIT, "inherit")
typedef enum pin_mode { PIN_MODES(CHOICE_VALUE) } pin_mode;

/* A thread that moves messages beside the computing ones. */
#define COMM_THREAD_MODES(X)                                                                                           \
    X(COMM_THREAD_AUTO, "auto")                                                                                        \
    X(COMM_THREAD_ON, "on")                                                                                            \
    X(COMM_THREAD_OFF, "off")
typedef enum comm_thread_mode { COMM_THREAD_MODES(CHOICE_VALUE) } comm_thread_mode;

/* Who chose the ranks' masks, in the order of their weight (machine/binding.h). All but the first are never widened. */
typedef enum bound_by {
    BOUND_BY_MPIRUN,   /* mpirun by itself */
    BOUND_ON_PURPOSE,  /* mpirun was told which CPUs, or a program under it bound the rank */
    BOUND_BY_LAUNCHER, /* srun or another launcher */
    BOUND_BY_PROCESS   /* there is no launcher: what started the process */
} bound_by;

typedef struct placement_request {
    int node_ranks, node_rank;
    const cpu_set *masks; /* [node_ranks] affinity mask of every rank of the node at start, by node rank */
    int threads;          /* --threads or OMP_NUM_THREADS; 0 = decide */
    pin_mode pin;
    bound_by by;
    comm_thread_mode comm_thread;
    int job_ranks, nodes; /* of the whole job: a single rank has nothing to communicate */
} placement_request;

typedef struct placement {
    int threads;
    bool pinned;         /* threads are pinned one by one to cpu[i] */
    bool healed;         /* the launcher's masks overlap or starve a rank of the node, and were replaced */
    bool oversubscribed; /* more ranks or threads on the node than cores or CPUs: nothing is pinned */
    bool comm_thread;    /* there shall be one */
    int comm_cpu;        /* of the communication thread alone; -1: none is set aside, it runs within the mask */
    int *cpu;            /* [threads], NULL when not pinned */
    cpu_set mask;        /* the rank's CPUs: those of its threads; when loose, all it may use */
    char reason[200];
} placement;

/* Pure function of its arguments: tested on recorded and synthetic machines. Free with placement_free.
 *
 * Communication thread: a rank with more than two cores sets one aside for it, which no other thread uses; on fewer, or
 * when an explicit number of threads takes them all, it shares the rank's mask. auto: with several ranks, when they
 * span nodes or when a rank of four cores or more can set one aside.
 *
 * WEFT_ERR_LAUNCH when explicitly requested threads exceed the CPUs (says the cure). SMT siblings are used only when
 * the explicit number does not fit otherwise. */
weft_status placement_plan(const machine *m, const placement_request *request, placement *plan);
/*
 * Apply: mask of the calling thread, OpenMP thread count, one CPU a thread. Call from the main thread, best before the
 * first parallel region. Threads 1, 2, ... are pinned to their CPU; thread 0 keeps the rank's whole mask, because
 * threads born later inherit the mask of the thread that makes them. A refused binding is a warning, not a failure.
 */
weft_status placement_apply(const placement *plan);
/* For a thread of ours beside the team, called by it: on this CPU (-1: stay in the mask it was born with), and the
 * parallel regions that it meets are serial. A refused binding is a warning. */
void placement_helper_thread(int cpu);
/*
 * Pin threads that were born since: libgomp ends the surplus threads when a region asks for fewer and makes new ones,
 * unpinned, when a later region asks for more. One short parallel region, no system call when nothing changed: call it
 * once an epoch.
 */
void placement_refresh(const placement *plan);
void placement_free(placement *plan);
/* The calling thread's affinity mask. */
weft_status placement_current_mask(cpu_set *mask);
/* Returns the mask that the process had before OpenMP bound its first thread. [out] by_openmp: OpenMP had bound it.
 * Call this before the first plan is applied. */
weft_status placement_start_mask(cpu_set *mask, bool *by_openmp);
/* One line for a node: "node n03: 4 ranks x 12 threads, cores 0-47, NUMA 0-1, SMT unused, pinned by weft". */
void placement_describe(const machine *m, const char *host, int ranks, const placement *plan, const cpu_set *node_mask,
                        char *line, size_t bytes);

/* Bytes this process may use: min of the machine's available memory, control group (v1, v2) and RLIMIT_AS. */
uint64_t placement_memory_available(void);
