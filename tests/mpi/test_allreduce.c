/*
 * Every all-reduce on imitated nodes, over MPI.
 *
 * ranks: 1 2 3 5
 */
#include "support/allreduce_cases.h"
#include "support/comm_run.h"

int main(void)
{
    return comm_run_mpi(allreduce_cases, ALLREDUCE_CASES, 1);
}
