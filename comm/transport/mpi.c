/*
 * comm/transport/mpi.c: the transport over MPI; the only file that knows it.
 *
 * Only point-to-point calls carry data; the algorithms are ours (comm/coll). Every lane is a duplicate of the group's
 * communicator, made when the group is made: that keeps the collective calls in one place and costs a few context ids.
 *
 * Shared memory is an MPI window with one segment a rank on pages of its own, so that the rank that touches it
 * first decides where it lies. Only its addresses are used: loads, stores and the room's own flags. The
 * library removes the backing file's name while it makes the window: a killed job leaves nothing behind.
 *
 * MPI is initialised on first use with MPI_THREAD_SERIALIZED (one driver at a time) and finalised when the last group
 * ends, unless somebody else initialised it or a call failed: finalising waits for ranks that may be gone, while a
 * failed job must end (comm_abort).
 */
#include <dlfcn.h>
#include <mpi.h>
#if __has_include(<mpi-ext.h>)
#include <mpi-ext.h> /* MPIX_CUDA_AWARE_SUPPORT */
#endif
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/statvfs.h>
#include <time.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/number.h"
#include "comm/comm.h"
#include "comm/comm_options.def"
#include "comm/transport/call_watch.h"
#include "comm/transport/transport.h"

/* The state of MPI itself, which is one per process. */
static struct {
    int groups;
    int provided; /* level of thread support */
    bool ours;    /* initialised here, so finalised here */
    bool failed;  /* some call failed: never finalise */
} mpi_process;

typedef struct mpi_transport {
    transport base;
    MPI_Comm lane[COMM_LANES];
} mpi_transport;

static weft_status mpi_check(int code, const char *call)
{
    if (code == MPI_SUCCESS) {
        return WEFT_OK;
    }
    char text[MPI_MAX_ERROR_STRING] = "";
    int length = 0;
    mpi_process.failed = true;
    MPI_Error_string(code, text, &length);
    return weft_fail(WEFT_ERR_IO, "%s failed: %s", call, text);
}

/* Of calls that move messages: what the library tells of a peer comes back through them. */
static weft_status mpi_moved(int code, const char *call)
{
    weft_status status = mpi_check(code, call);
    return status == WEFT_OK
               ? WEFT_OK
               : weft_fail_context(status, "a connection to another rank was lost, or that rank has ended: ");
}

static weft_status mpi_isend(transport *t, int lane, int peer, int tag, const void *data, size_t bytes, void *request)
{
    mpi_transport *self = (mpi_transport *)t;
    return mpi_moved(MPI_Isend(data, (int)bytes, MPI_BYTE, peer, tag, self->lane[lane], request), "MPI_Isend");
}

static weft_status mpi_irecv(transport *t, int lane, int peer, int tag, void *data, size_t bytes, void *request)
{
    mpi_transport *self = (mpi_transport *)t;
    return mpi_moved(MPI_Irecv(data, (int)bytes, MPI_BYTE, peer, tag, self->lane[lane], request), "MPI_Irecv");
}

static weft_status mpi_test_some(transport *t, void *requests, int count, int *ended, int *ended_count)
{
    (void)t;
    MPI_Request *request = requests;
    for (int i = 0; i < count; ++i) { /* cells of zero bytes are idle, but no null requests */
        request[i] = request[i] == (MPI_Request)0 ? MPI_REQUEST_NULL : request[i];
    }
    *ended_count = 0;
    WEFT_TRY(mpi_moved(MPI_Testsome(count, request, ended_count, ended, MPI_STATUSES_IGNORE), "MPI_Testsome"));
    if (*ended_count == MPI_UNDEFINED) {
        *ended_count = 0;
    }
    return WEFT_OK;
}

/* MPI gives no way to take a send back: the request is left to the library, and the job must end. */
static void mpi_cancel(transport *t, void *request)
{
    (void)t;
    MPI_Request *r = request;
    if (*r != MPI_REQUEST_NULL) {
        mpi_process.failed = true;
        MPI_Cancel(r);
        MPI_Request_free(r);
    }
}

static uint64_t mpi_token(transport *t)
{
    (void)t;
    return 0;
}

enum { SEGMENT_ALIGNMENT = 64 };

