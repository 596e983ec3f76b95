/*
 * Every all-reduce on imitated nodes over the thread transport, on 1 to 8 ranks.
 *
 */
#include "support/allreduce_cases.h"
#include "support/comm_run.h"

int main(void)
{
    return comm_run_threads(allreduce_cases, ALLREDUCE_CASES, comm_run_case_once);
}
