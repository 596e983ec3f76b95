/* Every collective over the thread transport, on 1 to 8 ranks. */
#include "support/comm_run.h"

int main(void)
{
    return comm_run_threads(comm_cases, COMM_CASES, comm_run_case);
}
