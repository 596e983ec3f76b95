/*
 * comm/group/blocking.c: the blocking collectives: the caller's arguments checked, the algorithm's steps written into
 * the communicator's own schedule, run on the control lane.
 */
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/log.h"
#include "comm/coll/shared.h"
#include "comm/core/comm_internal.h"

/* What empty buffers point to, so that offsets are taken from a real address; never read or written. */
static char nothing[1];

static weft_status total_bytes(const weft_comm *comm, const int64_t *bytes, const char *what, int64_t *total)
{
    *total = 0;
    for (int q = 0; q < comm_size(comm); ++q) {
        WEFT_CHECK(bytes[q] >= 0, WEFT_ERR_INTERNAL, "%s: %lld bytes for rank %d", what, (long long)bytes[q], q);
        WEFT_CHECK(!__builtin_add_overflow(*total, bytes[q], total), WEFT_ERR_RESOURCE,
                   "%s: the sum of the counts passes 2^63 bytes", what);
    }
    return WEFT_OK;
}

static weft_status finish(weft_comm *comm)
{
    WEFT_TRY(schedule_end(&comm->blocking));
    return schedule_run(&comm->blocking);
}

weft_status comm_barrier(weft_comm *comm)
{
    schedule_begin(&comm->blocking, comm, COMM_LANE_CONTROL, "barrier");
    coll_barrier_build(&comm->blocking, comm_rank(comm), comm_size(comm));
    return finish(comm);
}

weft_status comm_bcast(weft_comm *comm, int root, void *buffer, int64_t bytes)
{
    WEFT_CHECK(root >= 0 && root < comm_size(comm), WEFT_ERR_INTERNAL, "broadcast from rank %d of %d", root,
               comm_size(comm));
    WEFT_CHECK(bytes >= 0 && (buffer != NULL || bytes == 0), WEFT_ERR_INTERNAL, "broadcast of %lld bytes%s",
               (long long)bytes, buffer == NULL ? " without a buffer" : "");
    char name[OPERATION_NAME_BYTES];
    snprintf(name, sizeof name, "broadcast of %lld bytes from rank %d", (long long)bytes, root);
    schedule_begin(&comm->blocking, comm, COMM_LANE_CONTROL, name);
    coll_bcast_build(&comm->blocking, comm_rank(comm), comm_size(comm), root, buffer, bytes);
    return finish(comm);
}

/* Collective: the window of short vectors. Messages are used meanwhile, and for good when there is no shared memory. */
static weft_status small_make(weft_comm *comm)
{
    comm_small *small = &comm->small;
    small->state = SMALL_UNKNOWN;
    weft_status status = coll_shared_create_small(comm, &small->shared);
    if (status == WEFT_OK) {
        schedule_begin(&small->schedule, comm, COMM_LANE_CONTROL, "all-reduce of a short vector in shared memory");
        coll_shared_build_small(&small->schedule, small->shared);
        status = comm_agree(comm, schedule_end(&small->schedule));
    }
    if (status != WEFT_OK && status != WEFT_ERR_RESOURCE) {
        return status;
    }
    if (status != WEFT_OK) {
        log_debug("short all-reduces send messages: %s", weft_error_message());
        weft_error_clear();
    }
    small->state = status == WEFT_OK ? SMALL_READY : SMALL_REFUSED;
    return WEFT_OK;
}

/* Whether the vector goes through the window of short vectors, which the first that does makes. The same everywhere. */
static weft_status small_fits(weft_comm *comm, int64_t count, weft_dtype dtype, bool *fits)
{
    *fits = coll_shared_possible(comm->layout, comm_size(comm)) &&
            count <= SHARED_SLOT_BYTES / (int64_t)weft_dtype_bytes(dtype);
    if (*fits && comm->small.state == SMALL_WANTED) {
        WEFT_TRY(small_make(comm));
    }
    *fits = *fits && comm->small.state == SMALL_READY;
    return WEFT_OK;
}

