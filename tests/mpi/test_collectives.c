/*
 * The cases of the thread transport again, over MPI.
 * ranks: 1 2 3 4 7 8
 */
#include "support/comm_cases.h"

int main(void)
{
    weft_comm *comm = NULL;
    weft_status status = comm_create_mpi(&comm);
    for (int i = 0; i < COMM_CASES && status == WEFT_OK; ++i) {
        status = comm_agree(comm, comm_cases[i].run(comm, NULL));
        if (status == WEFT_OK && comm_rank(comm) == 0) {
            printf("ok %s\n", comm_cases[i].name);
        }
    }
    if (status != WEFT_OK) {
        fprintf(stderr, "%s: %s\n", weft_status_name(status), weft_error_message());
        comm_abort(comm, status);
    }
    comm_destroy(comm);
    return 0;
}