/* ---- shared memory --------------------------------------------------------------------------------------- */
/* Room in the file system of shared memory: a window that does not fit would end the job at its first touch. */
static const char shared_folder[] = "/dev/shm";
static uint64_t mpi_share_room(transport *t)
{
    (void)t;
    struct statvfs fs;
    if (statvfs(shared_folder, &fs) != 0) {
        return UINT64_MAX; /* MPI keeps its windows elsewhere and says so if they do not fit */
    }
    return (uint64_t)fs.f_bavail * (uint64_t)fs.f_frsize;
}
static weft_status room_check(const transport_share *share)
{
    uint64_t wanted = 0;
    for (int q = 0; q < share->count; ++q) {
        wanted += (uint64_t)share->bytes[q] + 4096;
    }
    const uint64_t room = mpi_share_room(NULL);
    WEFT_CHECK(wanted <= room, WEFT_ERR_RESOURCE,
               "%s has %s left where %d ranks want %s of shared memory: make it larger (mount -o remount,size=..., "
               "docker --shm-size) or use smaller buffers",
               shared_folder, number_say_bytes(room).text, share->count, number_say_bytes(wanted).text);
    return WEFT_OK;
}

static weft_status node_group(mpi_transport *self, const transport_share *share, MPI_Comm *node)
{
    weft_status status = WEFT_OK;
    MPI_Group all = MPI_GROUP_NULL;
    MPI_Group members = MPI_GROUP_NULL;
    *node = MPI_COMM_NULL;
    WEFT_TRY(mpi_check(MPI_Comm_group(self->lane[0], &all), "MPI_Comm_group"));
    WEFT_TRY_GOTO(mpi_check(MPI_Group_incl(all, share->count, share->member, &members), "MPI_Group_incl"), status,
                  done);
    WEFT_TRY_GOTO(mpi_check(MPI_Comm_create_group(self->lane[0], members, (int)(share->key % TRANSPORT_TAGS), node),
                            "MPI_Comm_create_group"),
                  status, done);
    WEFT_TRY_GOTO(mpi_check(MPI_Comm_set_errhandler(*node, MPI_ERRORS_RETURN), "MPI_Comm_set_errhandler"), status,
                  done);
done:
    MPI_Group_free(&all);
    if (members != MPI_GROUP_NULL) {
        MPI_Group_free(&members);
    }
    return status;
}

/* What one member finds, all members do. */
static weft_status node_agree(MPI_Comm node, weft_status local)
{
    int worst = (int)local;
    WEFT_TRY(mpi_check(MPI_Allreduce(MPI_IN_PLACE, &worst, 1, MPI_INT, MPI_MAX, node), "MPI_Allreduce"));
    return worst == (int)local ? local : weft_fail((weft_status)worst, "another rank of the node has no shared memory");
}

typedef struct mpi_window {
    MPI_Win window;
} mpi_window;

/* The members' addresses. Not every component that MPI may put between lets them be asked for: no room, then. */
static weft_status window_addresses(MPI_Win window, const transport_share *share, void **segment)
{
    for (int q = 0; q < share->count; ++q) {
        MPI_Aint bytes = 0;
        int unit = 0;
        WEFT_CHECK(MPI_Win_shared_query(window, q, &bytes, &unit, &segment[q]) == MPI_SUCCESS, WEFT_ERR_RESOURCE,
                   "this MPI library gives no addresses of its shared windows: leave out --mca options that watch or "
                   "replace them (osc)");
        WEFT_CHECK(bytes >= (MPI_Aint)share->bytes[q] + SEGMENT_ALIGNMENT, WEFT_ERR_INTERNAL,
                   "MPI gives rank %d of a window %lld bytes, %lld are wanted", q, (long long)bytes,
                   (long long)share->bytes[q]);
        /* The library keeps its own state in front. The same cells on all ranks: they map the file at pages. */
        segment[q] = (char *)segment[q] + -(uintptr_t)segment[q] % SEGMENT_ALIGNMENT;
    }
    return WEFT_OK;
}

