/*
 * machine/launcher.h: what the launcher says in the environment, before MPI is started.
 *
 * Help, usage errors and the reading of config files belong to one process of a job; these tell which, for Open MPI
 * (OMPI_COMM_WORLD_*), PMIx, PMI (MPICH, Intel MPI) and Slurm. Once MPI runs, the communicator is the truth.
 */
#ifndef WEFT_MACHINE_LAUNCHER_H
#define WEFT_MACHINE_LAUNCHER_H

#include <stdbool.h>

bool launcher_present(void); /* started by mpirun, mpiexec or srun */
int launcher_rank(void);     /* this process's rank; 0 without a launcher */
int launcher_size(void);     /* processes of the job; 1 without a launcher, 0 when the launcher does not say */

/* SLURM_NTASKS, or 0. More than 1 while MPI sees one process: srun started singletons that do not know each other (its
 * PMI is not the one that MPI was built with). In a batch script it is the job's size, not a step's. */
int launcher_slurm_tasks(void);

#endif
