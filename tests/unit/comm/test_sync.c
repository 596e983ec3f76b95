/*
 * Synchronisation modes over the thread transport, on 1 to 8 ranks.
 * timeout: 400
 */
#include "support/comm_run.h"
#include "support/sync_cases.h"

int main(void)
{
    int failed = comm_run_threads(sync_cases, SYNC_CASES, comm_run_case_once);
    return failed + comm_run_threads(sync_cases_threaded, SYNC_CASES_THREADED, comm_run_case);
}