/* Collective over the node's communicator. */
static weft_status window_allocate(MPI_Comm node, const transport_share *share, void **segment, MPI_Win *window)
{
    weft_status status = WEFT_OK;
    MPI_Info info = MPI_INFO_NULL;
    void *base = NULL;
    WEFT_TRY(mpi_check(MPI_Info_create(&info), "MPI_Info_create"));
    WEFT_TRY_GOTO(mpi_check(MPI_Info_set(info, "alloc_shared_noncontig", "true"), "MPI_Info_set"), status, done);
    WEFT_TRY_GOTO(mpi_check(MPI_Win_allocate_shared((MPI_Aint)share->bytes[share->me] + SEGMENT_ALIGNMENT, 1, info,
                                                    node, &base, window),
                            "MPI_Win_allocate_shared"),
                  status, done);
    WEFT_TRY_GOTO(mpi_check(MPI_Win_set_errhandler(*window, MPI_ERRORS_RETURN), "MPI_Win_set_errhandler"), status,
                  done);
    status = node_agree(node, window_addresses(*window, share, segment));
    if (status != WEFT_OK && !mpi_process.failed) {
        MPI_Win_free(window);
    }
done:
    MPI_Info_free(&info);
    return status;
}

static weft_status share_window(transport *t, const transport_share *share, void **segment, void **handle)
{
    weft_status status = WEFT_OK;
    MPI_Comm node = MPI_COMM_NULL;
    mpi_window *window = NULL;
    *handle = NULL;
    WEFT_TRY(node_group((mpi_transport *)t, share, &node));
    weft_status local = WEFT_NEW(&window, 1, WEFT_MEM_COMM);
    local = local == WEFT_OK && share->me == 0 ? room_check(share) : local;
    status = node_agree(node, local);
    if (local != WEFT_OK || status != WEFT_OK) {
        goto done;
    }
    WEFT_TRY_GOTO(window_allocate(node, share, segment, &window->window), status, done);
    *handle = window;
    window = NULL;
done:
    weft_free(window);
    MPI_Comm_free(&node); /* the window keeps a duplicate */
    return status;
}

static weft_status mpi_share(transport *t, const transport_share *share, void **segment, void **handle)
{
    call_watch_begin("MPI_Win_allocate_shared");
    weft_status status = share_window(t, share, segment, handle);
    call_watch_end();
    return status;
}

static void mpi_unshare(transport *t, void *handle)
{
    (void)t;
    mpi_window *window = handle;
    if (!mpi_process.failed) {
        call_watch_begin("MPI_Win_free");
        MPI_Win_free(&window->window);
        call_watch_end();
    }
    weft_free(window);
}

static weft_status mpi_poll(transport *t)
{
    int found = 0;
    return mpi_moved(MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, ((mpi_transport *)t)->lane[0], &found, MPI_STATUS_IGNORE),
                     "MPI_Iprobe");
}

static bool mpi_called(transport *t, int lane)
{
    int found = 0;
    return MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, ((mpi_transport *)t)->lane[lane], &found, MPI_STATUS_IGNORE) ==
               MPI_SUCCESS &&
           found != 0;
}

static void mpi_abandon(transport *t)
{
    (void)t;
    mpi_process.failed = true;
}

static weft_status mpi_allow_thread(transport *t)
{
    (void)t;
    WEFT_CHECK(mpi_process.provided >= MPI_THREAD_SERIALIZED, WEFT_ERR_LAUNCH,
               "this MPI library gives thread level %d and a communication thread needs %d (MPI_THREAD_SERIALIZED): "
               "use " FLAG_COMM_THREAD " off, or a library with thread support",
               mpi_process.provided, MPI_THREAD_SERIALIZED);
    return WEFT_OK;
}

/* ---- memory of devices ---------------------------------------------------------------------------------------- */
#ifdef MPIX_CUDA_AWARE_SUPPORT
static int ask_for_cuda(void)
{
    return MPIX_Query_cuda_support() != 0;
}
#else
/* Libraries that do not declare the question may still answer it. */
static int ask_for_cuda(void)
{
    int (*query)(void) = NULL;
    void *symbol = dlsym(RTLD_DEFAULT, "MPIX_Query_cuda_support");
    memcpy(&query, &symbol, sizeof query);
    return query != NULL ? query() != 0 : -1;
}
#endif

static int mpi_takes_cuda(transport *t)
{
    (void)t;
    return ask_for_cuda();
}

/* ---- the library's own collective ---------------------------------------------------------------------------- */
static weft_status mpi_native_sum(transport *t, int lane, const float *send, float *recv, int64_t count)
{
    mpi_transport *self = (mpi_transport *)t;
    return mpi_check(MPI_Allreduce(send == recv ? MPI_IN_PLACE : (const void *)send, recv, (int)count, MPI_FLOAT,
                                   MPI_SUM, self->lane[lane]),
                     "MPI_Allreduce");
}

static volatile sig_atomic_t abort_status;