weft_status comm_allreduce(weft_comm *comm, void *buffer, int64_t count, weft_dtype dtype, comm_op op)
{
    WEFT_CHECK(count >= 0 && (buffer != NULL || count == 0), WEFT_ERR_INTERNAL, "all-reduce of %lld elements%s",
               (long long)count, buffer == NULL ? " without a buffer" : "");
    WEFT_CHECK(hal_reduces(dtype, (hal_reduction)op), WEFT_ERR_UNSUPPORTED, "sums of %s overflow: use a wider type",
               weft_dtype_name(dtype));
    if (count == 0 || comm_size(comm) == 1) {
        return WEFT_OK;
    }
    bool small = false;
    WEFT_TRY(small_fits(comm, count, dtype, &small));
    if (small) {
        coll_shared_aim(comm->small.shared, buffer, count, dtype, op);
        return schedule_run(&comm->small.schedule);
    }
    coll_allreduce args = coll_arguments(comm, buffer, count, dtype, op);
    args.shared_memory = false; /* the long ones are rare here, and a window would be made for each */
    args.model = NULL;          /* nobody names their algorithm: their bits do not depend on measurements */
    const coll_place place = coll_place_of(&args);
    const coll_algorithm *algorithm = coll_choose_form(&place, count, (int64_t)weft_dtype_bytes(dtype));
    char name[OPERATION_NAME_BYTES];
    snprintf(name, sizeof name, "all-reduce %s of %lld %s", algorithm->name, (long long)count, weft_dtype_name(dtype));
    schedule_begin(&comm->blocking, comm, COMM_LANE_CONTROL, name);
    coll_build(&comm->blocking, algorithm, &args);
    return finish(comm);
}

weft_status comm_allgatherv(weft_comm *comm, const void *send, int64_t send_bytes, void *recv,
                            const int64_t *recv_bytes)
{
    int64_t total = 0;
    WEFT_TRY(total_bytes(comm, recv_bytes, "all-gather", &total));
    WEFT_CHECK(send_bytes == recv_bytes[comm_rank(comm)], WEFT_ERR_INTERNAL,
               "all-gather: rank %d sends %lld bytes, recv_bytes says %lld", comm_rank(comm), (long long)send_bytes,
               (long long)recv_bytes[comm_rank(comm)]);
    WEFT_CHECK((send != NULL || send_bytes == 0) && (recv != NULL || total == 0), WEFT_ERR_INTERNAL,
               "all-gather of %lld bytes without a buffer", (long long)total);
    char name[OPERATION_NAME_BYTES];
    snprintf(name, sizeof name, "all-gather of %lld bytes", (long long)total);
    schedule_begin(&comm->blocking, comm, COMM_LANE_CONTROL, name);
    coll_allgather_build(&comm->blocking, comm_rank(comm), comm_size(comm), send, recv == NULL ? nothing : recv,
                         (coll_shares){.count = recv_bytes});
    return finish(comm);
}

weft_status comm_allgather(weft_comm *comm, const void *send, int64_t bytes, void *recv)
{
    WEFT_CHECK(bytes >= 0 && ((send != NULL && recv != NULL) || bytes == 0), WEFT_ERR_INTERNAL,
               "all-gather of %lld bytes a rank%s", (long long)bytes, bytes > 0 ? " without a buffer" : "");
    char name[OPERATION_NAME_BYTES];
    snprintf(name, sizeof name, "all-gather of %lld bytes a rank", (long long)bytes);
    schedule_begin(&comm->blocking, comm, COMM_LANE_CONTROL, name);
    coll_allgather_build(&comm->blocking, comm_rank(comm), comm_size(comm), send, recv == NULL ? nothing : recv,
                         (coll_shares){.each = bytes});
    return finish(comm);
}

