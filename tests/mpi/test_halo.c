/*
 * The halo exchange over MPI.
 *
 * ranks: 1 2 3 4 7
 */
#include "support/comm_run.h"
#include "support/halo_cases.h"

int main(void)
{
    return comm_run_mpi(halo_cases, HALO_CASES, 2);
}