static void abort_at_once(int signal_number)
{
    (void)signal_number;
    _Exit(abort_status);
}

static _Noreturn void mpi_abort(transport *t, int exit_status)
{
    enum { PATIENCE_S = 1 };
    (void)t;
    /* mpirun kills the group as soon as it hears of the abort: give the last lines time to reach it. */
    fflush(NULL);
    struct timespec pause = {.tv_sec = 0, .tv_nsec = 200 * 1000 * 1000};
    nanosleep(&pause, NULL);
    /* MPI_Abort asks a daemon, which may wait for a host that is cut off. */
    abort_status = exit_status;
    struct sigaction leave = {.sa_handler = abort_at_once};
    sigaction(SIGALRM, &leave, NULL);
    alarm(PATIENCE_S);
    MPI_Abort(MPI_COMM_WORLD, exit_status);
    _Exit(exit_status);
}

static void mpi_process_leave(void)
{
    if (--mpi_process.groups > 0 || !mpi_process.ours || mpi_process.failed) {
        return;
    }
    call_watch_begin("MPI_Finalize");
    MPI_Finalize();
    call_watch_end();
}

static void mpi_destroy(transport *t)
{
    if (t == NULL) {
        return;
    }
    mpi_transport *self = (mpi_transport *)t;
    call_watch_begin("MPI_Comm_free");
    for (int lane = 0; lane < COMM_LANES && !mpi_process.failed; ++lane) {
        if (self->lane[lane] != MPI_COMM_NULL) {
            MPI_Comm_free(&self->lane[lane]);
        }
    }
    call_watch_end();
    weft_free(self);
    mpi_process_leave();
}

static weft_status mpi_split(transport *t, const int *members, int count, int me, uint64_t token, transport **out);

static const transport_ops mpi_ops = {
    .name = "mpi",
    .request_bytes = sizeof(MPI_Request),
    .isend = mpi_isend,
    .irecv = mpi_irecv,
    .test_some = mpi_test_some,
    .cancel = mpi_cancel,
    .token = mpi_token,
    .split = mpi_split,
    .native_sum = mpi_native_sum,
    .share = mpi_share,
    .unshare = mpi_unshare,
    .share_room = mpi_share_room,
    .poll = mpi_poll,
    .called = mpi_called,
    .abandon = mpi_abandon,
    .allow_thread = mpi_allow_thread,
    .takes_cuda = mpi_takes_cuda,
    .abort = mpi_abort,
    .destroy = mpi_destroy,
};

static weft_status node_place(mpi_transport *self)
{
    weft_status status = WEFT_OK;
    MPI_Comm node = MPI_COMM_NULL;
    WEFT_TRY(mpi_check(MPI_Comm_split_type(self->lane[0], MPI_COMM_TYPE_SHARED, self->base.rank, MPI_INFO_NULL, &node),
                       "MPI_Comm_split_type"));
    WEFT_TRY_GOTO(
        mpi_check(MPI_Allreduce(&self->base.rank, &self->base.node_leader, 1, MPI_INT, MPI_MIN, node), "MPI_Allreduce"),
        status, done);
done:
    MPI_Comm_free(&node);
    return status;
}

/* Takes over `first` as lane 0, whether it succeeds or not; the caller has counted the group in mpi_process. */
static weft_status group_create(MPI_Comm first, transport **out)
{
    weft_status status = WEFT_OK;
    mpi_transport *self = NULL;
    *out = NULL;
    status = WEFT_NEW_ZERO(&self, 1, WEFT_MEM_COMM);
    if (status != WEFT_OK) {
        mpi_process.failed = true; /* the other ranks are inside the calls below */
        mpi_process_leave();
        return status;
    }
    self->base.ops = &mpi_ops;
    self->lane[0] = first;
    for (int lane = 1; lane < COMM_LANES; ++lane) {
        self->lane[lane] = MPI_COMM_NULL;
    }
    WEFT_TRY_GOTO(mpi_check(MPI_Comm_set_errhandler(first, MPI_ERRORS_RETURN), "MPI_Comm_set_errhandler"), status,
                  done);
    WEFT_TRY_GOTO(mpi_check(MPI_Comm_rank(first, &self->base.rank), "MPI_Comm_rank"), status, done);
    WEFT_TRY_GOTO(mpi_check(MPI_Comm_size(first, &self->base.size), "MPI_Comm_size"), status, done);
    for (int lane = 1; lane < COMM_LANES; ++lane) {
        WEFT_TRY_GOTO(mpi_check(MPI_Comm_dup(first, &self->lane[lane]), "MPI_Comm_dup"), status, done);
    }
    WEFT_TRY_GOTO(node_place(self), status, done);
    *out = &self->base;
    self = NULL;
done:
    mpi_destroy((transport *)self);
    return status;
}

