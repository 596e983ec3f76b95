/*
 * Windows and the all-reduce in shared memory, over MPI.
 *
 * ranks: 1 2 3 4 7
 */
#include "support/comm_run.h"
#include "support/window_cases.h"

int main(void)
{
    return comm_run_mpi(window_cases, WINDOW_CASES, 2);
}
