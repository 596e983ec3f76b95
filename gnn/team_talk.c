/* gnn/team_talk.c: see gnn/team_talk.h. */
#include "gnn/team_talk.h"

static weft_status agree(void *comm, weft_status local)
{
    return comm_agree(comm, local);
}

static weft_status sum(void *comm, int64_t *values, int64_t count)
{
    return comm_allreduce(comm, values, count, WEFT_DTYPE_I64, COMM_SUM);
}

static weft_status allgatherv(void *comm, const void *send, int64_t send_bytes, void *recv, const int64_t *recv_bytes)
{
    return comm_allgatherv(comm, send, send_bytes, recv, recv_bytes);
}

static weft_status alltoallv(void *comm, const void *send, const int64_t *send_bytes, void *recv,
                             const int64_t *recv_bytes)
{
    return comm_alltoallv(comm, send, send_bytes, recv, recv_bytes);
}

row_team_talk gnn_team_talk(weft_comm *comm)
{
    return (row_team_talk){.self = comm, .agree = agree, .sum = sum, .allgatherv = allgatherv, .alltoallv = alltoallv};
}
