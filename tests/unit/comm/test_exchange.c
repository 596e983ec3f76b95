/* The all-to-all with counts a post over the thread transport, on 1 to 8 ranks. */
#include "support/comm_run.h"
#include "support/exchange_cases.h"

int main(void)
{
    return comm_run_threads(exchange_cases, EXCHANGE_CASES, comm_run_case);
}
