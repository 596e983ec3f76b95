/*
 * Latency and bandwidth of every pair of ranks, over MPI.
 *
 * ranks: 1 2 3
 */
#include "support/comm_run.h"
#include "support/pairs_cases.h"

int main(void)
{
    return comm_run_mpi(pairs_cases, PAIRS_CASES, 2);
}
