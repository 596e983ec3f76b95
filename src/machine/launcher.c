/* machine/launcher.c: see machine/launcher.h. */
#include "machine/launcher.h"

#include <limits.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/number.h"

/* The first of the variables that is set to a whole number >= 0, or -1. */
static int first_number(const char *const *names)
{
    for (; *names != NULL; names++) {
        const char *text = getenv(*names);
        int64_t value = 0;
        if (text != NULL && number_parse_int(text, &value) && value >= 0 && value <= INT_MAX) {
            return (int)value;
        }
    }
    return -1;
}

/* SLURM_PROCID alone means nothing: a batch script has it too. A step started by srun has SLURM_STEP_NUM_TASKS. */
static int step_tasks(void)
{
    static const char *const names[] = {"SLURM_STEP_NUM_TASKS", NULL};
    return first_number(names);
}

/* Open MPI joins the tasks of srun by PMIx alone; its own mpirun says OMPI. */
static bool srun_without_pmix(void)
{
    static const char *const joins[] = {"OMPI_COMM_WORLD_RANK", "PMIX_RANK", NULL};
    return step_tasks() > 0 && first_number(joins) < 0;
}

bool launcher_is_srun(void)
{
    static const char *const mpirun[] = {"OMPI_COMM_WORLD_RANK", NULL};
    return step_tasks() > 0 && first_number(mpirun) < 0;
}

bool launcher_lacks_pmi(void)
{
    static const char *const pmi[] = {"PMI_RANK", NULL};
    return srun_without_pmix() && step_tasks() > 1 && first_number(pmi) < 0;
}

/* One task of srun needs no MPI: it runs like a process without a launcher. */
static int environment_rank(void)
{
    static const char *const mpi[] = {"OMPI_COMM_WORLD_RANK", "PMIX_RANK", "PMI_RANK", NULL};
    static const char *const slurm[] = {"SLURM_PROCID", NULL};
    if (srun_without_pmix() && step_tasks() == 1) {
        return -1;
    }
    int rank = first_number(mpi);
    return rank >= 0 || step_tasks() < 0 ? rank : first_number(slurm);
}

bool launcher_present(void)
{
    return environment_rank() >= 0;
}

int launcher_rank(void)
{
    int rank = environment_rank();
    return rank > 0 ? rank : 0;
}

int launcher_size(void)
{
    static const char *const names[] = {"OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "SLURM_STEP_NUM_TASKS", NULL};
    if (!launcher_present()) {
        return 1;
    }
    int size = first_number(names);
    return size > 0 ? size : 0;
}

void launcher_command(int ranks, char *text, size_t bytes)
{
    static const char *const nodes[] = {"SLURM_STEP_NUM_NODES", NULL};
    static const char *const cpus[] = {"SLURM_CPUS_PER_TASK", NULL};
    char more[64] = "";
    if (!launcher_is_srun()) {
        text[0] = '\0';
        if (ranks > 1) {
            snprintf(text, bytes, "mpirun -np %d ", ranks);
        }
        return;
    }
    if (first_number(cpus) > 0) {
        snprintf(more, sizeof more, "-c %d ", first_number(cpus));
    }
    snprintf(text, bytes, "srun --mpi=pmix -N %d -n %d %s", first_number(nodes) > 0 ? first_number(nodes) : 1, ranks,
             more);
}
