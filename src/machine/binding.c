/*
 * machine/binding.c: see machine/binding.h.
 *
 * Open MPI 4 passes its parameters on in the environment: what the command line said about binding is read there.
 * mpirun itself is the nearest ancestor whose environment is not that of a rank; wrapper scripts and shells stand
 * between.
 */
#include "machine/binding.h"

#include <ctype.h>
#include <errno.h>
#include <limits.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "base/number.h"

enum { ANCESTORS_MOST = 32 };

/* ---- the environment -------------------------------------------------------------------------------------------- */

static const char *value_of(char *const *environment, const char *name)
{
    const size_t length = strlen(name);
    for (; environment != NULL && *environment != NULL; environment++) {
        if (strncmp(*environment, name, length) == 0 && (*environment)[length] == '=') {
            return *environment + length + 1;
        }
    }
    return NULL;
}

static int number_of(char *const *environment, const char *name)
{
    const char *text = value_of(environment, name);
    int64_t value = 0;
    return text != NULL && number_parse_int(text, &value) && value > 0 && value <= INT_MAX ? (int)value : 0;
}

/* Resource managers: the variable that says so, and the one that counts the job's CPUs on this node. */
typedef struct manager {
    const char *name, *sign, *count;
} manager;
static const manager managers[] = {
    {"Slurm", "SLURM_JOB_ID", "SLURM_CPUS_ON_NODE"},
    {"PBS", "PBS_JOBID", "NCPUS"},
    {"PBS", "PBS_JOBID", "PBS_NUM_PPN"},
    {"LSF", "LSB_JOBID", "LSB_DJOB_NUMPROC"},
    {"Grid Engine", "SGE_TASK_ID", "NSLOTS"},
    {"Flux", "FLUX_JOB_ID", NULL},
    {"OAR", "OAR_JOB_ID", NULL},
    {"HTCondor", "_CONDOR_SLOT", NULL},
};

static void find_manager(char *const *environment, binding *b)
{
    for (size_t i = 0; i < sizeof managers / sizeof managers[0] && b->granted == 0; i++) {
        const manager *one = &managers[i];
        if (value_of(environment, one->sign) != NULL) {
            snprintf(b->manager, sizeof b->manager, "%s", one->name);
            b->granted = one->count != NULL ? number_of(environment, one->count) : 0;
        }
    }
}

/* Returns true if the text holds the word, in any letter case. */
static bool mentions(const char *text, const char *word)
{
    return text != NULL && strcasestr(text, word) != NULL;
}

/* Programs that bind what they start, with the options by which they do; "": always. */
static bool starts_by_binder(char *const *environment)
{
    static const char *const binders[][4] = {{"taskset", ""},
                                             {"hwloc-bind", ""},
                                             {"numactl", "-N", "--cpunodebind", NULL},
                                             {"numactl", "-C", "--physcpubind"}};
    const char *command = value_of(environment, "OMPI_COMMAND");
    const char *arguments = value_of(environment, "OMPI_ARGV");
    const char *slash = command != NULL ? strrchr(command, '/') : NULL;
    const char *name = slash != NULL ? slash + 1 : command;
    for (size_t i = 0; name != NULL && i < sizeof binders / sizeof binders[0]; i++) {
        for (int k = 1; k < 4 && binders[i][k] != NULL && strcmp(name, binders[i][0]) == 0; k++) {
            if (binders[i][k][0] == '\0' || (arguments != NULL && strstr(arguments, binders[i][k]) != NULL)) {
                return true;
            }
        }
    }
    return false;
}

