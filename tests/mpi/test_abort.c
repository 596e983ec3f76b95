/*
 * How a job over MPI begins and ends. Without arguments: groups are made and destroyed, and the job ends well. "abort"
 * and "stall" are for tests/mpi/test_abort.sh: rank 1 ends the job, or never comes while the others wait for it.
 *
 * ranks: 1 3
 */
#include <unistd.h>

#include "base/log.h"
#include "support/comm_cases.h"

static weft_status begin_and_end(weft_comm *comm)
{
    weft_comm *half = NULL;
    weft_comm *second = NULL;
    char version[64] = "";
    comm_mpi_version(version, sizeof version);
    CASE_CHECK(strlen(version) > 3 && strchr(version, '\n') == NULL, "MPI is called \"%s\"", version);
    CASE_CHECK(strcmp(comm_transport_name(comm), "mpi") == 0, "transport %s", comm_transport_name(comm));
    CASE_CHECK(comm_node_size(comm) == comm_size(comm) && comm_node_rank(comm) == comm_rank(comm),
               "rank %d of %d is %d of %d on one node", comm_rank(comm), comm_size(comm), comm_node_rank(comm),
               comm_node_size(comm));
    WEFT_TRY(comm_split(comm, comm_rank(comm) / 2, 0, &half));
    WEFT_TRY(comm_create_mpi(&second)); /* MPI runs already */
    WEFT_TRY(comm_barrier(second));
    WEFT_TRY(comm_barrier(half));
    comm_destroy(half);
    comm_destroy(second);
    return comm_barrier(comm);
}

static weft_status meet_without_one(weft_comm *comm, const char *kind)
{
    bool aborts = strcmp(kind, "abort") == 0;
    comm_set_stall_timeout(comm, aborts ? 0.0 : 0.5);
    if (comm_rank(comm) != 1) {
        return comm_barrier(comm);
    }
    if (aborts) {
        return weft_fail(WEFT_ERR_DATA, "row 17 is bad");
    }
    sleep(60);
    return WEFT_OK;
}

int main(int argc, char **argv)
{
    weft_comm *comm = NULL;
    weft_status status = comm_create_mpi(&comm);
    if (status == WEFT_OK) {
        status = argc == 2 ? meet_without_one(comm, argv[1]) : begin_and_end(comm);
    }
    if (status != WEFT_OK) {
        log_fatal(comm == NULL ? 0 : comm_rank(comm), status, weft_error_message());
        comm_abort(comm, status);
    }
    comm_destroy(comm);
    if (argc == 1 && comm_create_mpi(&comm) != WEFT_ERR_LAUNCH) {
        fprintf(stderr, "MPI begins a second time\n");
        return 1;
    }
    return 0;
}