weft_status comm_allgather_bytes(void *self, const void *mine, size_t bytes, void **all, size_t **bytes_of)
{
    weft_comm *comm = self;
    const int ranks = comm_size(comm);
    int64_t *given = NULL, own = (int64_t)bytes;
    size_t sum = 0;
    *all = NULL;
    *bytes_of = NULL;
    weft_status status;
    weft_status local = WEFT_NEW(&given, ranks, WEFT_MEM_WORKSPACE);
    local = local == WEFT_OK ? WEFT_NEW(bytes_of, ranks, WEFT_MEM_WORKSPACE) : local;
    COMM_AGREED_GOTO(comm_agree(comm, local), local, status, done);
    WEFT_TRY_GOTO(comm_allgather(comm, &own, sizeof own, given), status, done);
    for (int r = 0; r < ranks; ++r) {
        (*bytes_of)[r] = (size_t)given[r];
        sum += (size_t)given[r];
    }
    WEFT_TRY_GOTO(comm_agree(comm, weft_malloc(sum + 1, 1, WEFT_MEM_WORKSPACE, all)), status, done);
    status = comm_allgatherv(comm, mine, own, *all, given);
done:
    weft_free(given);
    return status;
}

weft_status comm_alltoallv(weft_comm *comm, const void *send, const int64_t *send_bytes, void *recv,
                           const int64_t *recv_bytes)
{
    int64_t out = 0;
    int64_t in = 0;
    int rank = comm_rank(comm);
    WEFT_TRY(total_bytes(comm, send_bytes, "all-to-all", &out));
    WEFT_TRY(total_bytes(comm, recv_bytes, "all-to-all", &in));
    WEFT_CHECK(send_bytes[rank] == recv_bytes[rank], WEFT_ERR_INTERNAL,
               "all-to-all: rank %d sends itself %lld bytes and receives %lld", rank, (long long)send_bytes[rank],
               (long long)recv_bytes[rank]);
    WEFT_CHECK((send != NULL || out == 0) && (recv != NULL || in == 0), WEFT_ERR_INTERNAL,
               "all-to-all of %lld and %lld bytes without a buffer", (long long)out, (long long)in);
    char name[OPERATION_NAME_BYTES];
    snprintf(name, sizeof name, "all-to-all of %lld bytes out, %lld in", (long long)out, (long long)in);
    schedule_begin(&comm->blocking, comm, COMM_LANE_CONTROL, name);
    coll_alltoallv_build(&comm->blocking, rank, comm_size(comm), send == NULL ? nothing : send, send_bytes,
                         recv == NULL ? nothing : recv, recv_bytes);
    return finish(comm);
}

weft_status comm_gatherv(weft_comm *comm, int root, const void *send, int64_t send_bytes, void *recv,
                         const int64_t *recv_bytes)
{
    int rank = comm_rank(comm);
    WEFT_CHECK(root >= 0 && root < comm_size(comm), WEFT_ERR_INTERNAL, "gather to rank %d of %d", root,
               comm_size(comm));
    WEFT_CHECK(send_bytes >= 0 && (send != NULL || send_bytes == 0), WEFT_ERR_INTERNAL,
               "gather: rank %d sends %lld bytes%s", rank, (long long)send_bytes,
               send == NULL ? " without a buffer" : "");
    if (rank == root) {
        int64_t total = 0;
        WEFT_TRY(total_bytes(comm, recv_bytes, "gather", &total));
        WEFT_CHECK(send_bytes == recv_bytes[root] && (recv != NULL || total == 0), WEFT_ERR_INTERNAL,
                   "gather: the root sends itself %lld bytes and expects %lld", (long long)send_bytes,
                   (long long)recv_bytes[root]);
    }
    char name[OPERATION_NAME_BYTES];
    snprintf(name, sizeof name, "gather to rank %d", root);
    schedule_begin(&comm->blocking, comm, COMM_LANE_CONTROL, name);
    coll_gatherv_build(&comm->blocking, rank, comm_size(comm), root, send, send_bytes, recv == NULL ? nothing : recv,
                       recv_bytes);
    return finish(comm);
}

bool comm_native_available(const weft_comm *comm)
{
    return comm->transport->ops->native_sum != NULL;
}