/* Returns true if mpirun was told which CPUs, or how many, a rank shall have. */
static bool told_cpus(char *const *environment)
{
    static const char *const given[] = {"OMPI_MCA_hwloc_base_cpu_list", "OMPI_MCA_hwloc_base_slot_list",
                                        "OMPI_MCA_orte_rankfile", "OMPI_MCA_rmaps_rank_file_path",
                                        "OMPI_MCA_rmaps_base_cpus_per_rank"};
    static const char *const policies[] = {"OMPI_MCA_rmaps_base_mapping_policy", "OMPI_MCA_hwloc_base_binding_policy",
                                           "PRTE_MCA_rmaps_default_mapping_policy",
                                           "PRTE_MCA_hwloc_default_binding_policy"};
    static const char *const words[] = {"pe=", "pe-list", "rankfile", "cpu-list"};
    for (size_t i = 0; i < sizeof given / sizeof given[0]; i++) {
        if (value_of(environment, given[i]) != NULL) {
            return true;
        }
    }
    for (size_t i = 0; i < sizeof policies / sizeof policies[0]; i++) {
        for (size_t k = 0; k < sizeof words / sizeof words[0]; k++) {
            if (mentions(value_of(environment, policies[i]), words[k])) {
                return true;
            }
        }
    }
    return false;
}

/* ---- sets ------------------------------------------------------------------------------------------------------- */

static bool set_within(const cpu_set *set, const cpu_set *of)
{
    cpu_set both = *set;
    cpu_set_intersect(&both, of);
    return cpu_set_equal(&both, set);
}

/* All hardware threads of the cores that `text` numbers in the order of the topology: "0-3,8". False: not such a
 * text. */
static bool cpus_of_cores(const machine *m, const char *text, cpu_set *set)
{
    memset(set, 0, sizeof *set);
    while (*text != '\0') {
        char *end = NULL;
        const long first = isdigit((unsigned char)*text) ? strtol(text, &end, 10) : -1;
        long last = first;
        if (first >= 0 && *end == '-') {
            last = isdigit((unsigned char)end[1]) ? strtol(end + 1, &end, 10) : -1;
        }
        if (first < 0 || last < first || last >= m->cores || (*end != ',' && *end != '\0')) {
            return false;
        }
        for (long i = first; i <= last; i++) {
            for (int k = 0; k < 8; k++) {
                cpu_set_add(set, m->core[i].cpus[k]);
            }
        }
        text = *end == ',' ? end + 1 : end;
    }
    return cpu_set_count(set) > 0;
}

/* ---- one rank --------------------------------------------------------------------------------------------------- */

static void judge_mpirun(const machine *m, const binding_facts *facts, binding *b)
{
    const char *cpus = value_of(facts->environment, "OMPI_MCA_hwloc_base_cpu_set");
    const bool bound = value_of(facts->environment, "OMPI_MCA_orte_bound_at_launch") != NULL;
    cpu_set named;
    b->by = BOUND_BY_MPIRUN;
    b->job = m->allowed;
    if (facts->parent_known) {
        cpu_set_intersect(&b->job, &facts->parent);
    }
    /* A mask that mpirun neither set nor handed down is a wrapper's. */
    const bool wrapped =
        facts->parent_known && !bound && !facts->by_openmp && !cpu_set_equal(&facts->mask, &facts->parent);
    /* Behind a resource manager, mpirun's share must be known before it is dealt anew. */
    const bool unknown = !facts->parent_known && b->manager[0] != '\0';
    if (wrapped || unknown || told_cpus(facts->environment) || starts_by_binder(facts->environment)) {
        b->by = BOUND_ON_PURPOSE;
    }
    if (cpus != NULL && cpus_of_cores(m, cpus, &named) && set_within(&facts->mask, &named)) {
        cpu_set_intersect(&b->job, &named);
    } else if (cpus != NULL) {
        b->by = BOUND_ON_PURPOSE; /* numbers of another kind */
    }
}

