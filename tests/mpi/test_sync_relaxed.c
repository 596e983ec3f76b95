/* What holds for all modes with local updates, over MPI.
 * ranks: 1 2 3 5 */
#include "support/comm_run.h"
#include "support/sync_relaxed_cases.h"

int main(void)
{
    return comm_run_mpi(relaxed_cases, RELAXED_MPI_CASES, 2);
}
