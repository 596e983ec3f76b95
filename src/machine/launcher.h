/*
 * machine/launcher.h: what the launcher says in the environment, before MPI is started.
 *
 * Help, usage errors and the reading of config files belong to one process of a job; these tell which, for Open MPI
 * (OMPI_COMM_WORLD_*), PMIx, PMI (MPICH, Intel MPI) and Slurm. Once MPI runs, the communicator is the truth.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

bool launcher_present(void); /* started by mpirun, mpiexec or srun; a single task of srun without PMIx counts as none */
int launcher_rank(void);     /* this process's rank; 0 without a launcher */
int launcher_size(void);     /* processes of the job; 1 without a launcher, 0 when the launcher does not say */

bool launcher_is_srun(void); /* the processes are tasks of a Slurm step, not of mpirun within a job */
/* Returns true if srun started several tasks and gave them no PMI: MPI_Init cannot join them. */
bool launcher_lacks_pmi(void);

/* The beginning of a command line that starts `ranks` processes as this job was started, with a blank at its end:
 * "mpirun -np 4 ", "srun --mpi=pmix -N 2 -n 4 -c 16 ", or "" for one process without a launcher. */
void launcher_command(int ranks, char *text, size_t bytes);
