/*
 * Sparse all-reduces over MPI.
 *
 * ranks: 1 2 3 7
 */
#include "support/comm_run.h"
#include "support/sparse_cases.h"

int main(void)
{
    return comm_run_mpi(sparse_cases, SPARSE_CASES, 1);
}
