/* machine/launcher.c: see machine/launcher.h. */
#include "machine/launcher.h"

#include <limits.h>
#include <stdint.h>
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
static int environment_rank(void)
{
    static const char *const mpi[] = {"OMPI_COMM_WORLD_RANK", "PMIX_RANK", "PMI_RANK", NULL};
    static const char *const slurm[] = {"SLURM_PROCID", NULL};
    int rank = first_number(mpi);
    return rank >= 0 || getenv("SLURM_STEP_NUM_TASKS") == NULL ? rank : first_number(slurm);
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

int launcher_slurm_tasks(void)
{
    static const char *const names[] = {"SLURM_NTASKS", NULL};
    int tasks = first_number(names);
    return tasks > 0 ? tasks : 0;
}