weft_status comm_native_sum(weft_comm *comm, const float *send, float *recv, int64_t count)
{
    const int64_t most = COMM_CHUNK_BYTES / (int64_t)sizeof *recv;
    transport *t = comm->transport;
    WEFT_CHECK(comm_native_available(comm), WEFT_ERR_UNSUPPORTED, "the transport %s has no all-reduce of its own",
               t->ops->name);
    weft_status status = WEFT_OK;
    progress_lock(comm->progress);
    for (int64_t at = 0; at < count && status == WEFT_OK; at += most) {
        const int64_t part = count - at < most ? count - at : most;
        status = t->ops->native_sum(t, COMM_LANE_CONTROL, send + at, recv + at, part);
    }
    progress_unlock(comm->progress);
    return status;
}

/* ---- agreement -------------------------------------------------------------------------------------------------- */
weft_status comm_agree(weft_comm *comm, weft_status local)
{
    enum { TEXT_BYTES = 1024 };
    int rank = comm_rank(comm);
    int size = comm_size(comm);
    char text[TEXT_BYTES];
    if (size == 1) {
        return local;
    }
    snprintf(text, sizeof text, "%s", local == WEFT_OK ? "" : weft_error_message());
    /* The worst status, and the lowest failing rank (as a maximum of size - rank). */
    int32_t summary[2] = {(int32_t)local, local == WEFT_OK ? 0 : size - rank};
    WEFT_TRY(comm_allreduce(comm, summary, 2, WEFT_DTYPE_I32, COMM_MAX));
    if (summary[1] == 0) {
        return WEFT_OK;
    }
    int first = size - summary[1];
    WEFT_TRY(comm_bcast(comm, first, text, TEXT_BYTES));
    text[TEXT_BYTES - 1] = '\0';
    weft_status worst = (weft_status)summary[0];
    if (rank == first) {
        return weft_fail(worst, "%s", text);
    }
    return weft_fail(worst, "rank %d: %s", first, text);
}

static uint64_t text_hash(const char *text)
{
    uint64_t hash = 0xcbf29ce484222325u; /* FNV-1a */
    for (; *text != '\0'; ++text) {
        hash = (hash ^ (unsigned char)*text) * 0x100000001b3u;
    }
    return hash;
}

/* The ranks disagree: exchange the texts and name the first two that differ. */
static weft_status name_mismatch(weft_comm *comm, const char *text)
{
    weft_status status = WEFT_OK;
    int size = comm_size(comm);
    char mine[OPERATION_NAME_BYTES] = "";
    char *all = NULL;
    snprintf(mine, sizeof mine, "%s", text);
    weft_status local = WEFT_NEW(&all, (size_t)size * OPERATION_NAME_BYTES, WEFT_MEM_COMM);
    COMM_AGREED_GOTO(comm_agree(comm, local), local, status, done);
    WEFT_TRY_GOTO(comm_allgather(comm, mine, OPERATION_NAME_BYTES, all), status, done);
    int other = 1;
    while (other < size - 1 && strcmp(all, all + (size_t)other * OPERATION_NAME_BYTES) == 0) {
        ++other;
    }
    status = weft_fail(WEFT_ERR_INTERNAL, "ranks plan different operations: rank 0 \"%s\", rank %d \"%s\"", all, other,
                       all + (size_t)other * OPERATION_NAME_BYTES);
done:
    weft_free(all);
    return status;
}

weft_status comm_check_same(weft_comm *comm, const char *text)
{
    uint64_t hash = text_hash(text);
    int64_t bounds[2];
    memcpy(&bounds[0], &hash, sizeof hash);
    bounds[1] = ~bounds[0]; /* its maximum tells the minimum of the hash */
    WEFT_TRY(comm_allreduce(comm, bounds, 2, WEFT_DTYPE_I64, COMM_MAX));
    return bounds[0] == ~bounds[1] ? WEFT_OK : name_mismatch(comm, text);
}