void binding_judge(const machine *m, const binding_facts *facts, binding *b)
{
    *b = (binding){.mask = facts->mask, .job = facts->mask};
    find_manager(facts->environment, b);
    if (value_of(facts->environment, "OMPI_COMM_WORLD_SIZE") != NULL) {
        judge_mpirun(m, facts, b);
    } else {
        static const char *const launchers[] = {"PMIX_RANK", "PMI_RANK", "SLURM_STEP_NUM_TASKS"};
        b->by = BOUND_BY_PROCESS;
        for (size_t i = 0; i < sizeof launchers / sizeof launchers[0]; i++) {
            b->by = value_of(facts->environment, launchers[i]) != NULL ? BOUND_BY_LAUNCHER : b->by;
        }
    }
}

/* ---- mpirun, found among the ancestors -------------------------------------------------------------------------- */

/* Returns true if the process was started as a rank of mpirun, or its environment cannot be read. */
static bool is_rank(pid_t pid, bool *readable)
{
    char path[64], *entry = NULL;
    size_t bytes = 0;
    bool rank = false;
    snprintf(path, sizeof path, "/proc/%ld/environ", (long)pid);
    FILE *file = fopen(path, "re");
    *readable = file != NULL;
    while (file != NULL && !rank && getdelim(&entry, &bytes, '\0', file) > 0) {
        rank = strncmp(entry, "OMPI_COMM_WORLD_RANK=", sizeof "OMPI_COMM_WORLD_RANK=" - 1) == 0;
    }
    free(entry);
    if (file != NULL) {
        fclose(file);
    }
    return rank;
}

/* 0 when the system does not say. The name of a process stands in parentheses and may hold any byte but NUL. */
static pid_t parent_of(pid_t pid)
{
    char path[64], line[512];
    long parent = 0;
    snprintf(path, sizeof path, "/proc/%ld/stat", (long)pid);
    FILE *file = fopen(path, "re");
    if (file == NULL) {
        return 0;
    }
    const size_t length = fread(line, 1, sizeof line - 1, file);
    fclose(file);
    line[length] = '\0';
    const char *end = strrchr(line, ')');
    return end != NULL && sscanf(end + 1, " %*c %ld", &parent) == 1 ? (pid_t)parent : 0;
}

static void find_mpirun(binding_facts *facts)
{
    bool readable = true;
    pid_t pid = getppid();
    for (int i = 0; i < ANCESTORS_MOST && pid > 0 && readable; i++, pid = parent_of(pid)) {
        if (!is_rank(pid, &readable) && readable) {
            memset(&facts->parent, 0, sizeof facts->parent);
            facts->parent_known =
                sched_getaffinity(pid, sizeof facts->parent, (cpu_set_t *)(void *)&facts->parent) == 0;
            return;
        }
    }
}

weft_status binding_read(const machine *m, binding *b)
{
    binding_facts facts = {.environment = environ};
    WEFT_TRY(placement_start_mask(&facts.mask, &facts.by_openmp));
    if (getenv("OMPI_COMM_WORLD_SIZE") != NULL) {
        find_mpirun(&facts);
    }
    binding_judge(m, &facts, b);
    return WEFT_OK;
}

/* ---- a node ----------------------------------------------------------------------------------------------------- */

void binding_of_node(const binding *of, int ranks, pin_mode pin, machine *m, bound_by *by)
{
    cpu_set masks = of[0].mask, job = of[0].job;
    *by = of[0].by;
    for (int r = 1; r < ranks; r++) {
        cpu_set_unite(&masks, &of[r].mask);
        cpu_set_unite(&job, &of[r].job);
        *by = of[r].by > *by ? of[r].by : *by; /* one rank whose mask stays is enough */
    }
    const bool widens = pin == PIN_ON || (pin == PIN_AUTO && *by == BOUND_BY_MPIRUN);
    machine_narrow(m, widens ? &job : &masks);
    m->granted_cpus = 0;
    if (of[0].granted < cpu_set_count(&m->allowed) && cpu_set_count(&m->allowed) == m->node_cpus) {
        m->granted_cpus = of[0].granted;
        snprintf(m->manager, sizeof m->manager, "%s", of[0].manager);
    }
}
