/*
 * Planned collectives on the caller's shares, over MPI.
 *
 * ranks: 1 2 4 7
 */
#include "support/comm_run.h"
#include "support/shares_cases.h"

int main(void)
{
    return comm_run_mpi(shares_cases, SHARES_CASES, 1);
}
