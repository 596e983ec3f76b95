/* The halo exchange over the thread transport, on 1 to 8 ranks. */
#include "support/comm_run.h"
#include "support/halo_cases.h"

int main(void)
{
    return comm_run_threads(halo_cases, HALO_CASES, comm_run_case);
}
