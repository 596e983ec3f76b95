/*
 * The cases of the thread transport again, over MPI.
 *
 * ranks: 1 2 3 7
 */
#include "support/comm_run.h"

int main(void)
{
    return comm_run_mpi(comm_cases, COMM_CASES, 2);
}
