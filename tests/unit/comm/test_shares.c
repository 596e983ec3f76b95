/* Planned collectives on the caller's shares over the thread transport, on 1 to 8 ranks. */
#include "support/comm_run.h"
#include "support/shares_cases.h"

int main(void)
{
    return comm_run_threads(shares_cases, SHARES_CASES, comm_run_case_once);
}