static weft_status mpi_split(transport *t, const int *members, int count, int me, uint64_t token, transport **out)
{
    (void)count;
    (void)token;
    mpi_transport *self = (mpi_transport *)t;
    MPI_Comm group = MPI_COMM_NULL;
    *out = NULL;
    /* The first member's rank is a colour of its own: it is >= 0 and no other group has it. */
    call_watch_begin("MPI_Comm_split");
    weft_status status = mpi_check(MPI_Comm_split(self->lane[0], members[0], me, &group), "MPI_Comm_split");
    if (status == WEFT_OK) {
        ++mpi_process.groups;
        status = group_create(group, out);
    }
    call_watch_end();
    return status;
}

/*
 * Open MPI over TCP sends messages above btl_tcp_eager_limit (64 KiB) only when the receiver has answered; the answer
 * stands in line behind what the receiver sends itself, and waits for it to look. So pieces of 256 KiB, as
 * comm/core/transfer.c cuts them, go at once: measured at 300 Mbit/s with a computing thread on the core, 15 to 17 % of
 * a communication as long as the computation stayed exposed, and 7 to 11 % so. Whoever sets these parameters, with
 * mpirun --mca or in the environment, keeps them.
 */
static void prefer_eager_tcp(void)
{
#ifdef OPEN_MPI
    static const char eager_bytes[] = "327680"; /* 256 KiB, headers, and room */
    static const char *const parameters[] = {"OMPI_MCA_btl_tcp_eager_limit", "OMPI_MCA_btl_tcp_rndv_eager_limit",
                                             "OMPI_MCA_btl_tcp_max_send_size"};
    bool chosen = false;
    for (size_t i = 0; i < sizeof parameters / sizeof *parameters; i++) {
        chosen = chosen || getenv(parameters[i]) != NULL;
    }
    for (size_t i = 0; i < sizeof parameters / sizeof *parameters && !chosen; i++) {
        setenv(parameters[i], eager_bytes, 0);
    }
#endif
}

weft_status transport_mpi_create(transport **out)
{
    int initialised = 0;
    int finalised = 0;
    int provided = MPI_THREAD_SINGLE;
    *out = NULL;
    MPI_Finalized(&finalised);
    WEFT_CHECK(!finalised, WEFT_ERR_LAUNCH,
               "MPI has ended already, and starts once a program: hold a context open around all calls "
               "(weft_context_create), or start and end MPI in the program itself");
    MPI_Initialized(&initialised);
    if (!initialised) {
        prefer_eager_tcp();
        call_watch_begin("MPI_Init");
        weft_status begun = mpi_check(MPI_Init_thread(NULL, NULL, MPI_THREAD_SERIALIZED, &provided), "MPI_Init_thread");
        call_watch_end();
        WEFT_TRY(begun);
        mpi_process.ours = true;
    } else {
        WEFT_TRY(mpi_check(MPI_Query_thread(&provided), "MPI_Query_thread"));
    }
    mpi_process.provided = provided;
    /* FUNNELED is enough while the main thread is the only driver. */
    WEFT_CHECK(provided >= MPI_THREAD_FUNNELED, WEFT_ERR_LAUNCH,
               "this MPI library allows no threads (MPI_THREAD_SINGLE): install one built with thread support");
    MPI_Comm first = MPI_COMM_NULL;
    WEFT_TRY(mpi_check(MPI_Comm_dup(MPI_COMM_WORLD, &first), "MPI_Comm_dup"));
    ++mpi_process.groups;
    return group_create(first, out);
}

void comm_mpi_version(char *text, size_t bytes)
{
    char version[MPI_MAX_LIBRARY_VERSION_STRING] = "";
    int length = 0;
    if (MPI_Get_library_version(version, &length) != MPI_SUCCESS) {
        version[0] = '\0';
    }
    /* "Open MPI v4.1.4, package: ...": the name and number are enough. */
    version[strcspn(version, ",\n")] = '\0';
    snprintf(text, bytes, "%s", version[0] != '\0' ? version : "unknown MPI");
}
