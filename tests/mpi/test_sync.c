/*
 * Synchronisation modes over MPI.
 * ranks: 1 2 3 4 7
 */
#include "support/comm_run.h"
#include "support/sync_cases.h"

int main(void)
{
    comm_case cases[SYNC_CASES + SYNC_CASES_THREADED];
    memcpy(cases, sync_cases, sizeof sync_cases);
    memcpy(cases + SYNC_CASES, sync_cases_threaded, sizeof sync_cases_threaded);
    return comm_run_mpi(cases, SYNC_CASES + SYNC_CASES_THREADED, 1);
}
