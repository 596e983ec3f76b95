/*
 * The all-to-all with counts a post over MPI.
 *
 * ranks: 1 2 3 4 8
 */
#include "support/comm_run.h"
#include "support/exchange_cases.h"

int main(void)
{
    return comm_run_mpi(exchange_cases, EXCHANGE_CASES, 2);
}
