/* Sparse all-reduces over the thread transport, on 1 to 8 ranks. */
#include "support/comm_run.h"
#include "support/sparse_cases.h"

int main(void)
{
    return comm_run_threads(sparse_cases, SPARSE_CASES, comm_run_case_once);
}
